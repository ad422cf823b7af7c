//! Which earlier publications of its branch a tree keeps, each with its marker and its files of proofs: those that are
//! behind its commit as far as the database can tell, and whose proofs are of the log that the tree shows. No clone could
//! be verified with any other. What a tree does not keep it proves itself. All that decides is fixed when the attempt
//! begins, so that the commit stays the same whenever it is made again.

use std::collections::BTreeMap;

use pinhole_core::{Error, PublicationId, Result};
use pinhole_receipt::log::{CHECKPOINT_PATH, Checkpoint};
use pinhole_store::{Publication, PublicationAttempt, PublicationLogFile};

use super::head::begins_branch;
use crate::unit::Unit;

/// Files by their paths in the tree.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// An earlier publication with what it has added below `log/`.
pub(super) struct Earlier {
    pub(super) publication: Publication,
    pub(super) checkpoint: Checkpoint,
    pub(super) files: Files,
}

/// The earlier publications of the line that the tree of `attempt` keeps, by revision, when its own checkpoint is of the
/// log `origin`.
pub(super) async fn kept(
    unit: &mut Unit,
    own: &Publication,
    attempt: &PublicationAttempt,
    origin: &str,
) -> Result<Vec<Earlier>> {
    let mut kept = Vec::new();
    if begins_branch(attempt)? {
        return Ok(kept);
    }
    for publication in unit.published_to_branch(own.remote_id, &own.branch, attempt.started_at).await? {
        let of_line = publication.project_id == own.project_id && publication.line == own.line;
        if !of_line || publication.revision > own.revision || publication.id == own.id {
            continue;
        }
        let Some(shown) = shown_attempt(unit, &publication).await?.filter(|shown| is_where(shown, attempt)) else {
            continue;
        };
        if begins_branch(&shown)? {
            // The branch of those before it is gone.
            kept.clear();
        }
        let files = log_files(unit, publication.id, shown.attempt).await?;
        if let Some(checkpoint) = checkpoint_of(&files)?.filter(|checkpoint| checkpoint.origin == origin) {
            kept.push(Earlier { publication, checkpoint, files });
        }
    }
    Ok(kept)
}

/// The attempt as which the branch shows a publication; `None` for one from before there was a log.
async fn shown_attempt(unit: &mut Unit, publication: &Publication) -> Result<Option<PublicationAttempt>> {
    let Some(number) = publication.log_attempt else { return Ok(None) };
    let attempts = unit.publication_attempts(publication.id).await?;
    Ok(attempts.into_iter().find(|attempt| attempt.attempt == number))
}

/// Whether an earlier attempt was pushed to where `attempt` goes. Of attempts of earlier versions nobody knows another
/// place.
fn is_where(earlier: &PublicationAttempt, attempt: &PublicationAttempt) -> bool {
    earlier.remote_url.is_none() || earlier.remote_url == attempt.remote_url
}

/// The files that an attempt adds below `log/`; none before they are fixed.
pub(super) async fn log_files(unit: &mut Unit, publication: PublicationId, attempt: u32) -> Result<Files> {
    let files = unit.publication_log_files(publication, attempt).await?;
    Ok(files.into_iter().map(|PublicationLogFile { path, content }| (path, content.into_bytes())).collect())
}

/// The checkpoint among these files.
pub(super) fn checkpoint_of(files: &Files) -> Result<Option<Checkpoint>> {
    let note = files.get(CHECKPOINT_PATH);
    note.map(|note| Checkpoint::unverified(note).map_err(Error::internal)).transpose()
}
