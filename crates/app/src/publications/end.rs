//! The end of an attempt, whatever it is: row, audit row, event, and the publications that waited for it.

use std::time::Duration;

use pinhole_core::{ProbeKind, PublicationState, Result};
use pinhole_jobs::PublishJob;
use pinhole_store::Publication;
use serde_json::json;

use super::head::present_attempt;
use crate::{readiness::record_probe, unit::Unit};

/// How an attempt ends.
pub(super) struct End {
    pub(super) state: PublicationState,
    pub(super) why: Option<String>,
    pub(super) published: Option<Published>,
}

/// What is kept of a publication that was read back.
pub(super) struct Published {
    /// The signed receipt.
    pub(super) receipt: String,
    /// The attempt as which the branch shows it.
    pub(super) attempt: u32,
}

impl End {
    pub(super) fn unpublished(state: PublicationState, why: impl Into<String>) -> Self {
        Self { state, why: Some(why.into()), published: None }
    }
}

/// Ends the present attempt of `before`; false when somebody else has changed it.
pub(super) async fn end(unit: &mut Unit, before: &Publication, end: End) -> Result<bool> {
    let now = unit.now();
    let (receipt, log_attempt) = end.published.map(|published| (published.receipt, published.attempt)).unzip();
    let after = Publication {
        state: end.state,
        version: before.version + 1,
        claim_token: None,
        detail: end.why.clone(),
        receipt,
        log_attempt,
        finished_at: Some(now),
        ..before.clone()
    };
    if !unit.save_publication(before, &after).await? {
        return Ok(false);
    }
    let mut attempt = present_attempt(unit, &after).await?;
    attempt.outcome = Some(end.state.to_string());
    attempt.detail = end.why;
    attempt.ended_at = Some(now);
    unit.save_publication_attempt(&attempt).await?;
    let detail = json!({ "state": end.state, "attempt": attempt.attempt, "commit": attempt.commit_id });
    unit.audit(Some(after.project_id), Some(after.id.to_string()), detail).await?;
    let payload = json!({ "publication": after.id, "state": after.state });
    unit.event(&format!("publication.{}", after.state), after.project_id, after.id.to_string(), payload).await?;
    record_probe(unit, ProbeKind::Publication, end.state.as_str(), None).await?;
    wake_waiting(unit, &after).await?;
    Ok(true)
}

/// Queues the jobs of the publications of the branch that may have waited for this one; each finds out for itself what
/// that means.
async fn wake_waiting(unit: &mut Unit, ended: &Publication) -> Result<()> {
    for waiting in unit.queued_publications(ended.remote_id, &ended.branch).await? {
        unit.enqueue(&PublishJob { publication: waiting.id }, Duration::ZERO).await?;
    }
    Ok(())
}
