//! `capture_visual_baseline` and `capture_baseline`: propose what the server registered. Nothing that a client says about
//! a picture or a value gets in here; the receipt's id is all it gives.

use pinhole_contract::{CandidateView, CaptureBaseline, CaptureVisualBaseline};
use pinhole_core::{
    Actor, BaselineKey, BaselineKind, CandidateId, CandidateState, Error, IdempotencyKey, LineName, Permission,
    ProjectId, ReceiptId, Result, RunState,
};
use pinhole_store::{Candidate, Receipt, Run};
use serde::Serialize;
use serde_json::json;

use crate::{App, idempotency::Keyed, runs, unit::Unit};

/// What is proposed, whichever operation says so.
struct Proposal<'a, C> {
    operation: &'static str,
    kind: BaselineKind,
    receipt: ReceiptId,
    line: &'a LineName,
    key: Option<&'a IdempotencyKey>,
    /// The command itself: the intent that the key stands for.
    command: &'a C,
}

pub(crate) async fn capture_visual(app: &App, actor: &Actor, command: CaptureVisualBaseline) -> Result<CandidateView> {
    let proposal = Proposal {
        operation: "capture_visual_baseline",
        kind: BaselineKind::Visual,
        receipt: command.receipt_id,
        line: &command.line,
        key: command.idempotency_key.as_ref(),
        command: &command,
    };
    propose(app, actor, &proposal).await
}

pub(crate) async fn capture_structured(app: &App, actor: &Actor, command: CaptureBaseline) -> Result<CandidateView> {
    let proposal = Proposal {
        operation: "capture_baseline",
        kind: BaselineKind::Structured,
        receipt: command.receipt_id,
        line: &command.line,
        key: command.idempotency_key.as_ref(),
        command: &command,
    };
    propose(app, actor, &proposal).await
}

async fn propose<C: Serialize + Sync>(app: &App, actor: &Actor, proposal: &Proposal<'_, C>) -> Result<CandidateView> {
    app.write(actor, proposal.operation, move |unit, _| {
        Box::pin(async move {
            let receipt = unit.receipt(proposal.receipt).await?;
            let (run, receipt) =
                runs::authorised_part(unit, receipt, |found| found.run_id, Permission::BaselineWrite).await?;
            let call = match unit.keyed(proposal.key, proposal.command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    unit.unaudited();
                    let candidate = unit.candidate(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(CandidateView { replayed: true, ..candidate_view(unit, candidate).await? });
                }
            };
            check_line(unit, run.pins.project, proposal.line).await?;
            check_kind(&receipt, proposal.kind)?;
            check_evidence(&run, &receipt)?;
            let candidate = Candidate {
                id: CandidateId::from_uuid(unit.uuid()),
                project_id: run.pins.project,
                environment_id: run.pins.environment,
                key: key_of(&run, &receipt, proposal.line.clone()),
                run_id: run.id,
                receipt_id: Some(receipt.id),
                replaces: None,
                reason: None,
                state: CandidateState::Ready,
                author: unit.actor().principal,
                created_at: unit.now(),
            };
            unit.insert_candidate(&candidate).await?;
            unit.remember(call, candidate.id).await?;
            let (project, id) = (candidate.project_id, candidate.id.to_string());
            let detail = json!({ "key": candidate.key, "receipt": receipt.id, "capture": receipt.capture_sha256 });
            unit.audit(Some(project), Some(id.clone()), detail).await?;
            unit.event("candidate.ready", project, id, json!({ "candidate": candidate.id })).await?;
            candidate_view(unit, candidate).await
        })
    })
    .await
}

/// A picture is proposed by one operation, values by another: what is asked for is what one gets.
fn check_kind(receipt: &Receipt, kind: BaselineKind) -> Result<()> {
    if receipt.kind == kind {
        return Ok(());
    }
    let message = format!("the receipt is of a {} checkpoint: this operation proposes {kind} ones", receipt.kind);
    Err(Error::conflict("other_kind", message))
}

/// `main` is there from the beginning; every other line was forked.
pub(super) async fn check_line(unit: &mut Unit, project: ProjectId, line: &LineName) -> Result<()> {
    if *line == LineName::default() || unit.catalog_line(project, line).await?.is_some() {
        return Ok(());
    }
    Err(Error::conflict("no_such_line", format!("the project has no line {line}: fork it first")))
}

fn check_evidence(run: &Run, receipt: &Receipt) -> Result<()> {
    if run.trigger == runs::Trigger::TRY {
        return Err(Error::conflict("reference_only", "a capture of a trial run is a reference and never a baseline"));
    }
    if run.state != RunState::Completed {
        let message = format!("the run is {}: only captures of a completed run can become baselines", run.state);
        return Err(Error::conflict("run_not_completed", message));
    }
    if !receipt.not_evidence.is_empty() {
        return Err(Error::conflict("not_evidence", "the capture is not evidence: its receipt says why"));
    }
    Ok(())
}

fn key_of(run: &Run, receipt: &Receipt, line: LineName) -> BaselineKey {
    BaselineKey {
        line,
        scenario: run.pins.scenario_slug.clone(),
        environment: run.pins.environment_slug.clone(),
        checkpoint: receipt.checkpoint.clone(),
        profile: receipt.profile.clone(),
        kind: receipt.kind,
    }
}

/// The receipt of a candidate that is ready.
pub(super) async fn receipt_of(unit: &mut Unit, candidate: &Candidate) -> Result<Receipt> {
    let absent = || Error::internal("a candidate without its receipt");
    let id = candidate.receipt_id.ok_or_else(absent)?;
    unit.receipt(id).await?.ok_or_else(absent)
}

async fn candidate_view(unit: &mut Unit, candidate: Candidate) -> Result<CandidateView> {
    let receipt = match candidate.receipt_id {
        None => None,
        Some(_) => Some(receipt_of(unit, &candidate).await?),
    };
    let current = unit.active_entry(candidate.project_id, &candidate.key).await?;
    Ok(CandidateView {
        id: candidate.id,
        key: candidate.key,
        run_id: candidate.run_id,
        receipt_id: candidate.receipt_id,
        capture_digest: receipt.map(|receipt| receipt.capture_sha256),
        state: candidate.state,
        replaces: candidate.replaces,
        reason: candidate.reason,
        current_entry: current.map(|entry| entry.sha256),
        author: candidate.author,
        created_at: candidate.created_at,
        replayed: false,
    })
}
