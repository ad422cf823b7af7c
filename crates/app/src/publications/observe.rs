//! What a later look at a branch finds of what was published there before. A publication stays `published`, because its
//! receipt says when the branch was read back; that it is gone since is told beside that.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{PublicationId, Result, Sha256Digest};
use pinhole_store::{Publication, PublicationObservation};
use serde_json::json;

use super::{PublicationWork, steps::held};
use crate::{App, unit::Unit};

impl App {
    /// Writes down which earlier publications a look at the branch has missed, or found again: `markers` are the SHA-256
    /// of the markers that its `head` holds, which is `None` when there is no branch. What is as the look before found it
    /// is not written again. False when the lease is lost.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn record_look(
        &self,
        work: &PublicationWork,
        head: Option<&str>,
        markers: &BTreeMap<PublicationId, Sha256Digest>,
    ) -> Result<bool> {
        if work.earlier.is_empty() {
            return Ok(true);
        }
        self.bookkeeping("record_publication_look", move |unit, _| {
            Box::pin(async move {
                let Some(own) = held(unit, &work.lease).await? else { return Ok(false) };
                let missed = unit.publications_missed_on(own.remote_id, &own.branch).await?;
                let missed: BTreeSet<_> = missed.into_iter().collect();
                for (id, marker) in &work.earlier {
                    let on_branch = markers.get(id) == Some(marker);
                    if on_branch == missed.contains(id) {
                        observe(unit, &own, *id, head, on_branch).await?;
                    }
                }
                Ok(true)
            })
        })
        .await
    }
}

/// Writes down that the look of `own` found an earlier publication otherwise than the look before.
async fn observe(
    unit: &mut Unit,
    own: &Publication,
    id: PublicationId,
    head: Option<&str>,
    on_branch: bool,
) -> Result<()> {
    let newest = unit.newest_publication_observations(id, 1).await?;
    let observation = PublicationObservation {
        publication_id: id,
        number: newest.last().map_or(1, |newest| newest.number + 1),
        seen_at: unit.now(),
        head: head.map(str::to_owned),
        on_branch,
    };
    unit.insert_publication_observation(&observation).await?;
    let kind = if on_branch { "publication.found" } else { "publication.lost" };
    let detail = json!({ "publication": id, "on_branch": on_branch, "head": head, "seen_by": own.id });
    unit.audit_with_event(kind, own.project_id, id, detail).await
}
