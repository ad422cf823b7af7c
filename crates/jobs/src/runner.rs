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
/// How long the worker may take to write down what ended, beyond the grace of the handlers.
const CLOSING: Duration = Duration::from_secs(5);

/// How a queue is run.
#[derive(Clone, Debug)]
pub struct RunnerSettings {
    /// Handlers that run at the same time at most.
    pub concurrency: NonZeroUsize,
    /// How often work is looked for when nothing wakes the runner.
    pub poll: Duration,
    /// How long handlers may go on after the stop; then they are dropped where they await.
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
/// wants another try enqueues one. When the worker itself fails, another takes its place after a moment, and the
/// handlers that run are not disturbed. Handlers run as tasks and may still compute for long on a blocking thread
/// only. After `stop` no job is begun, and running handlers have `settings.grace` to end. When the future is dropped
/// instead, they are dropped too.
///
/// # Errors
/// None at present.
pub async fn run<J, F, Fut>(store: &Store, settings: RunnerSettings, stop: CancellationToken, handler: F) -> Result<()>
where
    J: Job,
    F: Fn(J) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    let queue = J::QUEUE;
    let handler = Arc::new(handler);
    let handlers = Handlers::new(settings.concurrency.get());
    let _abandon_when_dropped = handlers.abandon.clone().drop_guard();
    let mut pause = RESTART_FIRST;
    while !stop.is_cancelled() {
        let handler = Arc::clone(&handler);
        let service = Deliver::new(move |job: J| handler(job), handlers.clone());
        let prompt = Prompt::new(settings.poll, settings.wake.clone());
        let context = WorkerContext::new(&worker_name(queue));
        let started = Instant::now();
        let mut worker = worker(store, queue, &context, prompt, service);
        let ended = tokio::select! {
            ended = &mut worker => ended,
            () = stop.cancelled() => {
                finish(worker, &context, &handlers, settings.grace).await;
                break;
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
    }
    end_handlers(&handlers, Instant::now() + settings.grace).await;
    Ok(())
}

/// Lets the worker's own handlers end within `grace`, drops those that do not, and has the worker write down both.
async fn finish(
    mut worker: BoxFuture<'static, Result<(), WorkerError>>,
    context: &WorkerContext,
    handlers: &Handlers,
    grace: Duration,
) {
    // Fails when the worker has not started, and then there is nothing to stop.
    if context.stop().is_err() {
        return;
    }
    if timeout(grace, &mut worker).await.is_err() {
        handlers.abandon.cancel();
        if timeout(CLOSING, worker).await.is_err() {
            tracing::warn!(worker = context.name(), "the queue's worker did not close in time");
        }
    }
}

/// Waits for handlers of workers that were replaced, and drops those that run beyond `deadline`.
async fn end_handlers(handlers: &Handlers, deadline: Instant) {
    handlers.running.close();
    if timeout_at(deadline, handlers.running.wait()).await.is_err() {
        handlers.abandon.cancel();
        // A handler that blocks its thread cannot be dropped; the end of the process will.
        if timeout(CLOSING, handlers.running.wait()).await.is_err() {
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
