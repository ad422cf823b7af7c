//! The loop that delivers the jobs of one queue. It must go on whatever happens to the rows, the handlers or the
//! database, and end when it is told to.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use apalis::prelude::{BackendExt as _, WorkerBuilder, WorkerContext};
use apalis_core::error::WorkerError;
use apalis_postgres::PostgresStorage;
use apalis_sqlite::SqliteStorage;
use futures::{FutureExt as _, future::BoxFuture};
use pinhole_core::Result;
use pinhole_store::{Pools, Store};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    Job, Queue, WakeReceiver,
    payload::{Payload, Verbatim},
    service::{Deliver, Handlers},
    wake::Prompt,
};

/// A worker that died is noticed after three of these, and its jobs are delivered again.
const HEARTBEAT: Duration = Duration::from_secs(5);
const MISSED_HEARTBEATS: usize = 3;
/// Wait before a worker that failed is replaced: doubled from the first to the last while it keeps failing.
const RESTART_FIRST: Duration = Duration::from_millis(100);
const RESTART_LAST: Duration = Duration::from_secs(5);
/// A worker that lasted this long did not fail at once.
const LASTING: Duration = Duration::from_secs(10);
/// A grace beyond this is cut to it.
const LONGEST_GRACE: Duration = Duration::from_secs(3600);
/// How long handlers may take to be dropped after their grace.
const DROPPING: Duration = Duration::from_secs(5);

/// How a queue is run.
#[derive(Clone, Debug)]
pub struct RunnerSettings {
    /// Handlers that run at the same time at most.
    pub concurrency: NonZeroUsize,
    /// How often work is looked for when nothing wakes the runner, from 10 ms to a day.
    pub poll: Duration,
    /// How long handlers may go on after the stop, up to an hour; then they are dropped where they await, and their jobs
    /// are left to another runner.
    pub grace: Duration,
    /// What wakes the runner.
    pub wake: Option<WakeReceiver>,
}

impl Default for RunnerSettings {
    /// One handler, a poll every 2 s, 30 s of grace, and nothing that wakes it.
    fn default() -> Self {
        Self {
            concurrency: NonZeroUsize::MIN,
            poll: Duration::from_secs(2),
            grace: Duration::from_secs(30),
            wake: None,
        }
    }
}

/// Delivers the jobs of `J`'s queue to `handler` until `stop`.
///
/// A handler that fails or panics, or a payload that cannot be read, is logged, and its job is over: a handler that
/// wants another try enqueues one. When the worker itself fails, because the database is away or its rows are gone,
/// another takes its place after a moment, and the handlers that run are not disturbed. A handler that computes for
/// long has to do so on a blocking thread. After `stop` no job is begun, and running handlers have `settings.grace` to
/// end. When the future is dropped instead, they are dropped too. The job of a process that died is delivered again
/// within 20 s, if another runner of the queue is alive.
pub async fn run<J, F, Fut>(store: &Store, settings: RunnerSettings, stop: CancellationToken, handler: F)
where
    J: Job,
    F: Fn(J) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    let queue = J::QUEUE;
    let handler = Arc::new(handler);
    let handlers = Handlers::new(settings.concurrency.get());
    let _abandon_when_dropped = handlers.abandon.clone().drop_guard();
    let grace = settings.grace.min(LONGEST_GRACE);
    let mut pause = RESTART_FIRST;
    let deadline = loop {
        if stop.is_cancelled() {
            break Instant::now() + grace;
        }
        let service = Deliver::new(Arc::clone(&handler), handlers.clone());
        let prompt = Prompt::new(settings.poll, settings.wake.clone());
        let context = WorkerContext::new(&worker_name(queue));
        let started = Instant::now();
        let mut worker = worker(store, queue, &context, prompt, service);
        let ended = tokio::select! {
            ended = &mut worker => ended,
            () = stop.cancelled() => {
                let deadline = Instant::now() + grace;
                // Fails when the worker has not started, and then it has nothing to end.
                if context.stop().is_ok() {
                    let _too_late = timeout_at(deadline, worker).await;
                }
                break deadline;
            }
        };
        match ended {
            Ok(()) => tracing::warn!(queue = queue.name(), "the queue's worker ended; replacing it"),
            Err(error) => tracing::warn!(queue = queue.name(), %error, "the queue's worker failed; replacing it"),
        }
        if started.elapsed() >= LASTING {
            pause = RESTART_FIRST;
        }
        stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        pause = (pause * 2).min(RESTART_LAST);
    };
    end_handlers(&handlers, deadline).await;
}

/// Waits for handlers that no worker waits for any more, and drops those that run beyond `deadline`.
async fn end_handlers(handlers: &Handlers, deadline: Instant) {
    handlers.running.close();
    if timeout_at(deadline, handlers.running.wait()).await.is_err() {
        handlers.abandon.cancel();
        // One that blocks its thread cannot be dropped; the end of the process will do it.
        if timeout(DROPPING, handlers.running.wait()).await.is_err() {
            tracing::warn!(handlers = handlers.running.len(), "handlers did not end in time");
        }
    }
}

/// A name that no other worker has: apalis tells workers apart by it, across processes, machines and restarts.
fn worker_name(queue: Queue) -> String {
    let system = rustix::system::uname();
    let (host, process) = (system.nodename().to_string_lossy(), std::process::id());
    format!("{}-{host}-{process}-{}", queue.name(), Uuid::now_v7().simple())
}

/// A worker of apalis. It fetches one job at a time: it stops its heartbeats while it holds jobs that wait.
fn worker<J, F, Fut>(
    store: &Store,
    queue: Queue,
    context: &WorkerContext,
    prompt: Prompt,
    service: Deliver<J, F>,
) -> BoxFuture<'static, Result<(), WorkerError>>
where
    J: Job,
    F: Fn(J) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    // Locking would mark each job as running, which is one more write for something that nothing here reads.
    macro_rules! config {
        ($config:ty) => {
            <$config>::default()
                .queue(queue.name())
                .batch_size(1)
                .lock_tasks(false)
                .heartbeat_interval(HEARTBEAT)
                .missed_heartbeats(MISSED_HEARTBEATS)
        };
    }
    let builder = WorkerBuilder::new(context);
    match store.pools() {
        Pools::Sqlite(pool) => {
            let storage = SqliteStorage::<Payload>::new(pool).with_config(config!(apalis_sqlite::Config));
            builder.backend(storage.with_codec(Verbatim).poll_with_stream(prompt)).build(service).run().boxed()
        }
        Pools::Postgres(pool) => {
            let storage = PostgresStorage::<Payload>::new(pool).with_config(config!(apalis_postgres::Config));
            builder.backend(storage.with_codec(Verbatim).poll_with_stream(prompt)).build(service).run().boxed()
        }
    }
}
