//! `request_baseline_approval`: binds candidates, their reviews and the entries that they would replace into one intent,
//! whose digest is what a person decides on.

use std::collections::BTreeSet;

use pinhole_contract::{ApprovalRequestItem, ApprovalView, RequestBaselineApproval};
use pinhole_core::{
    Actor, ApprovalIntent, ApprovalItem, ApprovalKind, BaselineKind, CandidateState, Disposition, EnvironmentId, Error,
    Permission, PublicationIntent, Result, ReviewId,
};
use pinhole_store::{Candidate, Project, Review};
use uuid::Uuid;

use super::{
    approval::{approval_view, open},
    authorise_authorship,
    candidate::{check_line, receipt_of},
    policy::Policy,
};
use crate::{App, authority::Place, idempotency::Keyed, publications::check_branch, unit::Unit};

pub(crate) async fn request(app: &App, actor: &Actor, command: RequestBaselineApproval) -> Result<ApprovalView> {
    check_different(&command.items)?;
    let command = &command;
    app.write(actor, "request_baseline_approval", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let candidates = load(unit, &project, &command.items).await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let approval = unit.approval(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(ApprovalView { replayed: true, ..approval_view(unit, approval).await? });
                }
            };
            check_line(unit, project.id, &command.line).await?;
            check_remote(unit, command.publication.as_ref()).await?;
            let policy = Policy::present(unit, project.id).await?;
            let (intent, environments) = intent(unit, command, &candidates, policy.revision).await?;
            let approval = open(unit, project.id, intent, policy.lifetime, &environments).await?;
            unit.remember(call, approval.id).await?;
            approval_view(unit, approval).await
        })
    })
    .await
}

fn check_different(items: &[ApprovalRequestItem]) -> Result<()> {
    let mut seen = BTreeSet::new();
    match items.iter().position(|item| !seen.insert(item.candidate_id)) {
        Some(index) => Err(Error::invalid(format!("items[{index}].candidate_id"), "expected different candidates")),
        None => Ok(()),
    }
}

/// The candidates in the order of the items, if the actor may request them.
async fn load(unit: &mut Unit, project: &Project, items: &[ApprovalRequestItem]) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::with_capacity(items.len());
    for item in items {
        let found = unit.candidate(item.candidate_id).await?;
        // One of another project looks like none at all.
        candidates.push(found.filter(|found| found.project_id == project.id));
    }
    let nowhere = EnvironmentId::from_uuid(Uuid::nil());
    let environments: BTreeSet<_> =
        candidates.iter().map(|found| found.as_ref().map_or(nowhere, |found| found.environment_id)).collect();
    unit.authorise_at(&Place::environments(project.id, environments), Permission::BaselineWrite).await?;
    let candidates = candidates.into_iter().collect::<Option<Vec<_>>>().ok_or_else(Error::not_found)?;
    authorise_authorship(unit, project.id, &candidates).await?;
    Ok(candidates)
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

/// What is to be approved, and the environment of each item.
async fn intent(
    unit: &mut Unit,
    command: &RequestBaselineApproval,
    candidates: &[Candidate],
    policy_revision: u32,
) -> Result<(ApprovalIntent, Vec<EnvironmentId>)> {
    let mut items = Vec::with_capacity(candidates.len());
    for (index, (candidate, item)) in candidates.iter().zip(&command.items).enumerate() {
        let item = resolve(unit, command, candidate, item.review_id).await.map_err(|e| at(index, e))?;
        items.push((item, candidate.environment_id));
    }
    items.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
    let (items, environments): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    if let Some((one, _)) = items.iter().zip(items.iter().skip(1)).find(|(a, b)| a.key == b.key) {
        let message = format!("two items are for {}: an approval has one for each key", one.key.path());
        return Err(Error::conflict("same_key", message));
    }
    let intent = ApprovalIntent {
        kind: ApprovalKind::Baseline,
        items,
        line: command.line.clone(),
        policy_revision,
        release_label: command.release_label.clone(),
        publication: command.publication.clone(),
        reason: None,
        promoted_from: None,
    };
    Ok((intent, environments))
}

/// Names the item in what is told about it.
fn at(index: usize, error: Error) -> Error {
    let message = format!("items[{index}]: {}", error.message());
    error.with_message(message)
}

/// One item as it is decided on: a ready candidate, of a picture with its newest, accepting review.
async fn resolve(
    unit: &mut Unit,
    command: &RequestBaselineApproval,
    candidate: &Candidate,
    review: Option<ReviewId>,
) -> Result<ApprovalItem> {
    if candidate.state != CandidateState::Ready {
        return Err(Error::conflict(
            "candidate_not_ready",
            format!("the candidate is {}: only a ready one can be requested", candidate.state),
        ));
    }
    if candidate.key.line != command.line {
        let message = format!("the candidate is for line {}, the request for {}", candidate.key.line, command.line);
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
    Ok(ApprovalItem {
        key: candidate.key.clone(),
        candidate: Some(candidate.id),
        capture_digest,
        review,
        current_entry: current.map(|entry| entry.sha256),
    })
}

/// The newest review of the candidate's capture, which accepts it; when one is named, it has to be that one.
pub(super) async fn accepting_review(
    unit: &mut Unit,
    candidate: &Candidate,
    named: Option<ReviewId>,
) -> Result<Review> {
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
