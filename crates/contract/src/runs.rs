//! Runs, their results, artifacts and receipts.

use pinhole_core::{
    ArtifactId, ArtifactKind, BaselineKind, BaselineSelector, CellFailure, CellId, CheckpointVerdict,
    EnvironmentSelector, FailedAssertion, IdempotencyKey, NotEvidence, Permission, Pins, PrincipalId, Profile,
    ReceiptId, RunId, RunSelectors, RunState, RunVerdict, ScenarioSelector, Sha256Digest, Slug, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// Start a run. Selectors have no defaults and become pins before anything is queued.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartScenarioRun {
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
    /// Where the application is this time, instead of the environment's base URL; only within a host pattern that an
    /// administrator has approved for the revision.
    #[serde(
        default,
        deserialize_with = "bounded::optional_text::<1, 2000, _>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(min = 1, max = 2000))]
    pub base_url: Option<String>,
    /// What to compare with.
    pub baseline: BaselineSelector,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl From<&StartScenarioRun> for RunSelectors {
    fn from(command: &StartScenarioRun) -> Self {
        let StartScenarioRun { project, scenario, revision, environment, environment_revision, baseline, .. } =
            command.clone();
        Self { project, scenario, revision, environment, environment_revision, baseline }
    }
}

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    /// Its id.
    pub id: RunId,
    /// Its state.
    pub state: RunState,
    /// Its verdict; null until it is completed.
    pub verdict: Option<RunVerdict>,
    /// Counts changes of state.
    pub version: u32,
    /// What it is pinned to.
    pub pins: Pins,
    /// Its matrix rows.
    pub cells: Vec<CellView>,
    /// What started it.
    pub trigger: String,
    /// Who started it.
    pub created_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// One matrix row of a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CellView {
    /// Its id.
    pub id: CellId,
    /// The row's name, or `default`.
    pub name: Slug,
    /// The device that the page is shown.
    pub profile: Profile,
    /// Its state.
    pub state: RunState,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<CellFailure>,
    /// Assertions that did not hold.
    pub failed_assertions: Vec<FailedAssertion>,
    /// Every attempt, the last one included.
    pub attempts: Vec<AttemptView>,
}

/// One attempt of a cell.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttemptView {
    /// From 1.
    pub attempt: u32,
    /// Who worked on it.
    pub worker: String,
    /// Since when.
    pub started_at: Timestamp,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// `submitted`, `failed`, `lost` or `cancelled`; null while it goes on.
    pub outcome: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<CellFailure>,
}

impl Operation for StartScenarioRun {
    type Output = RunView;
    const SPEC: Spec = Spec {
        name: "start_scenario_run",
        summary: "Start a run of a scenario revision in an environment against a pinned baseline.",
        permission: Some(Permission::RunStart),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/runs",
    };
}

/// Read a run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetScenarioRun {
    /// The run.
    pub run_id: RunId,
}

impl Operation for GetScenarioRun {
    type Output = RunView;
    const SPEC: Spec = Spec {
        name: "get_scenario_run",
        summary: "Read a run: its state, pins, cells and attempts.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/runs/{run_id}",
    };
}

/// List runs of a project, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListScenarioRuns {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListScenarioRuns {
    type Output = RunList;
    const SPEC: Spec = Spec {
        name: "list_scenario_runs",
        summary: "List the runs of a project that the caller may see, newest first.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/runs",
    };
}

/// Cancel a run that goes on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelScenarioRun {
    /// The run.
    pub run_id: RunId,
    /// The version that the caller has seen.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for CancelScenarioRun {
    type Output = RunView;
    const SPEC: Spec = Spec {
        name: "cancel_scenario_run",
        summary: "Cancel a run: its unfinished cells end at once; what others of its cells have captured is kept.",
        permission: Some(Permission::RunCancel),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/runs/{run_id}/cancel",
    };
}

