//! One delivery: from the bytes of a row to a handler that has ended, however it ended.

use std::{
    future::{pending, ready},
    marker::PhantomData,
    sync::Arc,
    task::{Context, Poll},
};

use apalis::prelude::{AbortError, BoxDynError, Task};
use futures::{FutureExt as _, future::BoxFuture};
use pinhole_core::Result;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{
    sync::{CancellationToken, PollSemaphore},
    task::TaskTracker,
};
use tower::Service;

use crate::{Job, payload::Payload};

/// What outlives a restart of the worker: the handlers that run, and how many may.
#[derive(Clone)]
pub(crate) struct Handlers {
    slots: Arc<Semaphore>,
    pub(crate) running: TaskTracker,
    /// Cuts off handlers that do not end by themselves.
    pub(crate) abandon: CancellationToken,
}

impl Handlers {
    pub(crate) fn new(concurrency: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(concurrency)),
            running: TaskTracker::new(),
            abandon: CancellationToken::new(),
        }
    }
}

/// Runs `handler` for each delivery, as a task of its own.
///
/// A task and not a part of the worker's future, because that future is dropped whenever the worker fails (a database
/// that is away for a moment is enough), because a handler that computes would hold up the worker's heartbeats, and
/// because the worker asks the database for more work each time anything in its future stirs. A panic ends the task
/// and nothing else.
pub(crate) struct Deliver<J, F> {
    handler: Arc<F>,
    handlers: Handlers,
    slots: PollSemaphore,
    /// Held from when the worker asks whether there is room until a job takes it.
    slot: Option<OwnedSemaphorePermit>,
    job: PhantomData<fn() -> J>,
}

impl<J, F> Deliver<J, F> {
    pub(crate) fn new(handler: Arc<F>, handlers: Handlers) -> Self {
        let slots = PollSemaphore::new(Arc::clone(&handlers.slots));
        Self { handler, handlers, slots, slot: None, job: PhantomData }
    }
}

impl<J, F, Fut> Service<Task<Payload>> for Deliver<J, F>
where
    J: Job,
    F: Fn(J) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    type Response = ();
    type Error = BoxDynError;
    type Future = BoxFuture<'static, Result<(), BoxDynError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxDynError>> {
        if self.slot.is_none() {
            let Poll::Ready(slot) = self.slots.poll_acquire(context) else { return Poll::Pending };
            self.slot = slot;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, task: Task<Payload>) -> Self::Future {
        let queue = J::QUEUE.name();
        let slot = self.slot.take();
        let job: J = match serde_json::from_slice(&task.args.0) {
            Ok(job) => job,
            Err(error) => {
                tracing::error!(queue, %error, "dropping a job whose payload cannot be read");
                return ready(Err(over("unreadable payload"))).boxed();
            }
        };
        let (handler, abandon) = (Arc::clone(&self.handler), self.handlers.abandon.clone());
        let task = self.handlers.running.spawn(async move {
            let outcome = abandon.run_until_cancelled(async { handler(job).await }).await;
            drop(slot);
            outcome
        });
        async move {
            match task.await {
                Ok(Some(Ok(()))) => Ok(()),
                Ok(Some(Err(error))) => {
                    tracing::error!(queue, ?error, "a job failed");
                    Err(over("failed"))
                }
                // The row stays as it is, so that another runner takes it over when this one is missed.
                Ok(None) => pending().await,
                Err(error) => {
                    tracing::error!(queue, %error, "a job's handler panicked");
                    Err(over("panic"))
                }
            }
        }
        .boxed()
    }
}

/// Marks the row so that it is never delivered again, whatever number of attempts it names. The log has the details.
fn over(how: &'static str) -> BoxDynError {
    AbortError::new(how).into()
}
