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
    time::{Instant, Sleep, sleep},
};
use tokio_util::sync::CancellationToken;

/// The channel on which apalis' insert trigger notifies.
const INSERTED: &str = "apalis::job::insert";
/// Wait before the database is listened to again after a failure.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);
/// When work is first looked for again after a wake-up, and by how much the distance grows from then on.
const SOON: Duration = Duration::from_millis(10);
const GROWTH: u32 = 4;
/// The longest poll interval, which is as good as none.
const LONGEST: Duration = Duration::from_secs(86_400);

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

/// When a runner looks for work: when it is woken, soon after that, and at every interval.
///
/// Soon after as well, since apalis does not look at this while it fetches, and a fetch that began before the commit
/// which the wake-up is about does not see that commit. Such a fetch takes milliseconds as a rule; so the first look
/// follows after [`SOON`], and the distance grows until it is the interval again.
pub(crate) struct Prompt {
    poll: Duration,
    distance: Duration,
    timer: Pin<Box<Sleep>>,
    woken: BoxStream<'static, ()>,
}

impl Prompt {
    pub(crate) fn new(poll: Duration, wake: Option<WakeReceiver>) -> Self {
        let poll = poll.clamp(SOON, LONGEST);
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
        Self { poll, distance: poll, timer: Box::pin(sleep(poll)), woken }
    }

    fn wait(&mut self, distance: Duration) {
        self.distance = distance.min(self.poll);
        self.timer.as_mut().reset(Instant::now() + self.distance);
    }
}

impl Stream for Prompt {
    type Item = ();

    /// Both sources are asked until they have nothing: only then do they wake the task the next time. The timer comes
    /// last, since a wake-up moves it.
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<()>> {
        let mut due = false;
        while self.woken.poll_next_unpin(context).is_ready() {
            due = true;
            self.wait(SOON);
        }
        while self.timer.as_mut().poll(context).is_ready() {
            due = true;
            let distance = self.distance.saturating_mul(GROWTH);
            self.wait(distance);
        }
        if due { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}
