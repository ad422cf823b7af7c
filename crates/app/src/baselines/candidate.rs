//! `capture_visual_baseline` and `capture_baseline`: propose what the server registered, or what a run that they start will
//! capture. Nothing that a client says about a picture or a value gets in here: it names a receipt, or what to run.

use pinhole_contract::{CandidateView, CaptureBaseline, CaptureRun, CaptureVisualBaseline};
use pinhole_core::{
    Actor, BaselineKind, Error, IdempotencyKey, LineName, Permission, ProjectId, ReceiptId, Result, RunSelectors,
};
use pinhole_store::{Candidate, Receipt};
use serde_json::{Value, json};

use super::proposal::Proposal;
use crate::{
    App,
    idempotency::{Keyed, KeyedCall},
    readiness::check_space,
    runs,
    unit::Unit,
};

/// What is proposed, whichever operation says so.
struct Capture<'a> {
    kind: BaselineKind,
    receipt_id: Option<ReceiptId>,
    run: Option<&'a CaptureRun>,
    line: &'a LineName,
    key: Option<&'a IdempotencyKey>,
    /// The command itself: what the key stands for, unless it starts a run.
    intent: Value,
}

pub(crate) async fn capture_visual(app: &App, actor: &Actor, command: CaptureVisualBaseline) -> Result<CandidateView> {
    let capture = Capture {
        kind: BaselineKind::Visual,
        receipt_id: command.receipt_id,
        run: command.run.as_ref(),
        line: &command.line,
        key: command.idempotency_key.as_ref(),
        intent: serde_json::to_value(&command).map_err(Error::internal)?,
    };
    propose(app, actor, "capture_visual_baseline", &capture).await
}

pub(crate) async fn capture_structured(app: &App, actor: &Actor, command: CaptureBaseline) -> Result<CandidateView> {
    let capture = Capture {
        kind: BaselineKind::Structured,
        receipt_id: command.receipt_id,
        run: command.run.as_ref(),
        line: &command.line,
        key: command.idempotency_key.as_ref(),
        intent: serde_json::to_value(&command).map_err(Error::internal)?,
    };
    propose(app, actor, "capture_baseline", &capture).await
}

async fn propose(app: &App, actor: &Actor, operation: &'static str, capture: &Capture<'_>) -> Result<CandidateView> {
    if capture.receipt_id.is_some() == capture.run.is_some() {
        return Err(one_source());
    }
    let space = &app.blobs().free_space_percent();
    app.write(actor, operation, move |unit, _| {
        Box::pin(async move {
            match (capture.receipt_id, capture.run) {
                (Some(receipt), _) => of_receipt(unit, capture, receipt).await,
                (None, Some(run)) => of_run(unit, capture, run, space).await,
                (None, None) => Err(one_source()),
            }
        })
    })
    .await
}

/// Told where neither or both of the two possible sources of a capture are named.
pub(super) fn one_source() -> Error {
    Error::invalid("receipt_id", "expected either receipt_id or run")
}

async fn of_receipt(unit: &mut Unit, capture: &Capture<'_>, receipt: ReceiptId) -> Result<CandidateView> {
    let receipt = unit.receipt(receipt).await?;
    let (run, receipt) = runs::authorised_part(unit, receipt, |found| found.run_id, Permission::BaselineWrite).await?;
    let keyed = unit.keyed(capture.key, &capture.intent).await?;
    let call = match first(unit, keyed).await? {
        Ok(call) => call,
        Err(view) => return Ok(view),
    };
    check_line(unit, run.pins.project, capture.line).await?;
    if receipt.kind != capture.kind {
        let (found, wanted) = (receipt.kind, capture.kind);
        let message = format!("the receipt is of a {found} checkpoint: this operation proposes {wanted} ones");
        return Err(Error::conflict("other_kind", message));
    }
    Proposal::of_receipt(&run, &receipt, capture.line.clone())?.open(unit, call).await
}

async fn of_run(
    unit: &mut Unit,
    capture: &Capture<'_>,
    run: &CaptureRun,
    space: &Result<Option<f64>>,
) -> Result<CandidateView> {
    let order = RunSelectors::from(run);
    let needs = [Permission::BaselineWrite, Permission::RunStart];
    let admissible = runs::admissible(unit, &order, &needs).await?;
    check_space(unit.app().settings(), space)?;
    let (line, place) = (capture.line.clone(), (&run.checkpoint, &run.profile, capture.kind));
    let intent = json!({ "pins": admissible.pins, "line": line, "checkpoint": place.0, "profile": place.1 });
    let keyed = unit.keyed(capture.key, &intent).await?;
    let call = match first(unit, keyed).await? {
        Ok(call) => call,
        Err(view) => return Ok(view),
    };
    check_line(unit, admissible.project.id, &line).await?;
    Proposal::of_run(unit, admissible, line, place).await?.open(unit, call).await
}

/// The first call with its key, or as an error the candidate that a repeat finds.
pub(super) async fn first(unit: &mut Unit, keyed: Keyed) -> Result<Result<KeyedCall, CandidateView>> {
    match keyed {
        Keyed::First(call) => Ok(Ok(call)),
        Keyed::Replay(id) => {
            let candidate = unit.candidate(id.parse()?).await?.ok_or_else(Error::not_found)?;
            Ok(Err(CandidateView { replayed: true, ..candidate_view(unit, candidate).await? }))
        }
    }
}

/// `main` is there from the beginning; every other line was forked.
pub(crate) async fn check_line(unit: &mut Unit, project: ProjectId, line: &LineName) -> Result<()> {
    if *line == LineName::default() || unit.catalog_line(project, line).await?.is_some() {
        return Ok(());
    }
    Err(Error::conflict("no_such_line", format!("the project has no line {line}: fork it first")))
}

/// The receipt of a candidate that is ready.
pub(super) async fn receipt_of(unit: &mut Unit, candidate: &Candidate) -> Result<Receipt> {
    let absent = || Error::internal("a candidate without its receipt");
    let id = candidate.receipt_id.ok_or_else(absent)?;
    unit.receipt(id).await?.ok_or_else(absent)
}

/// A candidate with the entry that its key has now.
pub(super) async fn candidate_view(unit: &mut Unit, candidate: Candidate) -> Result<CandidateView> {
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
