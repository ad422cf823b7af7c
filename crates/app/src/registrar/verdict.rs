//! Concluding a run: when its last cell has ended, its verdict is taken from all of them and its result is signed.

use pinhole_core::{Error, Result, RunId, RunState, RunVerdict};
use pinhole_receipt::{Envelope, ReceiptReference, RunResult as RunStatement};
use pinhole_store::{CheckpointResult, Run, RunResult};
use serde_json::json;

use crate::{baselines::end_captures, unit::Unit};

/// More checkpoints than a scenario can have (20 rows of 50 captures).
const ALL: u32 = 1001;

impl Unit {
    /// Ends the run when all of its cells have ended; does nothing before.
    pub(crate) async fn conclude_run(&mut self, id: RunId) -> Result<()> {
        let cells = self.cells_of(id).await?;
        if !cells.iter().all(|cell| cell.state.is_terminal()) {
            return Ok(());
        }
        let mut run = self.run(id).await?.ok_or_else(|| Error::internal("cells without their run"))?;
        let results = self.checkpoint_results(id, 0, ALL).await?;
        let worst = [RunState::Failed, RunState::Cancelled, RunState::Expired];
        let failed = worst.into_iter().find(|state| cells.iter().any(|cell| cell.state == *state));
        run.state = failed.unwrap_or(RunState::Completed);
        run.verdict = failed.is_none().then(|| {
            let assertions = cells.iter().any(|cell| !cell.failed_assertions.is_empty());
            let verdicts: Vec<_> = results.iter().map(|result| result.verdict).collect();
            RunVerdict::of(assertions, &verdicts, run.pins.baseline.is_reference_only())
        });
        if !self.finish_run(id, run.state, run.verdict).await? {
            return Ok(());
        }
        self.sign_result(&run, &results).await?;
        end_captures(self, &run, &results).await?;
        let payload = json!({ "run": id, "state": run.state, "verdict": run.verdict });
        self.event("run.finished", run.pins.project, id.to_string(), payload).await
    }

    async fn sign_result(&mut self, run: &Run, results: &[CheckpointResult]) -> Result<()> {
        let project = self.project(run.pins.project).await?.ok_or_else(|| Error::internal("a run without project"))?;
        let mut receipts = Vec::with_capacity(results.len());
        for result in results {
            let receipt = self.receipt(result.receipt_id).await?;
            let receipt = receipt.ok_or_else(|| Error::internal("a result without its receipt"))?;
            let envelope = Envelope::from_bytes(receipt.envelope.as_bytes()).map_err(Error::internal)?;
            receipts.push(ReceiptReference { receipt: receipt.id, payload_sha256: envelope.payload_sha256() });
        }
        let name = |result: &CheckpointResult| format!("{}@{}", result.checkpoint, result.profile);
        let account = |result: &CheckpointResult| result.comparison.as_ref().map(|found| found["account"].clone());
        let statement = RunStatement {
            run: run.id,
            project: project.slug,
            pins: run.pins.clone(),
            state: run.state,
            verdict: run.verdict,
            receipts,
            verdicts: results.iter().map(|result| (name(result), json!(result.verdict))).collect(),
            accounts: results.iter().filter_map(|result| Some((name(result), account(result)?))).collect(),
            finished_at: self.now(),
        };
        let envelope = self.signed(&statement)?;
        let created_at = self.now();
        self.insert_run_result(&RunResult { run_id: run.id, envelope, created_at }).await
    }
}
