//! `decide_approval`: one person's yes or no to one version of one intent. A denial ends the request and changes nothing
//! else.

use std::collections::BTreeSet;

use pinhole_contract::{ApprovalView, DecideApproval};
use pinhole_core::{Actor, ApprovalState, DecisionId, Error, Outcome, Permission, Result, Via};
use pinhole_receipt::ApprovalDecision;
use pinhole_store::{Approval, Decision};
use serde_json::json;

use super::{
    approval::{Requested, approval_view, authorised, check_pending, end, ended, move_on},
    policy::Policy,
};
use crate::{App, authority::DecisionClaim, idempotency::expect_version, unit::Unit};

pub(crate) async fn decide(app: &App, actor: &Actor, command: DecideApproval) -> Result<ApprovalView> {
    let command = &command;
    let decided = app.write(actor, "decide_approval", move |unit, _| {
        Box::pin(async move {
            let requested = authorised(unit, command.approval_id, Permission::ApprovalDecide).await?;
            let approval = &requested.approval;
            let via = human_authority(unit, command, approval).await?;
            expect_version(command.expected_version, approval.version)?;
            check_pending(approval)?;
            if let Some(ended) = ended(unit, &requested).await? {
                return Ok(Err(end(unit, approval, ended).await?));
            }
            let policy = Policy::at(unit, approval.project_id, approval.policy_revision).await?;
            let two_persons = check_persons(unit, &policy, &requested).await?;
            let before = unit.decisions_of(approval.id).await?;
            if before.iter().any(|decision| decision.principal_id == unit.actor().principal) {
                return Err(Error::conflict("already_decided", "each person decides once"));
            }
            let decision = sign(unit, command, approval, (&policy, two_persons), via).await?;
            unit.insert_decision(&decision).await?;
            let approvals = 1 + before.iter().filter(|decision| decision.outcome == Outcome::Approve).count();
            let state = match command.outcome {
                Outcome::Deny => ApprovalState::Denied,
                Outcome::Approve if approvals >= policy.quorum as usize => ApprovalState::Approved,
                Outcome::Approve => ApprovalState::Pending,
            };
            move_on(unit, approval, state, None).await?;
            record(unit, approval, &decision, state).await?;
            let approval = unit.approval(approval.id).await?.ok_or_else(Error::not_found)?;
            approval_view(unit, approval).await.map(Ok)
        })
    });
    decided.await.flatten()
}

/// A ticket is for the version that the caller names, so that a stale one is told as stale and not as another's.
async fn human_authority(unit: &mut Unit, command: &DecideApproval, approval: &Approval) -> Result<Via> {
    let claim = DecisionClaim {
        ticket: command.ticket.as_deref(),
        object: approval.id.to_string(),
        version: command.expected_version.unwrap_or(approval.version),
        intent: approval.intent_sha256,
        outcome: command.outcome.as_str(),
        reason: &command.reason,
    };
    unit.human_authority(&claim).await
}

/// Refuses the requester, the authors and the owners of services among them where two persons are asked for; answers whether they were.
async fn check_persons(unit: &mut Unit, policy: &Policy, requested: &Requested) -> Result<bool> {
    let two_persons = policy.two_persons(unit, requested.approval.project_id).await?;
    if two_persons && is_involved(unit, requested).await? {
        return Err(Error::permission_denied("two_persons").with_message(
            "not allowed: a requester, an author, or the owner of a service that is either, does not decide where two \
             persons are asked for",
        ));
    }
    Ok(two_persons)
}

/// Whether the actor requested it or proposed a part of it, or owns a service that did.
async fn is_involved(unit: &mut Unit, requested: &Requested) -> Result<bool> {
    let decider = unit.actor().principal;
    let authors = requested.candidates.iter().map(|candidate| candidate.author);
    let involved: BTreeSet<_> = authors.chain([requested.approval.requested_by]).collect();
    if involved.contains(&decider) {
        return Ok(true);
    }
    for principal in involved {
        let found = unit.principal(principal).await?;
        if found.is_some_and(|found| found.owner_id == Some(decider)) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn sign(
    unit: &mut Unit,
    command: &DecideApproval,
    approval: &Approval,
    (policy, two_persons): (&Policy, bool),
    via: Via,
) -> Result<Decision> {
    let project = unit.project(approval.project_id).await?;
    let project = project.ok_or_else(|| Error::internal("an approval without its project"))?;
    let actor = unit.actor().principal;
    let decider = unit.principal(actor).await?.ok_or_else(Error::unauthenticated)?;
    let statement = ApprovalDecision {
        decision: DecisionId::from_uuid(unit.uuid()),
        approval: approval.id,
        version: approval.version,
        project: project.slug,
        intent: approval.intent.clone(),
        intent_digest: approval.intent_sha256,
        outcome: command.outcome,
        reason: command.reason.clone(),
        principal: decider.id,
        publication_name: decider.name,
        via,
        two_persons,
        quorum: policy.quorum,
        decided_at: unit.now(),
    };
    Ok(Decision {
        id: statement.decision,
        approval_id: approval.id,
        project_id: approval.project_id,
        outcome: command.outcome,
        reason: command.reason.clone(),
        principal_id: statement.principal,
        via,
        envelope: unit.signed(&statement)?,
        created_at: unit.now(),
    })
}

async fn record(unit: &mut Unit, approval: &Approval, decision: &Decision, state: ApprovalState) -> Result<()> {
    let detail = json!({
        "decision": decision.id,
        "outcome": decision.outcome,
        "via": decision.via,
        "version": approval.version,
        "intent": approval.intent_sha256,
        "state": state,
    });
    unit.audit_with_event("approval.decided", approval.project_id, approval.id, detail).await
}
