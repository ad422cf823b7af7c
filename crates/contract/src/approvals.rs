//! Approvals: asking for one, reading and listing them, deciding.

use pinhole_core::{
    ApprovalId, ApprovalIntent, ApprovalKind, ApprovalState, CandidateId, DecisionId, IdempotencyKey, LineName, Name,
    Outcome, Permission, PrincipalId, PublicationIntent, Reason, ReviewId, Sha256Digest, Slug, Timestamp, Via,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// One item of a request.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequestItem {
    /// The candidate.
    pub candidate_id: CandidateId,
    /// Its newest review, which has to accept it; looked up when left out. Values are not reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_id: Option<ReviewId>,
}

/// Ask for approval of 1 to 500 items, decided and consumed together.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestBaselineApproval {
    /// The project.
    pub project: Slug,
    /// The catalog line; `main` when left out.
    #[serde(default)]
    pub line: LineName,
    /// The items, over different keys.
    #[serde(deserialize_with = "bounded::list::<1, 500, _, _>")]
    #[schemars(length(min = 1, max = 500))]
    pub items: Vec<ApprovalRequestItem>,
    /// A label for people, such as a release.
    #[serde(default)]
    pub release_label: Option<Name>,
    /// Where the revision is to be published.
    #[serde(default)]
    pub publication: Option<PublicationIntent>,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// An approval: its intent, state and decisions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalView {
    /// Its id.
    pub id: ApprovalId,
    /// The version that a decision must name.
    pub version: u32,
    /// Its state.
    pub state: ApprovalState,
    /// What it is for.
    pub kind: ApprovalKind,
    /// What exactly is approved.
    pub intent: ApprovalIntent,
    /// SHA-256 over the intent's canonical bytes.
    pub intent_digest: Sha256Digest,
    /// Who asked.
    pub requested_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// Until when it may be decided and consumed.
    pub expires_at: Timestamp,
    /// The decisions so far.
    pub decisions: Vec<DecisionView>,
    /// The catalog revision that it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed_revision: Option<u32>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// One decision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DecisionView {
    /// Its id.
    pub id: DecisionId,
    /// Yes or no.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// Who.
    pub principal: PrincipalId,
    /// By what authority.
    pub via: Via,
    /// When.
    pub created_at: Timestamp,
}

impl Operation for RequestBaselineApproval {
    type Output = ApprovalView;
    const SPEC: Spec = Spec {
        name: "request_baseline_approval",
        summary: "Ask a person to approve candidates as baselines; the items are decided and consumed together.",
        permission: Some(Permission::BaselineWrite),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/approvals",
    };
}

/// Read an approval.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetApproval {
    /// The approval.
    pub approval_id: ApprovalId,
}

impl Operation for GetApproval {
    type Output = ApprovalView;
    const SPEC: Spec = Spec {
        name: "get_approval",
        summary: "Read an approval: its intent, state and decisions.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/approvals/{approval_id}",
    };
}

/// List the approvals of a project, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListApprovals {
    /// The project.
    pub project: Slug,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<ApprovalState>,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// An approval in a list: without its items and decisions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedApprovalView {
    /// Its id.
    pub id: ApprovalId,
    /// The version that a decision must name.
    pub version: u32,
    /// Its state.
    pub state: ApprovalState,
    /// What it is for.
    pub kind: ApprovalKind,
    /// The catalog line.
    pub line: LineName,
    /// How many items its intent has.
    pub items: u32,
    /// SHA-256 over the intent's canonical bytes.
    pub intent_digest: Sha256Digest,
    /// A label for people, such as a release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_label: Option<Name>,
    /// Who asked.
    pub requested_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// Until when it may be decided and consumed.
    pub expires_at: Timestamp,
    /// The catalog revision that it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed_revision: Option<u32>,
}

/// One page of approvals.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalList {
    /// The approvals.
    pub approvals: Vec<ListedApprovalView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListApprovals {
    type Output = ApprovalList;
    const SPEC: Spec = Spec {
        name: "list_approvals",
        summary: "List the approvals of a project that the caller may see, newest first.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/approvals",
    };
}

/// Decide an approval.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideApproval {
    /// The approval.
    pub approval_id: ApprovalId,
    /// Yes or no.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// A decision ticket over this approval, for callers with a token.
    #[serde(default, skip_serializing, deserialize_with = "bounded::optional_text::<0, 200, _>")]
    #[schemars(length(max = 200))]
    pub ticket: Option<String>,
    /// The version that the caller has seen.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for DecideApproval {
    type Output = ApprovalView;
    const SPEC: Spec = Spec {
        name: "decide_approval",
        summary: "Approve or deny (human authority); a denial changes nothing else.",
        permission: Some(Permission::ApprovalDecide),
        who: Who::Human,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/approvals/{approval_id}/decision",
    };
}
