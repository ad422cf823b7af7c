//! An approval as it is read, approvals as they are listed, and whether what one rests on still holds.

use std::{fmt, time::Duration};

use pinhole_contract::{ApprovalList, ApprovalView, DecisionView, GetApproval, ListApprovals, ListedApprovalView};
use pinhole_core::{
    Actor, ApprovalId, ApprovalIntent, ApprovalItem, ApprovalState, CandidateState, EnvironmentId, Error, Permission,
    ProjectId, Result, canonical_json_digest,
};
use pinhole_store::{Approval, ApprovalFilter, Candidate, Decision, ListedApproval};
use serde_json::json;

use crate::{App, authority::Place, page, runs::visible_environments, unit::Unit};

/// An approval with its candidates, in the order of its items; without any where an entry is to end.
pub(crate) struct Requested {
    pub(crate) approval: Approval,
    pub(crate) candidates: Vec<Candidate>,
}

/// Why an open approval can be neither decided nor consumed any more.
pub(super) enum Ended {
    Expired,
    /// What changed beneath it.
    Superseded(String),
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetApproval) -> Result<ApprovalView> {
    app.read(actor, "get_approval", move |unit, _| {
        Box::pin(async move {
            let requested = authorised(unit, command.approval_id, Permission::Read).await?;
            approval_view(unit, requested.approval).await
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListApprovals) -> Result<ApprovalList> {
    let before = page::position::<ApprovalId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_approvals", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let visible = visible_environments(unit, project.id).await?;
            let filter =
                ApprovalFilter { project: project.id, visible: visible.as_deref(), state: command.state, before };
            let mut found = unit.list_approvals(&filter, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.id);
            Ok(ApprovalList { approvals: found.into_iter().map(listed_view).collect(), next_cursor })
        })
    })
    .await
}

fn listed_view(approval: ListedApproval) -> ListedApprovalView {
    ListedApprovalView {
        id: approval.id,
        version: approval.version,
        state: approval.state,
        kind: approval.kind,
        line: approval.line,
        items: approval.items,
        intent_digest: approval.intent_sha256,
        release_label: approval.release_label,
        requested_by: approval.requested_by,
        created_at: approval.created_at,
        expires_at: approval.expires_at,
        consumed_revision: approval.consumed_revision,
    }
}

/// The approval, if the actor may see it and has `permission` in the environments of all its items.
pub(crate) async fn authorised(unit: &mut Unit, id: ApprovalId, permission: Permission) -> Result<Requested> {
    let approval = unit.approval(id).await?;
    let environments = unit.environments_of_approval(id).await?;
    let place_of = |approval: &Approval| Place::environments(approval.project_id, environments);
    let approval = unit.authorised(approval, place_of, permission).await?;
    let candidates = unit.candidates_of(id).await?;
    let expected = if approval.intent.kind.is_baseline() { approval.intent.items.len() } else { 0 };
    if candidates.len() != expected {
        return Err(Error::internal(format!("{id} has other candidates than items")));
    }
    Ok(Requested { approval, candidates })
}

/// Refuses what is not pending.
pub(super) fn check_pending(approval: &Approval) -> Result<()> {
    if approval.state == ApprovalState::Pending {
        return Ok(());
    }
    let message = format!("the approval is {}: only a pending one can be decided", approval.state);
    Err(Error::conflict("not_pending", message))
}

/// Opens an approval of `intent`, whose items are in `environments` in their order, and tells of it.
pub(super) async fn open(
    unit: &mut Unit,
    project: ProjectId,
    intent: ApprovalIntent,
    lifetime: Duration,
    environments: &[EnvironmentId],
) -> Result<Approval> {
    let approval = Approval {
        id: ApprovalId::from_uuid(unit.uuid()),
        project_id: project,
        line: intent.line.clone(),
        version: 1,
        state: ApprovalState::Pending,
        intent_sha256: canonical_json_digest(&intent)?,
        policy_revision: intent.policy_revision,
        intent,
        requested_by: unit.actor().principal,
        created_at: unit.now(),
        expires_at: unit.now().plus(lifetime),
        consumed_revision: None,
    };
    unit.insert_approval(&approval, environments).await?;
    let detail = json!({ "intent": approval.intent_sha256 });
    unit.audit_with_event("approval.requested", project, approval.id, detail).await?;
    Ok(approval)
}

