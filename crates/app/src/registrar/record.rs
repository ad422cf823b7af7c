//! Recording: artifacts, signed receipts and results in one transaction, guarded by the cell's state and attempt.

use pinhole_core::{ArtifactRef, CellFailure, Error, ReceiptId, Result, RunState, Slug};
use pinhole_receipt::CaptureReceipt;
use pinhole_store::{Artifact, Cell, CheckpointResult, Receipt};
use serde_json::json;

use super::{
    Registration,
    intake::{Taken, TakenCheckpoint},
};
use crate::{App, unit::Unit};

impl App {
    pub(super) async fn record(&self, registration: &Registration, taken: &Taken) -> Result<()> {
        let actor = self.system_actor();
        self.write(&actor, "register_cell", move |unit, _| {
            Box::pin(async move {
                let submission = &registration.submission;
                let mut cell = registration.cell.clone();
                cell.state = if submission.failure.is_some() { RunState::Failed } else { RunState::Completed };
                cell.failure.clone_from(&submission.failure);
                cell.failed_assertions.clone_from(&submission.failed_assertions);
                cell.finished_at = Some(unit.now());
                if !unit.finish_cell(&cell, RunState::Registering).await? {
                    // Somebody else registered it; what we stored is keyed by content and harms nobody.
                    unit.unaudited();
                    return Ok(());
                }
                insert_rows(unit, registration, taken).await?;
                let project = registration.run.pins.project;
                let detail = json!({ "run": cell.run_id, "attempt": cell.attempt, "state": cell.state });
                unit.audit(Some(project), Some(cell.id.to_string()), detail).await?;
                unit.conclude_run(cell.run_id).await
            })
        })
        .await
    }

    /// Ends a cell as failed, from `expected`, and its run with it when it was the last.
    pub(crate) async fn fail_cell(&self, cell: &Cell, expected: RunState, failure: CellFailure) -> Result<()> {
        let actor = self.system_actor();
        let failure = &failure;
        self.write(&actor, "fail_cell", move |unit, _| {
            Box::pin(async move {
                let failed = Cell {
                    state: RunState::Failed,
                    failure: Some(failure.clone()),
                    finished_at: Some(unit.now()),
                    ..cell.clone()
                };
                if !unit.finish_cell(&failed, expected).await? {
                    unit.unaudited();
                    return Ok(());
                }
                if let Some(token) = cell.claim_token {
                    unit.end_attempt(cell.id, token, "lost", Some(failure)).await?;
                }
                let run = unit.run(cell.run_id).await?.ok_or_else(|| Error::internal("a cell without its run"))?;
                let detail = json!({ "run": run.id, "attempt": cell.attempt, "failure": failure });
                unit.audit(Some(run.pins.project), Some(cell.id.to_string()), detail).await?;
                unit.conclude_run(run.id).await
            })
        })
        .await
    }
}

async fn insert_rows(unit: &mut Unit, registration: &Registration, taken: &Taken) -> Result<()> {
    for reference in &taken.evidence {
        insert_artifact(unit, registration, reference, None).await?;
    }
    for (ordinal, checkpoint) in (0..).zip(&taken.checkpoints) {
        insert_artifact(unit, registration, &checkpoint.content, Some(&checkpoint.name)).await?;
        if let Some(difference) = &checkpoint.compared.difference {
            insert_artifact(unit, registration, difference, Some(&checkpoint.name)).await?;
        }
        let receipt = insert_receipt(unit, registration, checkpoint).await?;
        let compared = &checkpoint.compared;
        let comparison = compared.comparison.as_ref().map(serde_json::to_value).transpose();
        let result = CheckpointResult {
            run_id: registration.run.id,
            cell_id: registration.cell.id,
            ordinal,
            checkpoint: checkpoint.name.clone(),
            profile: registration.cell.name.clone(),
            receipt_id: receipt,
            verdict: compared.verdict,
            baseline_receipt_id: compared.baseline,
            comparison: comparison.map_err(Error::internal)?,
            difference_id: compared.difference.as_ref().map(|difference| difference.id),
        };
        unit.insert_checkpoint_result(&result).await?;
    }
    Ok(())
}

async fn insert_artifact(
    unit: &mut Unit,
    registration: &Registration,
    reference: &ArtifactRef,
    checkpoint: Option<&Slug>,
) -> Result<()> {
    let artifact = Artifact {
        reference: reference.clone(),
        project_id: registration.run.pins.project,
        run_id: registration.run.id,
        cell_id: registration.cell.id,
        attempt: registration.cell.attempt,
        checkpoint: checkpoint.cloned(),
        created_at: unit.now(),
    };
    unit.insert_artifact(&artifact).await
}

/// Signs and stores the receipt of one checkpoint.
async fn insert_receipt(unit: &mut Unit, registration: &Registration, taken: &TakenCheckpoint) -> Result<ReceiptId> {
    let Registration { cell, run, .. } = registration;
    let statement = CaptureReceipt {
        receipt: ReceiptId::from_uuid(unit.uuid()),
        project: registration.project_slug.clone(),
        run: run.id,
        cell: cell.id,
        attempt: cell.attempt,
        checkpoint: taken.name.clone(),
        profile: cell.name.clone(),
        pins: run.pins.clone(),
        artifacts: vec![taken.content.clone()],
        render: taken.render.clone(),
        render_digest: taken.render_digest,
        rules: taken.rules.clone(),
        rules_digest: taken.rules_digest,
        pixel_digest: taken.pixel_digest,
        not_evidence: taken.not_evidence.clone(),
        sandbox: registration.submission.sandbox.clone(),
        worker: registration.worker.clone(),
        captured_at: taken.captured_at,
        registered_at: unit.now(),
    };
    let receipt = Receipt {
        id: statement.receipt,
        project_id: run.pins.project,
        run_id: run.id,
        cell_id: cell.id,
        attempt: cell.attempt,
        checkpoint: taken.name.clone(),
        profile: cell.name.clone(),
        kind: taken.kind,
        picture_id: taken.content.id,
        capture_sha256: taken.content.sha256,
        pixel_digest: taken.pixel_digest,
        render_sha256: taken.render_digest,
        rules_sha256: taken.rules_digest,
        not_evidence: taken.not_evidence.clone(),
        envelope: unit.signed(&statement)?,
        created_at: unit.now(),
    };
    unit.insert_receipt(&receipt).await?;
    Ok(receipt.id)
}
