//! The baseline path: candidate, review, consumption; what is between them is in `approvals`.

use pinhole_core::{
    ApprovalId, BaselineEntryId, BaselineKey, BaselineSelector, CandidateId, CandidateState, Disposition,
    EnvironmentSelector, IdempotencyKey, LineName, Permission, PrincipalId, Reason, ReceiptId, ReviewId, RunId,
    RunSelectors, ScenarioSelector, Sha256Digest, Slug, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Idempotency, Method, Operation, Spec, Surfaces, Who, bounded};

/// A run that captures what is proposed. Starting it needs `run.start` too.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureRun {
    /// The project.
    pub project: Slug,
    /// The scenario.
    pub scenario: Slug,
    /// Which revision of it: `{digest}` or `{head: true}`.
    pub revision: ScenarioSelector,
    /// The environment.
    pub environment: Slug,
    /// Which revision of it: `{revision}` or `{latest: true}`.
    pub environment_revision: EnvironmentSelector,
    /// What to compare with.
    pub baseline: BaselineSelector,
    /// The checkpoint that is proposed.
    pub checkpoint: Slug,
    /// The matrix row that it is proposed of, or `default`.
    pub profile: Slug,
}

impl From<&CaptureRun> for RunSelectors {
    fn from(run: &CaptureRun) -> Self {
        let CaptureRun { project, scenario, revision, environment, environment_revision, baseline, .. } = run.clone();
        Self { project, scenario, revision, environment, environment_revision, baseline }
    }
}

/// Propose a capture as a visual baseline: exactly one of `receipt_id` and `run` says where it comes from. With a run the
/// candidate is `capturing` until the run ends; the same call with the same key tells how it stands.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureVisualBaseline {
    /// A receipt that the server registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<ReceiptId>,
    /// A new run that captures it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<CaptureRun>,
    /// The catalog line; `main` when left out.
    #[serde(default)]
    pub line: LineName,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Propose extracted values as a structured baseline; where they come from is said as for pictures.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureBaseline {
    /// A receipt of extracted values that the server registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<ReceiptId>,
    /// A new run that reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<CaptureRun>,
    /// The catalog line; `main` when left out.
    #[serde(default)]
    pub line: LineName,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for CaptureBaseline {
    type Output = CandidateView;
    const SPEC: Spec = Spec {
        name: "capture_baseline",
        summary: "Propose extracted values that the server registered, or will by a run, as a structured baseline.",
        permission: Some(Permission::BaselineWrite),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/baselines/capture",
    };
}

/// A proposed baseline.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CandidateView {
    /// Its id.
    pub id: CandidateId,
    /// Where it would go.
    pub key: BaselineKey,
    /// The run that captures or captured it.
    pub run_id: RunId,
    /// Its receipt; null while it is being captured, and when nothing usable came of it.
    pub receipt_id: Option<ReceiptId>,
    /// SHA-256 of its picture or values; null without a receipt.
    pub capture_digest: Option<Sha256Digest>,
    /// Its state.
    pub state: CandidateState,
    /// The entry that it was opened to replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<BaselineEntryId>,
    /// Why it is to replace that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Digest of the key's present entry; null when it has none.
    pub current_entry: Option<Sha256Digest>,
    /// Who proposed it.
    pub author: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

impl Operation for CaptureVisualBaseline {
    type Output = CandidateView;
    const SPEC: Spec = Spec {
        name: "capture_visual_baseline",
        summary: "Propose a capture as a visual baseline: one that the server registered, or that of a run started now.",
        permission: Some(Permission::BaselineWrite),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/baselines/capture-visual",
    };
}

/// Accept or reject captures of one run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewVisualBaseline {
    /// 1 to 200 different receipts of one run.
    #[serde(deserialize_with = "bounded::list::<1, 200, _, _>")]
    #[schemars(length(min = 1, max = 200))]
    pub receipts: Vec<ReceiptId>,
    /// Accept or reject.
    pub disposition: Disposition,
    /// Why.
    pub reason: Reason,
    /// A decision ticket over the run and these receipts, for callers with a token.
    #[serde(default, skip_serializing, deserialize_with = "bounded::optional_text::<0, 200, _>")]
    #[schemars(length(max = 200))]
    pub ticket: Option<String>,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// The dispositions that one call made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewsView {
    /// One for each receipt, in the order of the call.
    pub reviews: Vec<ReviewView>,
    /// True when an earlier call with the same key made them.
    #[serde(default)]
    pub replayed: bool,
}

/// A human disposition of one capture.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewView {
    /// Its id.
    pub id: ReviewId,
    /// The receipt.
    pub receipt_id: ReceiptId,
    /// Accept or reject.
    pub disposition: Disposition,
    /// Why.
    pub reason: Reason,
    /// SHA-256 of the picture that it is bound to.
    pub capture_digest: Sha256Digest,
    /// The render digest that it is bound to.
    pub render_digest: Sha256Digest,
    /// The rules digest that it is bound to.
    pub rules_digest: Sha256Digest,
    /// Who.
    pub reviewer: PrincipalId,
    /// When.
    pub created_at: Timestamp,
}

impl Operation for ReviewVisualBaseline {
    type Output = ReviewsView;
    const SPEC: Spec = Spec {
        name: "review_visual_baseline",
        summary: "Accept or reject captures of one run (human authority).",
        permission: Some(Permission::ReviewWrite),
        who: Who::Human,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/reviews",
    };
}

/// Turn an approved request into a catalog revision, once.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumeBaselineApproval {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The intent that was approved.
    pub intent_digest: Sha256Digest,
    /// The line's present revision; 0 when it has none.
    #[serde(default)]
    pub expected_version: Option<u32>,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// What consumption made: a catalog revision. Nothing of it is published yet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MaterializedView {
    /// Always `materialized`.
    pub outcome: Materialized,
    /// The approval.
    pub approval_id: ApprovalId,
    /// The line.
    pub line: LineName,
    /// The new revision.
    pub revision: u32,
    /// Its digest.
    pub digest: Sha256Digest,
    /// How many entries it has.
    pub entries: u32,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// The word `materialized`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Materialized {
    /// The only value.
    Materialized,
}

impl Operation for ConsumeBaselineApproval {
    type Output = MaterializedView;
    const SPEC: Spec = Spec {
        name: "consume_baseline_approval",
        summary: "Turn an approved request into one catalog revision, once; nothing is published by it.",
        permission: Some(Permission::BaselineWrite),
        who: Who::Any,
        idempotency: Idempotency::KeyedCas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/approvals/{approval_id}/consume",
    };
}
