//! `request_baseline_approval`: asks a person to approve candidates that were captured and reviewed.

use std::collections::BTreeSet;

use pinhole_contract::{ApprovalRequestItem, ApprovalView, RequestBaselineApproval};
use pinhole_core::{Actor, EnvironmentId, Error, Permission, Result};
use pinhole_store::{Candidate, Project};
use uuid::Uuid;

use super::{
    approval::{approval_view, open},
    authorise_authorship,
    candidate::check_line,
    intent::{Items, Terms, bind, check_remote, item},
    policy::Policy,
};
use crate::{App, authority::Place, idempotency::Keyed, unit::Unit};

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
            let items = items(unit, command, &candidates).await?;
            let (intent, environments) = bind(terms(command), items, &policy)?;
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

fn terms(command: &RequestBaselineApproval) -> Terms<'_> {
    Terms {
        line: &command.line,
        release_label: command.release_label.as_ref(),
        publication: command.publication.as_ref(),
        promoted_from: None,
    }
}

async fn items(unit: &mut Unit, command: &RequestBaselineApproval, candidates: &[Candidate]) -> Result<Items> {
    let mut items = Vec::with_capacity(candidates.len());
    for (index, (candidate, named)) in candidates.iter().zip(&command.items).enumerate() {
        items.push(item(unit, &command.line, candidate, named.review_id).await.map_err(|error| at(index, error))?);
    }
    Ok(items)
}

/// Names the item in what is told about it.
fn at(index: usize, error: Error) -> Error {
    let message = format!("items[{index}]: {}", error.message());
    error.with_message(message)
}
