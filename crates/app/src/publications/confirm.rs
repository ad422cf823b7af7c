//! The last step: what was read back from the branch is compared with what was rendered, and only then the publication
//! is published and its receipt signed.

use std::collections::BTreeMap;

use pinhole_core::{PublicationState, Result, Sha256Digest};
use pinhole_receipt::PublicationReceipt;
use pinhole_store::Publication;

use super::{
    PublicationWork,
    end::{End, Published, end},
    log::tree_log,
    steps::held,
};
use crate::{App, unit::Unit};

/// How many of its attempts a publication on the branch is compared with at most, the newest ones.
const MAX_ATTEMPTS: u32 = 100;

/// The SHA-256 of files by path.
type Digests = BTreeMap<String, Sha256Digest>;

impl App {
    /// Publishes: `files` are the SHA-256 of the catalog's files as they were read back from the branch at `commit`.
    /// When they are others than the rendered ones, it ends in conflict instead. False when the lease is lost.
    ///
    /// # Errors
    /// Those of the database; `internal` in a process that has no statement key.
    pub async fn confirm_publication(
        &self,
        work: &PublicationWork,
        commit: &str,
        files: &BTreeMap<String, Sha256Digest>,
    ) -> Result<bool> {
        let rendered: Digests =
            work.files.iter().map(|(path, bytes)| (path.clone(), Sha256Digest::of(bytes))).collect();
        let rendered = &rendered;
        self.bookkeeping("confirm_publication", move |unit, _| {
            Box::pin(async move {
                let Some(before) = held(unit, &work.lease).await? else { return Ok(false) };
                let outcome = match shown_as(unit, &before, rendered, files).await? {
                    Ok(attempt) => End {
                        state: PublicationState::Published,
                        why: None,
                        published: Some(Published { receipt: receipt(unit, work, commit)?, attempt }),
                    },
                    Err(path) => {
                        let why = format!("the branch holds this publication at {commit}, but not the same {path}");
                        End::unpublished(PublicationState::Conflict, why)
                    }
                };
                end(unit, &before, outcome).await
            })
        })
        .await
    }
}

/// The attempt as which the branch shows the publication, or the first path at which it differs from the present one.
/// Attempts differ in what they show of the log alone. Commits do not tell them apart: upstream may have rewritten the
/// history, and then the content is ours under an id that is not.
async fn shown_as(
    unit: &mut Unit,
    publication: &Publication,
    rendered: &Digests,
    found: &Digests,
) -> Result<Result<u32, String>> {
    let Some(path) = difference(publication, rendered, found) else { return Ok(Ok(publication.attempt)) };
    for earlier in unit.newest_publication_attempts(publication.id, MAX_ATTEMPTS).await?.into_iter().rev() {
        if earlier.attempt == publication.attempt || earlier.commit_id.is_none() {
            continue;
        }
        let log = tree_log(unit, publication, &earlier).await?;
        let log = log.files.into_iter().map(|(path, bytes)| (path, Sha256Digest::of(&bytes)));
        let others = rendered.iter().filter(|(path, _)| !path.starts_with("log/"));
        let as_then = others.map(|(path, digest)| (path.clone(), *digest)).chain(log).collect();
        if difference(publication, &as_then, found).is_none() {
            return Ok(Ok(earlier.attempt));
        }
    }
    Ok(Err(path))
}

/// The first path at which the branch differs from what was rendered. Of the markers only this publication's own
/// counts: an earlier attempt, or a rewritten history, may hold others.
fn difference(publication: &Publication, rendered: &Digests, found: &Digests) -> Option<String> {
    let own = format!("publications/{}.json", publication.id);
    let counts = |path: &str| path == own || !path.starts_with("publications/");
    let mut different = rendered.iter().filter(|(path, digest)| counts(path) && found.get(*path) != Some(*digest));
    let foreign = || found.keys().find(|path| counts(path) && !rendered.contains_key(*path));
    different.next().map(|(path, _)| path).or_else(foreign).cloned()
}

fn receipt(unit: &Unit, work: &PublicationWork, commit: &str) -> Result<String> {
    let receipt = PublicationReceipt {
        publication: work.lease.publication,
        project: work.project.clone(),
        line: work.line.clone(),
        revision: work.revision,
        digest: work.digest,
        remote: work.remote.clone(),
        branch: work.branch.clone(),
        commit: commit.to_owned(),
        read_back_at: unit.now(),
    };
    unit.signed(&receipt)
}
