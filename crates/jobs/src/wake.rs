//! Telling runners that there may be work. It carries no data and may be lost or come twice; the poll interval is what
//! makes sure.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};
use pinhole_store::{Pools, Store};
use sqlx::postgres::PgListener;
use tokio::{
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tokio_util::sync::CancellationToken;

/// The channel on which apalis' insert trigger notifies.
const INSERTED: &str = "apalis::job::insert";
/// Wait before the database is listened to again after a failure.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Wakes runners; call it after a commit that enqueued something. Clones wake the same ones.
#[derive(Clone, Debug)]
pub struct WakeSender(watch::Sender<()>);

/// What a runner waits on. Clones are woken all.
#[derive(Clone, Debug)]
pub struct WakeReceiver(watch::Receiver<()>);

impl WakeSender {
    /// A sender that wakes nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(()))
    }

    /// Something for one more runner to wait on.
    #[must_use]
    pub fn receiver(&self) -> WakeReceiver {
        WakeReceiver(self.0.subscribe())
    }

    /// Wakes every runner; those that are busy look again as soon as they can.
    pub fn wake(&self) {
        self.0.send_replace(());
    }
}

impl Default for WakeSender {
    fn default() -> Self {
        Self::new()
    }
}

/// Wakes runners whenever any process enqueues on this database, until `stop`.
///
/// PostgreSQL says so itself, at the cost of one connection of the pool; SQLite does not, and this only waits. A lost
/// connection is made again after a second, and the runners' own polling covers what is missed meanwhile.
pub async fn listen(store: &Store, wake: &WakeSender, stop: CancellationToken) {
    let Pools::Postgres(pool) = store.pools() else { return stop.cancelled().await };
    let listening = async {
        loop {
            let error = forward(pool, wake).await;
            tracing::warn!(%error, "the database cannot be listened to; jobs of other processes wait for the next poll");
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    };
    stop.run_until_cancelled(listening).await.unwrap_or(())
}

async fn forward(pool: &sqlx::PgPool, wake: &WakeSender) -> sqlx::Error {
    let listening = async {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(INSERTED).await?;
        loop {
            // What was inserted before the connection was there, or while it was away (`None`), counts too.
            wake.wake();
            listener.try_recv().await?;
        }
    };
    let Err::<std::convert::Infallible, sqlx::Error>(error) = listening.await;
    error
}

/// When a runner looks for work: at every interval, and when it is woken.
///
/// apalis looks at this once each time it polls, and what it sees there while a fetch is under way is lost: that fetch
/// may have begun before the commit that the wake-up is about, and nothing would poll again. So a prompt asks for
/// another poll each time it is due, and leaves its own timers armed.
pub(crate) struct Prompt {
    interval: Interval,
    woken: BoxStream<'static, ()>,
}

impl Prompt {
    pub(crate) fn new(poll: Duration, wake: Option<WakeReceiver>) -> Self {
        let mut interval = interval_at(Instant::now() + poll, poll);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let woken = match wake {
            Some(receiver) => stream::unfold(receiver.0, |mut receiver| async move {
                if receiver.changed().await.is_err() {
                    // Nobody is left to wake anyone; the interval remains.
                    std::future::pending::<()>().await;
                }
                Some(((), receiver))
            })
            .boxed(),
            None => stream::pending().boxed(),
        };
        Self { interval, woken }
    }
}

impl Stream for Prompt {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<()>> {
        let mut due = false;
        while self.interval.poll_tick(context).is_ready() {
            due = true;
        }
        while let Poll::Ready(Some(())) = self.woken.poll_next_unpin(context) {
            due = true;
        }
        if due {
            context.waker().wake_by_ref();
            return Poll::Ready(Some(()));
        }
        Poll::Pending
    }
}
