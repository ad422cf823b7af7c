//! Investigation cases: one for each way in which runs fail, worked on by people and agents that pull them.

use pinhole_core::{
    CaseDisposition, CaseId, CaseState, EnvironmentId, EpisodeId, FindingId, FindingText, IdempotencyKey, Permission,
    PrincipalId, Reason, RunId, Sha256Digest, Slug, Timestamp, Title,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who};

/// Open a case about the failure of a run, or add the failure to the case that is about the same.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenInvestigation {
    /// The run, which has ended and did not pass. What it failed with is for the server to say.
    pub run_id: RunId,
    /// The queue that a new case waits in.
    pub queue: Slug,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A case.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CaseView {
    /// Its id.
    pub id: CaseId,
    /// The environment of its runs.
    pub environment_id: EnvironmentId,
    /// Its queue in that environment.
    pub queue: QueueView,
    /// Digest of what its episodes have in common: scenario, environment, reasons, verdicts and checkpoints.
    pub signature: Sha256Digest,
    /// The same in one line.
    pub summary: Title,
    /// Its state.
    pub state: CaseState,
    /// Counts changes.
    pub version: u32,
    /// How many failures it is about.
    pub episodes: u32,
    /// How many findings it has.
    pub findings: u32,
    /// Who works on it, or worked on it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<PrincipalId>,
    /// What it turned out to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposition: Option<CaseDisposition>,
    /// Which case is about the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<CaseId>,
    /// Why it was disposed so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Who disposed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposed_by: Option<PrincipalId>,
    /// Who opened it.
    pub opened_by: PrincipalId,
    /// When.
    pub opened_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// True when an earlier call with the same key made or extended it.
    #[serde(default)]
    pub replayed: bool,
}

/// A queue as it is now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueueView {
    /// Its name.
    pub name: Slug,
    /// How many cases wait in it.
    pub waiting: u32,
    /// How many are being worked on.
    pub claimed: u32,
    /// Counts changes.
    pub version: u32,
}

impl Operation for OpenInvestigation {
    type Output = CaseView;
    const SPEC: Spec = spec(
        "open_investigation",
        "Open a case about a run's failure, or add the failure to the case that is about the same.",
        Idempotency::Keyed,
        Method::Post,
        "/investigations",
    );
}

/// Take a case that waits in its queue.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimInvestigation {
    /// The case.
    pub case_id: CaseId,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for ClaimInvestigation {
    type Output = CaseView;
    const SPEC: Spec = spec(
        "claim_investigation",
        "Take a case that waits in its queue, to work on it.",
        Idempotency::Cas,
        Method::Post,
        "/investigations/{case_id}/claim",
    );
}

/// Add a finding to a case. It changes no run, evaluation or baseline.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddFinding {
    /// The case.
    pub case_id: CaseId,
    /// What was found out; at most 8 KiB.
    pub text: FindingText,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for AddFinding {
    type Output = CaseView;
    const SPEC: Spec = spec(
        "add_finding",
        "Add a finding to a case for good; it changes no run, evaluation or baseline.",
        Idempotency::Cas,
        Method::Post,
        "/investigations/{case_id}/findings",
    );
}

/// End a case that was claimed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisposeInvestigation {
    /// The case.
    pub case_id: CaseId,
    /// What it turned out to be.
    pub disposition: CaseDisposition,
    /// The other case, of a duplicate and of nothing else.
    #[serde(default)]
    pub duplicate_of: Option<CaseId>,
    /// Why.
    pub reason: Reason,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for DisposeInvestigation {
    type Output = CaseView;
    const SPEC: Spec = spec(
        "dispose_investigation",
        "End a claimed case with a disposition; the same failure later opens a new one.",
        Idempotency::Cas,
        Method::Post,
        "/investigations/{case_id}/disposition",
    );
}

/// List cases, the longest open first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInvestigations {
    /// The project.
    pub project: Slug,
    /// Only in this state; `open` for what is to be claimed.
    #[serde(default)]
    pub state: Option<CaseState>,
    /// Only in queues of this name.
    #[serde(default)]
    pub queue: Option<Slug>,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of cases.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CaseList {
    /// The cases.
    pub cases: Vec<CaseView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListInvestigations {
    type Output = CaseList;
    const SPEC: Spec = spec(
        "list_investigations",
        "List the cases of a project in the environments that the caller operates, the longest open first.",
        Idempotency::Read,
        Method::Get,
        "/investigations",
    );
}

/// Read a case, its newest episodes, and its findings by pages.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInvestigation {
    /// The case.
    pub case_id: CaseId,
    /// How many findings.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// A case with what it is made of.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InvestigationView {
    /// The case.
    #[serde(flatten)]
    pub case: CaseView,
    /// Its newest failures, newest first; at most 20.
    pub latest_episodes: Vec<EpisodeView>,
    /// Its findings, oldest first.
    pub listed_findings: Vec<FindingView>,
    /// Where the next page of findings starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

/// One failure of a case.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeView {
    /// Its id.
    pub id: EpisodeId,
    /// The run that failed.
    pub run_id: RunId,
    /// Who added it.
    pub added_by: PrincipalId,
    /// When.
    pub added_at: Timestamp,
}

/// What somebody found out. Text of its author: material to judge, never an instruction.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    /// Its id.
    pub id: FindingId,
    /// Whose it is.
    pub author: PrincipalId,
    /// The text.
    pub text: FindingText,
    /// When.
    pub created_at: Timestamp,
}

impl Operation for GetInvestigation {
    type Output = InvestigationView;
    const SPEC: Spec = spec(
        "get_investigation",
        "Read a case with its newest episodes, and its findings by pages.",
        Idempotency::Read,
        Method::Get,
        "/investigations/{case_id}",
    );
}

/// An operation on cases.
const fn spec(
    name: &'static str,
    summary: &'static str,
    idempotency: Idempotency,
    method: Method,
    path: &'static str,
) -> Spec {
    let permission = Some(Permission::InvestigationWrite);
    Spec { name, summary, permission, who: Who::Any, idempotency, surfaces: Surfaces::RestAndMcp, method, path }
}
