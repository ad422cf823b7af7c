//! Which commit an attempt expects the branch to be at: one that the caller named, or the one that another publication
//! makes.

use pinhole_contract::ExpectedHead;
use pinhole_core::{Error, PublicationState, Result};
use pinhole_store::{Publication, PublicationAttempt};

use super::is_over;
use crate::unit::Unit;

/// What an expected head means now.
pub(super) enum Head {
    /// The branch shall be here; `None`: it shall not exist.
    At(Option<String>),
    /// Another publication has to end first.
    Wait,
    /// It will never be known, and why.
    Never(String),
}

/// The expected head of an attempt as the caller gave it.
pub(super) fn expected_head(attempt: &PublicationAttempt) -> Result<ExpectedHead> {
    serde_json::from_value(attempt.expected_head.clone()).map_err(Error::internal)
}

/// Whether an attempt makes its branch, so that nothing is behind its commit. One that comes after another publication
/// never does: that one's commit is.
pub(super) fn begins_branch(attempt: &PublicationAttempt) -> Result<bool> {
    Ok(expected_head(attempt)? == ExpectedHead::Commit(None))
}

/// The present attempt of a publication.
pub(super) async fn present_attempt(unit: &mut Unit, publication: &Publication) -> Result<PublicationAttempt> {
    let attempts = unit.publication_attempts(publication.id).await?;
    let present = attempts.into_iter().find(|attempt| attempt.attempt == publication.attempt);
    present.ok_or_else(|| Error::internal("a publication without its present attempt"))
}

/// Resolves the expected head of `attempt`. Once a worker has begun the attempt, the answer stays the same.
pub(super) async fn resolve(unit: &mut Unit, publication: &Publication, attempt: &PublicationAttempt) -> Result<Head> {
    let head = match expected_head(attempt)? {
        ExpectedHead::Commit(commit) => commit,
        ExpectedHead::After(id) => {
            let earlier = unit.publication(id).await?;
            let earlier = earlier.ok_or_else(|| Error::internal("a publication after one that does not exist"))?;
            match earlier.state {
                PublicationState::Published => present_attempt(unit, &earlier).await?.commit_id,
                state if is_over(state) => {
                    let why = format!("{id}, which it was to come after, is {state}: name the branch's head");
                    return Ok(Head::Never(why));
                }
                _ => return Ok(Head::Wait),
            }
        }
    };
    // The branch may hold an earlier publication that is not sure of it yet, beneath the head that the caller saw. Our
    // tree names the publications that are published by now and proves what none of them has proved, so it waits.
    let begins = publication.state == PublicationState::Queued;
    if begins && unit.unsure_publication_before(publication).await?.is_some() {
        return Ok(Head::Wait);
    }
    Ok(Head::At(head))
}

/// Refuses an expected head that can never be reached. No two publications wait for each other, for whatever reason: each
/// waits for earlier revisions alone. When an attempt is asked for there are no later ones, since it is of the line's
/// present revision.
pub(super) async fn check(unit: &mut Unit, wanted: &Publication, head: &ExpectedHead) -> Result<()> {
    let ExpectedHead::After(id) = head else { return Ok(()) };
    if *id == wanted.id {
        return Err(Error::invalid("expected_head.after", "a publication cannot come after itself"));
    }
    let earlier = unit.publication(*id).await?.filter(|earlier| earlier.project_id == wanted.project_id);
    let earlier = earlier.ok_or_else(Error::not_found)?;
    if (earlier.remote_id, &earlier.branch) != (wanted.remote_id, &wanted.branch) {
        return Err(Error::invalid("expected_head.after", "it is a publication to another branch"));
    }
    Ok(())
}
