//! Reading the result of a run, by pages of checkpoints.

use pinhole_contract::{CheckpointView, GetScenarioRunResult, RunResultView};
use pinhole_core::{Actor, Error, Permission, ReceiptId, Result};
use pinhole_store::{CheckpointResult, Receipt};

use super::view::authorised;
use crate::{App, artifacts::artifact_view, page, unit::Unit};

pub(crate) async fn result(app: &App, actor: &Actor, command: GetScenarioRunResult) -> Result<RunResultView> {
    let offset = page::position::<u32>(command.cursor.as_ref())?.unwrap_or(0);
    app.read(actor, "get_scenario_run_result", move |unit, _| {
        Box::pin(async move {
            let run = authorised(unit, command.run_id, Permission::Read).await?;
            let mut found = unit.checkpoint_results(run.id, offset, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |_| offset + command.limit.get());
            let mut checkpoints = Vec::with_capacity(found.len());
            for result in found {
                checkpoints.push(checkpoint_view(unit, result).await?);
            }
            let first = offset == 0;
            let mut evidence = Vec::new();
            let mut statement = None;
            if first {
                let artifacts = unit.artifacts_of(run.id).await?;
                evidence = artifacts.iter().filter(|found| found.checkpoint.is_none()).map(artifact_view).collect();
                statement = unit.run_result(run.id).await?.map(|signed| signed.envelope);
            }
            Ok(RunResultView {
                run_id: run.id,
                state: run.state,
                verdict: run.verdict,
                pins: run.pins,
                checkpoints,
                next_cursor,
                evidence,
                statement: statement.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal)?,
            })
        })
    })
    .await
}

async fn checkpoint_view(unit: &mut Unit, result: CheckpointResult) -> Result<CheckpointView> {
    let receipt = registered(unit, result.receipt_id).await?;
    let picture = unit.artifact(receipt.picture_id).await?.ok_or_else(|| missing("picture"))?;
    let baseline = match result.baseline_receipt_id {
        None => None,
        Some(id) => {
            let picture = registered(unit, id).await?.picture_id;
            Some(unit.artifact(picture).await?.ok_or_else(|| missing("baseline picture"))?)
        }
    };
    let difference = match result.difference_id {
        None => None,
        Some(id) => Some(unit.artifact(id).await?.ok_or_else(|| missing("difference picture"))?),
    };
    Ok(CheckpointView {
        checkpoint: result.checkpoint,
        profile: result.profile,
        kind: receipt.kind,
        verdict: result.verdict,
        not_evidence: receipt.not_evidence,
        receipt_id: receipt.id,
        capture_digest: receipt.capture_sha256,
        render_digest: receipt.render_sha256,
        rules_digest: receipt.rules_sha256,
        picture: artifact_view(&picture),
        baseline_receipt_id: result.baseline_receipt_id,
        baseline: baseline.as_ref().map(artifact_view),
        difference: difference.as_ref().map(artifact_view),
        comparison: result.comparison.map(serde_json::from_value).transpose().map_err(Error::internal)?,
    })
}

async fn registered(unit: &mut Unit, id: ReceiptId) -> Result<Receipt> {
    unit.receipt(id).await?.ok_or_else(|| missing("receipt"))
}

fn missing(what: &str) -> Error {
    Error::internal(format!("a result without its {what}"))
}
