//! Capture receipts, checkpoint results and run results. None of them changes after it is written.

use pinhole_core::{
    ArtifactId, BaselineKind, CellId, CheckpointVerdict, LogRecordKind, NotEvidence, ProjectId, ReceiptId, Result,
    RunId, Sha256Digest, Slug, Timestamp,
};
use serde_json::Value as Json;

use crate::{
    Tx,
    row::Row,
    value::{int, json, json_or_null, text, text_or_null, time},
};

/// A capture receipt.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Its id.
    pub id: ReceiptId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its run.
    pub run_id: RunId,
    /// Its cell.
    pub cell_id: CellId,
    /// The attempt that it came from.
    pub attempt: u32,
    /// The checkpoint.
    pub checkpoint: Slug,
    /// The profile's name.
    pub profile: Slug,
    /// What it is of.
    pub kind: BaselineKind,
    /// The picture, or the file of values.
    pub picture_id: ArtifactId,
    /// SHA-256 of the picture's bytes.
    pub capture_sha256: Sha256Digest,
    /// SHA-256 over the decoded picture.
    pub pixel_digest: Sha256Digest,
    /// SHA-256 of the render facts.
    pub render_sha256: Sha256Digest,
    /// SHA-256 of the capture rules.
    pub rules_sha256: Sha256Digest,
    /// Why it is not evidence; empty when it is.
    pub not_evidence: Vec<NotEvidence>,
    /// The signed statement, a DSSE envelope in JSON.
    pub envelope: String,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// The result of one checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointResult {
    /// The run.
    pub run_id: RunId,
    /// The cell.
    pub cell_id: CellId,
    /// Place within the cell, from 0.
    pub ordinal: u32,
    /// The checkpoint.
    pub checkpoint: Slug,
    /// The profile's name.
    pub profile: Slug,
    /// The receipt.
    pub receipt_id: ReceiptId,
    /// The verdict.
    pub verdict: CheckpointVerdict,
    /// The receipt that it was compared with.
    pub baseline_receipt_id: Option<ReceiptId>,
    /// Account and regions, when pictures were compared.
    pub comparison: Option<Json>,
    /// The difference picture.
    pub difference_id: Option<ArtifactId>,
}

/// The signed result of a run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The run.
    pub run_id: RunId,
    /// The signed statement, a DSSE envelope in JSON.
    pub envelope: String,
    /// When it was signed.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Receipt> {
    Ok(Receipt {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        run_id: row.parse("run_id")?,
        cell_id: row.parse("cell_id")?,
        attempt: row.int("attempt")?,
        checkpoint: row.parse("checkpoint")?,
        profile: row.parse("profile")?,
        kind: row.parse("kind")?,
        picture_id: row.parse("picture_id")?,
        capture_sha256: row.parse("capture_sha256")?,
        pixel_digest: row.parse("pixel_digest")?,
        render_sha256: row.parse("render_sha256")?,
        rules_sha256: row.parse("rules_sha256")?,
        not_evidence: row.json("not_evidence")?,
        envelope: row.text("envelope")?,
        created_at: row.time("created_at")?,
    })
}

fn read_result(row: &Row) -> Result<CheckpointResult> {
    Ok(CheckpointResult {
        run_id: row.parse("run_id")?,
        cell_id: row.parse("cell_id")?,
        ordinal: row.int("ordinal")?,
        checkpoint: row.parse("checkpoint")?,
        profile: row.parse("profile")?,
        receipt_id: row.parse("receipt_id")?,
        verdict: row.parse("verdict")?,
        baseline_receipt_id: row.parse_or_null("baseline_receipt_id")?,
        comparison: row.json_or_null("comparison")?,
        difference_id: row.parse_or_null("difference_id")?,
    })
}

