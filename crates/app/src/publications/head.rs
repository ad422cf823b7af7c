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

/// The present attempt of a publication.
pub(super) async fn present_attempt(unit: &mut Unit, publication: &Publication) -> Result<PublicationAttempt> {
    let attempts = unit.publication_attempts(publication.id).await?;
    let present = attempts.into_iter().find(|attempt| attempt.attempt == publication.attempt);
    present.ok_or_else(|| Error::internal("a publication without its present attempt"))
}

/// Resolves the expected head of `attempt`. The answer is the same whenever the publication is worked on.
pub(super) async fn resolve(unit: &mut Unit, publication: &Publication, attempt: &PublicationAttempt) -> Result<Head> {
    match expected_head(attempt)? {
        ExpectedHead::Commit(None) => Ok(Head::At(None)),
        ExpectedHead::Commit(Some(commit)) => {
            // The caller saw on the branch what its own publication is not sure of yet. Our tree names publications
            // that are published, so it waits for that one.
            let (remote, branch) = (publication.remote_id, &publication.branch);
            let unsure = unit.unsure_publication_of_commit(remote, branch, &commit).await?;
            let waits = unsure.is_some_and(|other| other.id != publication.id);
            Ok(if waits { Head::Wait } else { Head::At(Some(commit)) })
        }
        ExpectedHead::After(id) => {
            let earlier = unit.publication(id).await?;
            let earlier = earlier.ok_or_else(|| Error::internal("a publication after one that does not exist"))?;
            match earlier.state {
                PublicationState::Published => Ok(Head::At(present_attempt(unit, &earlier).await?.commit_id)),
                state if is_over(state) => {
                    Ok(Head::Never(format!("{id}, which it was to come after, is {state}: name the branch's head")))
                }
                _ => Ok(Head::Wait),
            }
        }
    }
}

/// Refuses an expected head that can never be reached. Two publications cannot wait for each other: the later one is of
/// a newer revision, and then the earlier one gets no further attempt.
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
