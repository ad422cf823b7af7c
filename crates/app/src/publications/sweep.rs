//! The sweeper's part: a publication whose time has come gets its job again. Its tries are counted when a worker takes
//! it, so a poisonous one ends.

use std::time::Duration;

use pinhole_core::Result;
use pinhole_jobs::PublishJob;
use pinhole_store::Publication;

use super::REQUEUE;
use crate::App;

/// The longest wait before another job is queued for a publication that no worker takes.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

impl App {
    /// Looks once at every publication that is due, at most 100 of them.
    pub(crate) async fn sweep_publications(&self) -> Result<usize> {
        let mut tx = self.store().begin_read().await?;
        let due = tx.due_publications().await?;
        drop(tx);
        for publication in &due {
            self.queue_publication_again(publication).await?;
        }
        Ok(due.len())
    }

    /// Takes the publication from a worker whose lease ran out, if one has it, and queues another job. The longer it
    /// has waited, the longer the next look is away.
    async fn queue_publication_again(&self, before: &Publication) -> Result<()> {
        if before.claim_token.is_some() {
            tracing::info!(publication = %before.id, "lease lost; the publication is queued again");
        }
        self.bookkeeping("requeue_publication", move |unit, _| {
            Box::pin(async move {
                let waited = unit.now().since(before.created_at);
                let wait = if before.claim_token.is_some() { REQUEUE } else { waited / 2 };
                let due_at = unit.now().plus(wait.clamp(REQUEUE, LONGEST_WAIT));
                let after = Publication { claim_token: None, due_at, ..before.clone() };
                if unit.save_publication(before, &after).await? {
                    unit.enqueue(&PublishJob { publication: before.id }, Duration::ZERO).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
