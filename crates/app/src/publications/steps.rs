//! What a worker writes down while it publishes. A worker whose lease is lost changes nothing.

use pinhole_core::{Error, PublicationState, Result};
use pinhole_jobs::PublishJob;
use pinhole_receipt::{Jwks, KeyStatus, KeyUse, signing_key};
use pinhole_store::Publication;
use serde_json::json;

use super::{
    MAX_TRIES, PublicationLease, PublicationWork, REQUEUE,
    end::{End, end},
    head::present_attempt,
    is_over,
    place::barred,
};
use crate::{App, unit::Unit};

/// Greatest number of characters of a reason that is kept.
const MAX_WHY_CHARS: usize = 1000;

/// The ends of an attempt without a published commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpublished {
    /// The branch holds something else than the expected head.
    Conflict,
    /// The remote's policy refuses the push.
    Rejected,
    /// Trying again is no use.
    Failed,
}

impl App {
    /// Keeps a lease; false when it is lost, and then the worker must stop at once.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn renew_publication(&self, lease: &PublicationLease) -> Result<bool> {
        let lease = *lease;
        self.bookkeeping("renew_publication", move |unit, _| {
            Box::pin(async move {
                let Some(before) = held(unit, &lease).await? else { return Ok(false) };
                let due_at = unit.now().plus(unit.app().settings().lease);
                unit.save_publication(&before, &Publication { due_at, ..before.clone() }).await
            })
        })
        .await
    }

    /// Stores the commit that is about to be pushed, and its signature, without which nobody could make it again. False
    /// when the lease is lost, the remote was closed or moved meanwhile, or no verifier would accept the key that signed
    /// it; then it must not be pushed.
    ///
    /// # Errors
    /// Those of the database; `internal` when the signature is none, or the key set cannot be read.
    pub async fn record_commit(&self, work: &PublicationWork, commit: &str, signature: &str) -> Result<bool> {
        let keys = &self.public_keys()?;
        self.bookkeeping("record_publication_commit", move |unit, _| {
            Box::pin(async move {
                let Some(before) = held(unit, &work.lease).await? else { return Ok(false) };
                let mut attempt = present_attempt(unit, &before).await?;
                if let Some(why) = barred(unit, &before, &attempt).await? {
                    return end(unit, &before, End::unpublished(PublicationState::Conflict, why)).await.map(|_| false);
                }
                if let Some(why) = refused_key(keys, signature)? {
                    return give_back(unit, &before, &why).await.map(|_| false);
                }
                attempt.base_commit.clone_from(&work.expected_head);
                attempt.commit_id = Some(commit.to_owned());
                attempt.commit_signature = Some(signature.to_owned());
                unit.save_publication_attempt(&attempt).await?;
                advance(unit, &before, PublicationState::Pushing, commit).await
            })
        })
        .await
    }

    /// Stores that `commit` is thought to be on the branch, because its push was acknowledged or because a look has
    /// found it there. False when the lease is lost.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn record_landing(&self, lease: &PublicationLease, commit: &str) -> Result<bool> {
        let lease = *lease;
        self.bookkeeping("record_publication_landing", move |unit, _| {
            Box::pin(async move {
                let Some(before) = held(unit, &lease).await? else { return Ok(false) };
                let attempts = unit.publication_attempts(before.id).await?;
                // An earlier attempt may have made it, or nobody: then upstream has rewritten its history.
                let base = attempts.iter().find(|attempt| attempt.commit_id.as_deref() == Some(commit));
                let base = base.and_then(|attempt| attempt.base_commit.clone());
                let mut attempt = present_attempt(unit, &before).await?;
                attempt.base_commit = base;
                if attempt.commit_id.as_deref() != Some(commit) {
                    // Of another attempt, or of nobody: the signature is not this one's.
                    attempt.commit_signature = None;
                }
                attempt.commit_id = Some(commit.to_owned());
                unit.save_publication_attempt(&attempt).await?;
                advance(unit, &before, PublicationState::Verifying, commit).await
            })
        })
        .await
    }

    /// Gives a publication back because of something that may pass, to be tried again after a while; it fails when its
    /// tries are spent. False when the lease is lost.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn retry_publication(&self, lease: &PublicationLease, why: &str) -> Result<bool> {
        let (lease, why) = (*lease, &shortened(why));
        self.bookkeeping("retry_publication", move |unit, _| {
            Box::pin(async move {
                let Some(before) = held(unit, &lease).await? else { return Ok(false) };
                give_back(unit, &before, why).await
            })
        })
        .await
    }

    /// Ends the attempt without a published commit. False when the lease is lost.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn end_publication(&self, lease: &PublicationLease, how: Unpublished, why: &str) -> Result<bool> {
        let (lease, why) = (*lease, &shortened(why));
        let state = match how {
            Unpublished::Conflict => PublicationState::Conflict,
            Unpublished::Rejected => PublicationState::Rejected,
            Unpublished::Failed => PublicationState::Failed,
        };
        self.bookkeeping("end_publication", move |unit, _| {
            Box::pin(async move {
                let Some(before) = held(unit, &lease).await? else { return Ok(false) };
                end(unit, &before, End::unpublished(state, why)).await
            })
        })
        .await
    }
}