/// Read the result of a run, by pages of checkpoints.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetScenarioRunResult {
    /// The run.
    pub run_id: RunId,
    /// How many checkpoints.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// The result of a run: exact pins and verdicts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunResultView {
    /// The run.
    pub run_id: RunId,
    /// Its state.
    pub state: RunState,
    /// Its verdict; null until it is completed.
    pub verdict: Option<RunVerdict>,
    /// What it is pinned to.
    pub pins: Pins,
    /// Checkpoints by cell and scenario order.
    pub checkpoints: Vec<CheckpointView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
    /// Evidence of the cells, with the first page only.
    pub evidence: Vec<ArtifactView>,
    /// The signed run result (a DSSE envelope), once the run has ended; with the first page only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<serde_json::Value>,
}

/// One checkpoint of a result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointView {
    /// Its name in the scenario.
    pub checkpoint: Slug,
    /// The profile's name.
    pub profile: Slug,
    /// Whether it is a picture or extracted values.
    pub kind: BaselineKind,
    /// The verdict.
    pub verdict: CheckpointVerdict,
    /// Why it is not evidence.
    pub not_evidence: Vec<NotEvidence>,
    /// The signed receipt.
    pub receipt_id: ReceiptId,
    /// SHA-256 of the picture or of the values.
    pub capture_digest: Sha256Digest,
    /// Digest of everything but the page that the picture depends on.
    pub render_digest: Sha256Digest,
    /// Digest of the capture's rules.
    pub rules_digest: Sha256Digest,
    /// The picture, or the file of values.
    pub picture: ArtifactView,
    /// The baseline's receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_receipt_id: Option<ReceiptId>,
    /// The baseline's picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<ArtifactView>,
    /// The difference picture, when the pictures differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<ArtifactView>,
    /// Accounts and regions, when pictures were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparisonView>,
}

/// How two pictures or two sets of values compare: the metric, where every pixel went, and the changed regions. Written by `pinhole-compare`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonView {
    /// Name and version of the metric.
    pub metric: String,
    /// Width and height of the baseline in pixels, of pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_baseline: Option<[u32; 2]>,
    /// Width and height of the new picture in pixels, of pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_candidate: Option<[u32; 2]>,
    /// Pixels by rule, disjoint, whose sum is the area of the union of both pictures; of values, how many are equal and
    /// how many differ in which way.
    pub account: std::collections::BTreeMap<String, u64>,
    /// Changed regions from the top, at most 200; of values, every difference with its field.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub regions: Vec<serde_json::Value>,
    /// How many more regions there were.
    pub regions_omitted: u32,
}

impl Operation for GetScenarioRunResult {
    type Output = RunResultView;
    const SPEC: Spec = Spec {
        name: "get_scenario_run_result",
        summary: "Read the result of a run: exact pins, verdicts, accounts and regions, by pages.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/runs/{run_id}/result",
    };
}

/// Read an artifact's metadata.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetScenarioArtifact {
    /// The artifact.
    pub artifact_id: ArtifactId,
}

/// An artifact's metadata. The reference is no capability: the bytes are authorised on their own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactView {
    /// Its id.
    pub id: ArtifactId,
    /// What it holds.
    pub kind: ArtifactKind,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the bytes.
    pub sha256: Sha256Digest,
    /// Its media type.
    pub media_type: String,
    /// A file name for people.
    pub file_name: String,
    /// Where authorised callers fetch the bytes.
    pub content: ContentRef,
}

/// A typed, protected reference to bytes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContentRef {
    /// Path on this server; GET and HEAD with the caller's own credential.
    pub path: String,
}

impl Operation for GetScenarioArtifact {
    type Output = ArtifactView;
    const SPEC: Spec = Spec {
        name: "get_scenario_artifact",
        summary: "Read an artifact's metadata and a protected reference to its bytes.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/artifacts/{artifact_id}",
    };
}

/// Read a signed capture receipt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetCaptureReceipt {
    /// The receipt.
    pub receipt_id: ReceiptId,
}

/// A capture receipt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptView {
    /// Its id.
    pub id: ReceiptId,
    /// The signed statement: a DSSE envelope.
    pub envelope: serde_json::Value,
}

impl Operation for GetCaptureReceipt {
    type Output = ReceiptView;
    const SPEC: Spec = Spec {
        name: "get_capture_receipt",
        summary: "Read a signed capture receipt (a DSSE envelope).",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/receipts/{receipt_id}",
    };
}