impl Tx {
    /// Adds a receipt.
    pub async fn insert_receipt(&mut self, receipt: &Receipt) -> Result<()> {
        self.execute(
            "INSERT INTO receipts (id, project_id, run_id, cell_id, attempt, checkpoint, profile, picture_id, \
             capture_sha256, pixel_digest, render_sha256, rules_sha256, not_evidence, envelope, created_at, kind) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            &[
                text(receipt.id),
                text(receipt.project_id),
                text(receipt.run_id),
                text(receipt.cell_id),
                int(receipt.attempt),
                text(&receipt.checkpoint),
                text(&receipt.profile),
                text(receipt.picture_id),
                text(receipt.capture_sha256),
                text(receipt.pixel_digest),
                text(receipt.render_sha256),
                text(receipt.rules_sha256),
                json(&receipt.not_evidence)?,
                text(&receipt.envelope),
                time(receipt.created_at),
                text(receipt.kind),
            ],
        )
        .await?;
        self.enter_into_log(LogRecordKind::CaptureReceipt, receipt.id, receipt.envelope.as_bytes()).await
    }

    /// The receipt with this id.
    pub async fn receipt(&mut self, id: ReceiptId) -> Result<Option<Receipt>> {
        self.fetch_optional("SELECT * FROM receipts WHERE id = $1", &[text(id)], read).await
    }

    /// Whether there is any receipt at all.
    pub async fn has_receipts(&mut self) -> Result<bool> {
        Ok(self.fetch_optional("SELECT * FROM receipts LIMIT 1", &[], read).await?.is_some())
    }

    /// The receipts of a run's finished attempts, at most 1000 (20 rows of 50 captures).
    pub async fn receipts_of(&mut self, run: RunId) -> Result<Vec<Receipt>> {
        self.fetch_all(
            "SELECT receipts.* FROM receipts JOIN checkpoint_results ON checkpoint_results.receipt_id = receipts.id \
             WHERE receipts.run_id = $1 ORDER BY receipts.id LIMIT 1000",
            &[text(run)],
            read,
        )
        .await
    }

    /// Adds the result of a checkpoint.
    pub async fn insert_checkpoint_result(&mut self, result: &CheckpointResult) -> Result<()> {
        self.execute(
            "INSERT INTO checkpoint_results (run_id, cell_id, ordinal, checkpoint, profile, receipt_id, verdict, \
             baseline_receipt_id, comparison, difference_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            &[
                text(result.run_id),
                text(result.cell_id),
                int(result.ordinal),
                text(&result.checkpoint),
                text(&result.profile),
                text(result.receipt_id),
                text(result.verdict),
                text_or_null(result.baseline_receipt_id),
                json_or_null(result.comparison.as_ref())?,
                text_or_null(result.difference_id),
            ],
        )
        .await?;
        Ok(())
    }

    /// The checkpoint results of a run by cell and checkpoint, `limit` of them from `offset`.
    pub async fn checkpoint_results(&mut self, run: RunId, offset: u32, limit: u32) -> Result<Vec<CheckpointResult>> {
        self.fetch_all(
            "SELECT checkpoint_results.* FROM checkpoint_results \
             JOIN cells ON cells.id = checkpoint_results.cell_id \
             WHERE checkpoint_results.run_id = $1 ORDER BY cells.ordinal, checkpoint_results.ordinal \
             LIMIT $3 OFFSET $2",
            &[text(run), int(offset), int(limit)],
            read_result,
        )
        .await
    }

    /// Adds the signed result of a run.
    pub async fn insert_run_result(&mut self, result: &RunResult) -> Result<()> {
        self.execute(
            "INSERT INTO run_results (run_id, envelope, created_at) VALUES ($1, $2, $3)",
            &[text(result.run_id), text(&result.envelope), time(result.created_at)],
        )
        .await?;
        self.enter_into_log(LogRecordKind::RunResult, result.run_id, result.envelope.as_bytes()).await
    }

    /// The signed result of a run.
    pub async fn run_result(&mut self, run: RunId) -> Result<Option<RunResult>> {
        self.fetch_optional("SELECT * FROM run_results WHERE run_id = $1", &[text(run)], |row| {
            Ok(RunResult {
                run_id: row.parse("run_id")?,
                envelope: row.text("envelope")?,
                created_at: row.time("created_at")?,
            })
        })
        .await
    }
}
