//! What a request for baselines asks to be approved: candidates, their reviews and the entries that they would replace,
//! bound into one intent whose digest a person decides on. Every such request is bound here, whoever makes it.

use pinhole_core::{
    ApprovalIntent, ApprovalItem, ApprovalKind, BaselineKind, CandidateState, Disposition, EnvironmentId, Error,
    LineName, LineOrigin, Name, PublicationIntent, Result, ReviewId,
};
use pinhole_store::{Candidate, Review};

use super::{candidate::receipt_of, policy::Policy};
use crate::{publications::check_branch, unit::Unit};

/// What is asked for, beside the items.
pub(super) struct Terms<'a> {
    pub(super) line: &'a LineName,
    pub(super) release_label: Option<&'a Name>,
    pub(super) publication: Option<&'a PublicationIntent>,
    /// The revision of another line that the items are carried from.
    pub(super) promoted_from: Option<LineOrigin>,
}

/// Items with the environment of each.
pub(super) type Items = Vec<(ApprovalItem, EnvironmentId)>;

/// Binds the items, in the order of their keys; with the environment of each.
///
/// # Errors
/// `conflict` with reason `same_key` for two items of one key.
pub(super) fn bind(
    terms: Terms<'_>,
    mut items: Items,
    policy: &Policy,
) -> Result<(ApprovalIntent, Vec<EnvironmentId>)> {
    items.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
    let (items, environments): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    if let Some((one, _)) = items.iter().zip(items.iter().skip(1)).find(|(a, b)| a.key == b.key) {
        let message = format!("two items are for {}: an approval has one for each key", one.key.path());
        return Err(Error::conflict("same_key", message));
    }
    let intent = ApprovalIntent {
        kind: ApprovalKind::Baseline,
        items,
        line: terms.line.clone(),
        policy_revision: policy.revision,
        release_label: terms.release_label.cloned(),
        publication: terms.publication.cloned(),
        reason: None,
        promoted_from: terms.promoted_from,
    };
    Ok((intent, environments))
}

/// Refuses to bind what can never be published as it says.
pub(super) async fn check_remote(unit: &mut Unit, publication: Option<&PublicationIntent>) -> Result<()> {
    let Some(publication) = publication else { return Ok(()) };
    match unit.remote_by_slug(&publication.remote).await? {
        Some(remote) => check_branch(&remote, &publication.branch),
        None => {
            let message = format!("there is no remote {}: an administrator has to add it", publication.remote);
            Err(Error::conflict("no_such_remote", message))
        }
    }
}

/// One item as it is decided on: a ready candidate for the line, of a picture with its newest, accepting review, which is
/// the named one if one is named.
pub(super) async fn item(
    unit: &mut Unit,
    line: &LineName,
    candidate: &Candidate,
    review: Option<ReviewId>,
) -> Result<(ApprovalItem, EnvironmentId)> {
    if candidate.state != CandidateState::Ready {
        return Err(Error::conflict(
            "candidate_not_ready",
            format!("the candidate is {}: only a ready one can be requested", candidate.state),
        ));
    }
    if candidate.key.line != *line {
        let message = format!("the candidate is for line {}, the request for {line}", candidate.key.line);
        return Err(Error::conflict("other_line", message));
    }
    let (capture_digest, review) = match (candidate.key.kind, review) {
        (BaselineKind::Visual, named) => {
            let review = accepting_review(unit, candidate, named).await?;
            (review.capture_sha256, Some(review.id))
        }
        (_, None) => (receipt_of(unit, candidate).await?.capture_sha256, None),
        (_, Some(_)) => return Err(Error::invalid("review_id", "only pictures are reviewed: leave it out")),
    };
    let current = unit.active_entry(candidate.project_id, &candidate.key).await?;
    if candidate.replaces.is_some() && candidate.replaces != current.as_ref().map(|entry| entry.id) {
        let message = "the baseline that the candidate was opened to replace has ended: rebaseline again";
        return Err(Error::conflict("other_entry", message));
    }
    let item = ApprovalItem {
        key: candidate.key.clone(),
        candidate: Some(candidate.id),
        capture_digest,
        review,
        current_entry: current.map(|entry| entry.sha256),
    };
    Ok((item, candidate.environment_id))
}

/// The newest review of the candidate's capture, which accepts it; when one is named, it has to be that one.
async fn accepting_review(unit: &mut Unit, candidate: &Candidate, named: Option<ReviewId>) -> Result<Review> {
    let receipt = receipt_of(unit, candidate).await?;
    let newest = unit.newest_review(receipt.id).await?;
    let review = match named {
        Some(id) => {
            let review = unit.review(id).await?.filter(|review| review.project_id == candidate.project_id);
            review.ok_or_else(Error::not_found)?
        }
        None => newest.clone().ok_or_else(|| {
            Error::conflict("not_reviewed", "nobody has reviewed the capture yet: a reviewer does so on its run's page")
        })?,
    };
    let seen = (review.receipt_id, review.capture_sha256, review.render_sha256, review.rules_sha256);
    if seen != (receipt.id, receipt.capture_sha256, receipt.render_sha256, receipt.rules_sha256) {
        return Err(Error::conflict("other_capture", "the review is of another capture: name one of the candidate's"));
    }
    if newest.is_some_and(|newest| newest.id != review.id) {
        return Err(Error::conflict(
            "review_not_newest",
            "the capture has been reviewed again since: name its newest review",
        ));
    }
    if review.disposition != Disposition::Accept {
        return Err(Error::conflict(
            "not_accepted",
            "the review rejects the capture: only an accepted one can be requested",
        ));
    }
    Ok(review)
}
