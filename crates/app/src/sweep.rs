//! The sweeper: brings every unfinished cell and publication on whose time has come. It is what makes lost jobs and
//! lost workers harmless, so it rests on domain rows alone.

use std::time::Duration;

use pinhole_core::{CellFailure, FailureReason, Result, RunState};
use pinhole_jobs::{CaptureJob, RegisterJob};
use pinhole_store::Cell;

use crate::{App, capture::MAX_ATTEMPTS, runs::FIRST_REQUEUE};

impl App {
    /// Looks once at every cell and publication that is due, at most 100 of each, and writes when credentials were last
    /// used. Any number of sweepers may run at the
    /// same time.
    ///
    /// # Errors
    /// The last of the database's, when all the others have been looked at: what cannot be brought on holds up nothing
    /// else.
    pub async fn sweep(&self) -> Result<usize> {
        if let Err(error) = self.write_uses().await {
            tracing::warn!(?error, "when credentials were last used was not written");
        }
        let mut tx = self.store().begin_read().await?;
        let due = tx.due_cells().await?;
        drop(tx);
        let mut failed = None;
        for cell in &due {
            let outcome = match cell.state {
                RunState::Running => self.take_back(cell).await,
                _ => self.queue_again(cell).await,
            };
            if let Err(error) = outcome {
                tracing::warn!(cell = %cell.id, ?error, "the cell was not brought on");
                failed = Some(error);
            }
        }
        let publications = self.sweep_publications().await?;
        failed.map_or(Ok(due.len() + publications), Err)
    }

    /// Takes a cell from a worker whose lease ran out.
    async fn take_back(&self, cell: &Cell) -> Result<()> {
        let Some(token) = cell.claim_token else { return Ok(()) };
        let message = format!("the worker of attempt {} did not renew its lease", cell.attempt);
        let failure = &CellFailure { reason: FailureReason::WorkerLost, step: None, message };
        if cell.attempt >= MAX_ATTEMPTS {
            return self.fail_cell(cell, RunState::Running, failure.clone()).await;
        }
        tracing::info!(cell = %cell.id, attempt = cell.attempt, "lease lost; the cell is queued again");
        self.bookkeeping("requeue_cell", move |unit, _| {
            Box::pin(async move {
                // A lease that ran out cannot be renewed, so what we saw still holds unless somebody else took it back.
                let now = unit.now();
                if unit.requeue_cell(cell.id, token, now, "lost", Some(failure)).await? {
                    unit.enqueue(&CaptureJob { cell: cell.id }, Duration::ZERO).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Queues another job for a cell that waits for a worker or the registrar. The longer it has waited, the longer the
    /// next look is away, so that a long queue is not filled with repeats.
    async fn queue_again(&self, cell: &Cell) -> Result<()> {
        self.bookkeeping("requeue_job", move |unit, _| {
            Box::pin(async move {
                let waited = unit.now().since(cell.created_at);
                let due = unit.now().plus(FIRST_REQUEUE.max(waited / 2));
                if !unit.postpone_cell(cell, due).await? {
                    return Ok(());
                }
                match cell.state {
                    RunState::Registering => {
                        unit.enqueue(&RegisterJob { cell: cell.id, attempt: cell.attempt }, Duration::ZERO).await
                    }
                    _ => unit.enqueue(&CaptureJob { cell: cell.id }, Duration::ZERO).await,
                }
            })
        })
        .await
    }
}
