//! What failed in a run, as the server's own rows say it.

use pinhole_core::{
    CheckpointVerdict, Error, FailedCell, FailedCheckpoint, FailureSignature, Result, RunState, RunVerdict,
};
use pinhole_scenario::Scenario;
use pinhole_store::Run;

use crate::unit::Unit;

/// As many checkpoints as a run can have.
const MAX_RESULTS: usize = Scenario::MAX_ROWS * (Scenario::MAX_CAPTURES + Scenario::MAX_EXTRACTS);

/// The signature of a run that failed.
///
/// # Errors
/// `conflict` when it goes on, passed, or was ended by somebody.
pub(super) async fn signature_of(unit: &mut Unit, run: &Run) -> Result<FailureSignature> {
    check_failed(run)?;
    let mut failures = Vec::new();
    let mut assertions = Vec::new();
    for cell in unit.cells_of(run.id).await? {
        assertions.extend(cell.failed_assertions.iter().map(|failed| (cell.name.clone(), failed.step)));
        if let Some(failure) = cell.failure {
            failures.push(FailedCell { cell: cell.name, reason: failure.reason, step: failure.step });
        }
    }
    let results = unit.checkpoint_results(run.id, 0, u32::try_from(MAX_RESULTS).unwrap_or(u32::MAX)).await?;
    let differs = results.into_iter().filter(|result| result.verdict != CheckpointVerdict::Matched);
    let checkpoint = |result: pinhole_store::CheckpointResult| FailedCheckpoint {
        checkpoint: result.checkpoint,
        profile: result.profile,
        verdict: result.verdict,
    };
    Ok(FailureSignature {
        scenario: run.pins.scenario,
        environment: run.pins.environment,
        verdict: run.verdict,
        failures,
        assertions,
        checkpoints: differs.map(checkpoint).collect(),
    })
}

fn check_failed(run: &Run) -> Result<()> {
    match (run.state, run.verdict) {
        (RunState::Completed, Some(RunVerdict::Passed)) => {
            Err(Error::conflict("no_failure", "the run passed: there is nothing to investigate"))
        }
        (RunState::Failed | RunState::Completed, _) => Ok(()),
        (RunState::Cancelled | RunState::Expired, _) => {
            Err(Error::conflict("no_failure", "the run was ended before it could fail"))
        }
        _ => Err(Error::conflict("not_ended", "the run goes on: wait until it has ended")),
    }
}
