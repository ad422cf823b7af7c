//! Accepts connections and serves the router on them, within bounds, until told to stop.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    http::Peer,
    places::{Place, Places},
    stall::Impatient,
};

/// How long running calls may go on after the server was told to stop.
const GRACE: Duration = Duration::from_secs(10);
/// How long a client may take to send the head of a request, and how long a connection may wait for the next one.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer that waits for it; then the connection ends, and with it what the
/// answer holds.
const STALL: Duration = Duration::from_secs(30);
/// Connections served at a time; more wait in the listener's queue.
const MAX_CONNECTIONS: usize = 1024;
/// Connections of one address at a time, which may be that of a proxy; of more, the next is closed at once.
const MAX_OF_ONE: usize = MAX_CONNECTIONS / 2;
/// Size of a request's head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How long to wait after the system refused a connection, for instance because it is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `router` on `listener` until `stop` is cancelled. Then no connection is taken any more, running calls get
/// 10 seconds to end, and what is left is cut off. A connection that fails is that client's affair.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let places = Places::new(MAX_OF_ONE);
    let (connections, cut_off) = (TaskTracker::new(), CancellationToken::new());
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accept(&listener, &slots, &places) => accepted,
        };
        let Some(Accepted { stream, peer, room }) = accepted else { continue };
        let (router, stop, cut_off) = (router.clone(), stop.clone(), cut_off.clone());
        connections.spawn(async move {
            tokio::select! {
                () = converse(stream, peer, router, stop) => {}
                () = cut_off.cancelled() => {}
            }
            drop(room);
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "cutting off calls that did not end in time");
        cut_off.cancel();
        connections.wait().await;
    }
}

/// A connection and the room that it has as long as it lasts.
struct Accepted {
    stream: TcpStream,
    peer: Peer,
    room: (OwnedSemaphorePermit, Place),
}

/// The next connection, once there is room for it; none when its address has enough of them.
async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>, places: &Places) -> Option<Accepted> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => {
            let place = places.take(address.ip())?;
            Some(Accepted { stream, peer: Peer(address.ip()), room: (slot, place) })
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(stream: TcpStream, peer: Peer, router: Router, stop: CancellationToken) {
    // Answers are small or streamed in large pieces: waiting to fill packets only adds delay.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let service = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        service.call(request)
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_DEADLINE)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(Impatient::new(stream, STALL)), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
