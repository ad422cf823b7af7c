//! What the registrar signs: the receipt of a capture and the result of a run.

use pinhole_core::{
    ArtifactKind, ArtifactRef, BaselineKind, CellId, NotEvidence, Pins, ReceiptId, RenderFacts, RulesFacts, RunId,
    RunState, RunVerdict, SandboxFacts, Sha256Digest, Slug, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{Predicate, predicate_type, same_digest};
use crate::{Subject, VerifyError};

/// What the registrar signs for one checkpoint of a cell. It proves what a named worker submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureReceipt {
    /// The receipt.
    pub receipt: ReceiptId,
    /// The project's slug.
    pub project: Slug,
    /// The run.
    pub run: RunId,
    /// The cell.
    pub cell: CellId,
    /// The cell's attempt, from 1.
    pub attempt: u32,
    /// The checkpoint's name in the scenario.
    pub checkpoint: Slug,
    /// The profile's name: the matrix row, or `default`.
    pub profile: Slug,
    /// What the run is pinned to.
    pub pins: Pins,
    /// The artifacts, the picture or the file of values first; they are the subjects.
    pub artifacts: Vec<ArtifactRef>,
    /// What the renderer was.
    pub render: RenderFacts,
    /// SHA-256 over the canonical bytes of `render`.
    pub render_digest: Sha256Digest,
    /// What was masked, hidden, ignored and tolerated.
    pub rules: RulesFacts,
    /// SHA-256 over the canonical bytes of `rules`.
    pub rules_digest: Sha256Digest,
    /// SHA-256 over the decoded picture: the bytes `pinhole.pixels.v1` and a zero byte, width and height as 32-bit
    /// big-endian numbers, then every pixel as RGBA. Of values, SHA-256 of their canonical bytes.
    pub pixel_digest: Sha256Digest,
    /// Why it is not evidence; empty when it is.
    pub not_evidence: Vec<NotEvidence>,
    /// How the browser was contained.
    pub sandbox: SandboxFacts,
    /// The worker's id.
    pub worker: String,
    /// When the worker took the picture, by its own clock.
    pub captured_at: Timestamp,
    /// When the registrar took it in.
    pub registered_at: Timestamp,
}

impl CaptureReceipt {
    /// What the receipt is of: the first artifact, with the kind of baseline that it may become.
    pub fn content(&self) -> Option<(BaselineKind, &ArtifactRef)> {
        let first = self.artifacts.first()?;
        match first.kind {
            ArtifactKind::Picture => Some((BaselineKind::Visual, first)),
            ArtifactKind::Values => Some((BaselineKind::Structured, first)),
            _ => None,
        }
    }
}

impl Predicate for CaptureReceipt {
    const TYPE: &'static str = predicate_type::CAPTURE_RECEIPT;

    fn subjects(&self) -> Vec<Subject> {
        let name = |artifact: &ArtifactRef| format!("{}.{}", artifact.id, artifact.kind.extension());
        self.artifacts.iter().map(|artifact| Subject::sha256(name(artifact), artifact.sha256)).collect()
    }

    fn check(&self) -> Result<(), VerifyError> {
        same_digest("render_digest", &self.render, self.render_digest)?;
        same_digest("rules_digest", &self.rules, self.rules_digest)?;
        match self.content() {
            None => return Err(VerifyError::new("artifacts", "the first artifact is neither picture nor values")),
            Some((BaselineKind::Structured, values)) if values.sha256 != self.pixel_digest => {
                return Err(VerifyError::new("pixel_digest", "is not that of the values"));
            }
            Some(_) => {}
        }
        Ok(())
    }
}

/// A receipt as another statement names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptReference {
    /// The receipt.
    pub receipt: ReceiptId,
    /// SHA-256 of its envelope's payload.
    pub payload_sha256: Sha256Digest,
}

/// The outcome of a run over its receipts. One for each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The run.
    pub run: RunId,
    /// The project's slug.
    pub project: Slug,
    /// What the run was pinned to.
    pub pins: Pins,
    /// How the run ended.
    pub state: RunState,
    /// The verdict; `None` when the run did not complete.
    pub verdict: Option<RunVerdict>,
    /// The receipts, in the order of cells and checkpoints; they are subjects.
    pub receipts: Vec<ReceiptReference>,
    /// Verdicts of the checkpoints.
    pub verdicts: serde_json::Value,
    /// Pixel accounts of the comparisons.
    pub accounts: serde_json::Value,
    /// When the result was fixed.
    pub finished_at: Timestamp,
}

impl Predicate for RunResult {
    const TYPE: &'static str = predicate_type::RUN_RESULT;

    /// The receipts and, so that a run without any has a subject too, the scenario revision.
    fn subjects(&self) -> Vec<Subject> {
        let scenario = Subject::sha256(format!("scenario/{}", self.pins.scenario_slug), self.pins.scenario_sha256);
        let receipts = self.receipts.iter().map(|r| Subject::sha256(r.receipt.to_string(), r.payload_sha256));
        std::iter::once(scenario).chain(receipts).collect()
    }
}