/// Looks whether a pending or approved request has ended without anybody having recorded it.
pub(super) async fn ended(unit: &mut Unit, requested: &Requested) -> Result<Option<Ended>> {
    let Requested { approval, candidates } = requested;
    if approval.expires_at <= unit.now() {
        return Ok(Some(Ended::Expired));
    }
    for (item, candidate) in approval.intent.items.iter().zip(candidates) {
        if let Some(what) = changed_candidate(unit, item, candidate).await? {
            return Ok(Some(Ended::Superseded(what)));
        }
    }
    for item in &approval.intent.items {
        if let Some(what) = changed_entry(unit, approval, item).await? {
            return Ok(Some(Ended::Superseded(what)));
        }
    }
    Ok(None)
}

async fn changed_candidate(unit: &mut Unit, item: &ApprovalItem, candidate: &Candidate) -> Result<Option<String>> {
    let Some(receipt) = candidate.receipt_id.filter(|_| candidate.state == CandidateState::Ready) else {
        return Ok(Some(format!("{} is {}", candidate.id, candidate.state)));
    };
    let newest = unit.newest_review(receipt).await?.map(|review| review.id);
    if item.review.is_some() && item.review != newest {
        return Ok(Some(format!("{receipt} has been reviewed again")));
    }
    Ok(None)
}

async fn changed_entry(unit: &mut Unit, approval: &Approval, item: &ApprovalItem) -> Result<Option<String>> {
    let project = approval.project_id;
    let current = unit.active_entry(project, &item.key).await?.map(|entry| entry.sha256);
    if current != item.current_entry {
        return Ok(Some(format!("{} has another entry now", item.key.path())));
    }
    // No two entries are equal, but a key without one may have had one meanwhile.
    if current.is_none() && unit.entry_ended_after(project, &item.key, approval.created_at).await? {
        return Ok(Some(format!("{} has had an entry since", item.key.path())));
    }
    Ok(None)
}

/// Records that an open approval has ended, and answers with the conflict to tell the caller. It is told as a value:
/// an error would take the record back.
pub(super) async fn end(unit: &mut Unit, approval: &Approval, ended: Ended) -> Result<Error> {
    let state = match ended {
        Ended::Expired => ApprovalState::Expired,
        Ended::Superseded(_) => ApprovalState::Superseded,
    };
    move_on(unit, approval, state, None).await?;
    let message = format!("the approval can be used no more: {ended}");
    let detail = json!({ "state": state, "because": ended.to_string() });
    unit.audit_with_event(&format!("approval.{state}"), approval.project_id, approval.id, detail).await?;
    Ok(Error::conflict(state.as_str(), message))
}

/// Writes the next version of an approval.
pub(super) async fn move_on(
    unit: &mut Unit,
    approval: &Approval,
    state: ApprovalState,
    consumed_revision: Option<u32>,
) -> Result<()> {
    if unit.move_approval(approval.id, approval.version, state, consumed_revision).await? {
        return Ok(());
    }
    // This transaction read the version itself, so only a concurrent one can have been faster.
    Err(Error::transient("an approval changed beneath its transaction"))
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("its lifetime has run out; request it again"),
            Self::Superseded(what) => write!(f, "{what}; request it again"),
        }
    }
}

/// The approval with its decisions. One whose lifetime has run out is shown as expired, recorded or not.
pub(super) async fn approval_view(unit: &mut Unit, approval: Approval) -> Result<ApprovalView> {
    let decisions = unit.decisions_of(approval.id).await?.into_iter().map(decision_view).collect();
    let open = matches!(approval.state, ApprovalState::Pending | ApprovalState::Approved);
    let expired = open && approval.expires_at <= unit.now();
    Ok(ApprovalView {
        id: approval.id,
        version: approval.version,
        state: if expired { ApprovalState::Expired } else { approval.state },
        kind: approval.intent.kind,
        intent: approval.intent,
        intent_digest: approval.intent_sha256,
        requested_by: approval.requested_by,
        created_at: approval.created_at,
        expires_at: approval.expires_at,
        decisions,
        consumed_revision: approval.consumed_revision,
        replayed: false,
    })
}

fn decision_view(decision: Decision) -> DecisionView {
    DecisionView {
        id: decision.id,
        outcome: decision.outcome,
        reason: decision.reason,
        principal: decision.principal_id,
        via: decision.via,
        created_at: decision.created_at,
    }
}
