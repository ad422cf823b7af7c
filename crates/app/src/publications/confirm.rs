//! The last step: what was read back from the branch is compared with what was rendered, and only then the publication
//! is published and its receipt signed.

use std::collections::BTreeMap;

use pinhole_core::{PublicationState, Result, Sha256Digest};
use pinhole_receipt::PublicationReceipt;

use super::{
    PublicationWork,
    end::{End, end},
    steps::held,
};
use crate::{App, unit::Unit};

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
        self.bookkeeping("confirm_publication", move |unit, _| {
            Box::pin(async move {
                let Some(before) = held(unit, &work.lease).await? else { return Ok(false) };
                let attempts = unit.publication_attempts(before.id).await?;
                let made = attempts.iter().find(|attempt| attempt.commit_id.as_deref() == Some(commit));
                let is_own = made.is_none_or(|made| made.attempt == work.lease.attempt);
                let outcome = match difference(work, files, is_own) {
                    None => End {
                        state: PublicationState::Published,
                        why: None,
                        receipt: Some(receipt(unit, work, commit)?),
                    },
                    Some(path) => {
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

/// The first path at which the branch differs from what was rendered. Of the markers only this publication's own
/// counts: an earlier attempt, or a rewritten history, may hold others. The commit of an earlier attempt shows the log as
/// that attempt has fixed it.
fn difference(work: &PublicationWork, found: &BTreeMap<String, Sha256Digest>, is_own: bool) -> Option<String> {
    let own = format!("publications/{}.json", work.lease.publication);
    let counts =
        |path: &str| path == own || !(path.starts_with("publications/") || (path.starts_with("log/") && !is_own));
    let rendered = work.files.iter().filter(|(path, _)| counts(path));
    let mut different = rendered.filter(|(path, bytes)| found.get(*path) != Some(&Sha256Digest::of(bytes)));
    let foreign = || found.keys().find(|path| counts(path) && !work.files.contains_key(*path));
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