/// The publication, if the lease on it lasts.
pub(super) async fn held(unit: &mut Unit, lease: &PublicationLease) -> Result<Option<Publication>> {
    let publication = unit.publication(lease.publication).await?.ok_or_else(Error::not_found)?;
    let holds = publication.claim_token == Some(lease.token)
        && publication.attempt == lease.attempt
        && publication.due_at >= unit.now()
        && !is_over(publication.state);
    Ok(holds.then_some(publication))
}

/// Gives a publication back to be tried again after a while; ends it when its tries are spent.
async fn give_back(unit: &mut Unit, before: &Publication, why: &str) -> Result<bool> {
    if before.tries >= MAX_TRIES {
        return end(unit, before, spent(why)).await;
    }
    let delay = unit.app().settings().wait_after(before.tries);
    let after = Publication {
        claim_token: None,
        due_at: unit.now().plus(delay + REQUEUE),
        detail: Some(format!("try {} of {MAX_TRIES}: {why}", before.tries)),
        ..before.clone()
    };
    unit.enqueue(&PublishJob { publication: before.id }, delay).await?;
    unit.save_publication(before, &after).await
}

/// Why no verifier would accept a commit with this signature, if none would: the key's file may have been put back from a
/// backup, or the commit was being made when its key was revoked.
fn refused_key(keys: &Jwks, signature: &str) -> Result<Option<String>> {
    let key = signing_key(signature).map_err(Error::internal)?.key_id;
    let listed = keys.keys.iter().find(|listed| listed.kid == key && listed.pinhole_use == KeyUse::Commit);
    Ok(match listed.map(|listed| listed.pinhole_status) {
        Some(KeyStatus::Active | KeyStatus::Retired) => None,
        Some(KeyStatus::Revoked) => Some(format!(
            "key_revoked: the commit key {key} is revoked, and nothing was pushed: run `pinhole key rotate-signing --commit`"
        )),
        None => Some(format!(
            "key_unknown: the commit key {key} is not in the key set, and nothing was pushed: restart the server, or restore \
             the keys from one backup"
        )),
    })
}

/// The end of an attempt whose tries are spent.
pub(super) fn spent(why: &str) -> End {
    End::unpublished(PublicationState::Failed, format!("given up after {MAX_TRIES} tries: {why}"))
}

async fn advance(unit: &mut Unit, before: &Publication, state: PublicationState, commit: &str) -> Result<bool> {
    let moved = before.state != state;
    let after = Publication { state, version: before.version + u32::from(moved), ..before.clone() };
    let detail = json!({ "state": state, "attempt": before.attempt, "commit": commit });
    unit.audit(Some(before.project_id), Some(before.id.to_string()), detail).await?;
    unit.save_publication(before, &after).await
}

fn shortened(why: &str) -> String {
    why.chars().take(MAX_WHY_CHARS).collect()
}
