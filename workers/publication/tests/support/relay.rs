//! A relay in front of a server: it counts the bytes both ways, and can slow the server's down or hold them back.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// How what the server says is passed on.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// At once.
    Free,
    /// The first so many bytes of a connection at once, and no more of it then.
    StopAfter(usize),
    /// The first so many bytes of a connection at once, then one each second.
    DripAfter(usize),
    /// The first so many bytes of a connection at once, and then its end.
    EndAfter(usize),
    /// Not at all: every connection is broken, and each that is made.
    Closed,
}

/// A running relay. It ends with its test.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    bytes: Arc<AtomicU64>,
    pace: watch::Sender<Pace>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Passes connections on to `server`.
    pub(crate) async fn start(server: SocketAddr, pace: Pace) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let bytes = Arc::new(AtomicU64::new(0));
        let counted = bytes.clone();
        let (pace, set) = watch::channel(pace);
        let task = tokio::spawn(async move {
            let mut pairs = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (counted, mut set) = (counted.clone(), set.clone());
                let pace = *set.borrow_and_update();
                pairs.spawn(async move {
                    let Ok(server) = TcpStream::connect(server).await else { return };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    let both = async {
                        tokio::join!(
                            pass(from_client, to_server, &counted, Pace::Free),
                            pass(from_server, to_client, &counted, pace)
                        )
                    };
                    tokio::select! {
                        _ = both => {}
                        _ = set.wait_for(|pace| matches!(pace, Pace::Closed)) => {}
                    }
                });
            }
        });
        Self { address, bytes, pace, task }
    }

    /// How connections that are made from now on are passed on; being closed breaks those that there are.
    pub(crate) fn set(&self, pace: Pace) {
        self.pace.send_replace(pace);
    }

    /// How many bytes have passed since the last call, both ways.
    pub(crate) fn passed(&self) -> u64 {
        self.bytes.swap(0, Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, counted: &AtomicU64, pace: Pace) {
    let mut left = match pace {
        Pace::Free | Pace::Closed => usize::MAX,
        Pace::StopAfter(bytes) | Pace::DripAfter(bytes) | Pace::EndAfter(bytes) => bytes,
    };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        counted.fetch_add(read as u64, Ordering::SeqCst);
        let (now, later) = buffer[..read].split_at(read.min(left));
        left -= now.len();
        if to.write_all(now).await.is_err() {
            return;
        }
        if later.is_empty() {
            continue;
        }
        match pace {
            Pace::Free | Pace::Closed | Pace::EndAfter(_) => return,
            Pace::StopAfter(_) => return std::future::pending().await,
            Pace::DripAfter(_) => {
                for byte in later {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    if to.write_all(&[*byte]).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}
