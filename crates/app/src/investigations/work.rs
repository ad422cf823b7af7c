//! Working on a case: claim it, add findings, dispose it.

use pinhole_contract::{AddFinding, CaseView, ClaimInvestigation, DisposeInvestigation};
use pinhole_core::{Actor, CaseDisposition, CaseId, CaseState, Error, FindingId, Permission, Result};
use pinhole_store::{Case, CaseQueue, Finding};
use serde_json::{Value, json};

use super::read::view;
use crate::{App, authority::Place, idempotency::expect_version, unit::Unit};

/// The greatest number of findings of a case.
const MAX_FINDINGS: u32 = 1000;

pub(crate) async fn claim(app: &App, actor: &Actor, command: ClaimInvestigation) -> Result<CaseView> {
    let ClaimInvestigation { case_id, expected_version } = command;
    app.write(actor, "claim_investigation", move |unit, _| {
        Box::pin(async move {
            let before = authorised(unit, case_id).await?;
            expect_version(expected_version, before.version)?;
            match before.state {
                CaseState::Open => {}
                CaseState::Claimed => {
                    return Err(Error::conflict("claimed", "somebody works on the case: take another"));
                }
                CaseState::Disposed => return Err(disposed()),
            }
            let claimed_by = Some(unit.actor().principal);
            let after = Case { state: CaseState::Claimed, claimed_by, ..next(unit, before) };
            save(unit, &after).await?;
            move_in_queue(unit, &after, Moved::Claimed).await?;
            audit(unit, &after, json!({ "version": after.version, "state": after.state })).await?;
            view(unit, after).await
        })
    })
    .await
}

pub(crate) async fn add_finding(app: &App, actor: &Actor, command: AddFinding) -> Result<CaseView> {
    let command = &command;
    app.write(actor, "add_finding", move |unit, _| {
        Box::pin(async move {
            let before = authorised(unit, command.case_id).await?;
            expect_version(command.expected_version, before.version)?;
            if before.state == CaseState::Disposed {
                return Err(disposed());
            }
            let (_, findings) = unit.count_of_case(before.id).await?;
            if findings >= MAX_FINDINGS {
                return Err(Error::too_large("findings", MAX_FINDINGS.into()));
            }
            let finding = Finding {
                id: FindingId::from_uuid(unit.uuid()),
                case_id: before.id,
                author: unit.actor().principal,
                body: command.text.clone(),
                created_at: unit.now(),
            };
            unit.insert_finding(&finding).await?;
            let after = next(unit, before);
            save(unit, &after).await?;
            audit(unit, &after, json!({ "version": after.version, "finding": finding.id })).await?;
            view(unit, after).await
        })
    })
    .await
}

pub(crate) async fn dispose(app: &App, actor: &Actor, command: DisposeInvestigation) -> Result<CaseView> {
    let is_duplicate = command.disposition == CaseDisposition::Duplicate;
    if is_duplicate != command.duplicate_of.is_some() || command.duplicate_of == Some(command.case_id) {
        return Err(Error::invalid("duplicate_of", "expected another case of a duplicate, and nothing of others"));
    }
    let command = &command;
    app.write(actor, "dispose_investigation", move |unit, _| {
        Box::pin(async move {
            let before = authorised(unit, command.case_id).await?;
            if let Some(other) = command.duplicate_of
                && authorised(unit, other).await?.project_id != before.project_id
            {
                return Err(Error::conflict("other_project", "a duplicate is of a case of the same project"));
            }
            expect_version(command.expected_version, before.version)?;
            match before.state {
                CaseState::Claimed => {}
                CaseState::Open => return Err(Error::conflict("not_claimed", "claim the case before you dispose it")),
                CaseState::Disposed => return Err(disposed()),
            }
            let after = Case {
                state: CaseState::Disposed,
                disposition: Some(command.disposition),
                duplicate_of: command.duplicate_of,
                reason: Some(command.reason.clone()),
                disposed_by: Some(unit.actor().principal),
                ..next(unit, before)
            };
            save(unit, &after).await?;
            move_in_queue(unit, &after, Moved::Out).await?;
            let detail = json!({ "version": after.version, "state": after.state, "disposition": after.disposition });
            audit(unit, &after, detail).await?;
            view(unit, after).await
        })
    })
    .await
}

/// How a case moves in its queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moved {
    /// It begins to wait.
    In,
    /// Somebody takes it.
    Claimed,
    /// It ends.
    Out,
}

/// Changes the counts of a case's queue with the case.
pub(super) async fn move_in_queue(unit: &mut Unit, case: &Case, moved: Moved) -> Result<()> {
    let found = unit.case_queue(case.environment_id, &case.queue).await?;
    let before = found.unwrap_or_else(|| empty_queue(case));
    let fewer = |count: u32| count.checked_sub(1).ok_or_else(|| Error::internal("a queue without its case"));
    let (waiting, claimed) = match moved {
        Moved::In => (before.waiting + 1, before.claimed),
        Moved::Claimed => (fewer(before.waiting)?, before.claimed + 1),
        Moved::Out => (before.waiting, fewer(before.claimed)?),
    };
    let after = CaseQueue { waiting, claimed, version: before.version + 1, ..before };
    if unit.save_case_queue(&after).await? {
        return Ok(());
    }
    Err(Error::transient("the queue changed within the transaction"))
}

/// The queue before it had its first case.
pub(super) fn empty_queue(case: &Case) -> CaseQueue {
    CaseQueue { environment_id: case.environment_id, name: case.queue.clone(), waiting: 0, claimed: 0, version: 0 }
}

/// The case, if the actor investigates in its environment.
pub(super) async fn authorised(unit: &mut Unit, id: CaseId) -> Result<Case> {
    let found = unit.case(id).await?;
    let place = |case: &Case| Place::environments(case.project_id, [case.environment_id]);
    unit.authorised(found, place, Permission::InvestigationWrite).await
}

/// The case at its next version.
fn next(unit: &Unit, before: Case) -> Case {
    Case { version: before.version + 1, updated_at: unit.now(), ..before }
}

/// Stores a case at the version after the one that was read.
pub(super) async fn save(unit: &mut Unit, after: &Case) -> Result<()> {
    if unit.save_case(after.version - 1, after).await? {
        return Ok(());
    }
    Err(Error::transient("the case changed within the transaction"))
}

pub(super) async fn audit(unit: &mut Unit, case: &Case, detail: Value) -> Result<()> {
    unit.audit(Some(case.project_id), Some(case.id.to_string()), detail).await
}

fn disposed() -> Error {
    Error::conflict("disposed", "the case has ended: the same failure opens another one")
}
