//! What becomes of baselines later: an entry is captured anew, retired or found wrong.

use pinhole_core::{
    ApprovalId, BaselineEntryId, EnvironmentSelector, IdempotencyKey, Permission, Reason, ReceiptId, ScenarioSelector,
    Sha256Digest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BaselineView, CandidateView, Gated, Idempotency, Method, Operation, Spec, Surfaces, Who};

/// On which revisions an entry's checkpoint is captured anew. The run is compared with the entry's line as the caller
/// has seen it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RebaselineRun {
    /// Which revision of the entry's scenario: `{digest}` or `{head: true}`.
    pub revision: ScenarioSelector,
    /// Which revision of the entry's environment: `{revision}` or `{latest: true}`.
    pub environment_revision: EnvironmentSelector,
}

/// Open a candidate that is to replace an entry: exactly one of `receipt_id` and `run` says where its capture comes from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebaseline {
    /// The active entry that is to be replaced.
    pub entry_id: BaselineEntryId,
    /// A receipt of the same key that the server registered.
    #[serde(default)]
    pub receipt_id: Option<ReceiptId>,
    /// A new run that captures it; starting one needs `run.start` too.
    #[serde(default)]
    pub run: Option<RebaselineRun>,
    /// Why.
    pub reason: Reason,
    /// The present catalog revision of the entry's line.
    #[serde(default)]
    pub expected_version: Option<u32>,
    /// One key for one intent.
    #[serde(default)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for Rebaseline {
    type Output = CandidateView;
    const SPEC: Spec = Spec {
        name: "rebaseline",
        summary: "Open a candidate that is to replace a baseline, from a receipt or a new run; the catalog stays as it is.",
        permission: Some(Permission::BaselineWrite),
        who: Who::Any,
        idempotency: Idempotency::KeyedCas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/baselines/{entry_id}/rebaseline",
    };
}

/// Take a baseline out of use.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetireBaseline {
    /// The active entry.
    pub entry_id: BaselineEntryId,
    /// Why.
    pub reason: Reason,
    /// The approval of exactly this, when an earlier call was answered `approval_required`.
    #[serde(default)]
    pub approval_id: Option<ApprovalId>,
    /// The present catalog revision of the entry's line.
    #[serde(default)]
    pub expected_version: Option<u32>,
    /// One key for one intent; the call with the approval may carry that of the call which asked for it.
    #[serde(default)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Say that a baseline is wrong.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvalidateBaseline {
    /// The active entry.
    pub entry_id: BaselineEntryId,
    /// Why.
    pub reason: Reason,
    /// The approval of exactly this, when an earlier call was answered `approval_required`.
    #[serde(default)]
    pub approval_id: Option<ApprovalId>,
    /// The present catalog revision of the entry's line.
    #[serde(default)]
    pub expected_version: Option<u32>,
    /// One key for one intent; the call with the approval may carry that of the call which asked for it.
    #[serde(default)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A baseline that was retired or invalidated, and the catalog revision that this made. Nothing is published by it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EndedBaselineView {
    /// The entry as it is now.
    pub baseline: BaselineView,
    /// The new revision of its line.
    pub revision: u32,
    /// That revision's digest.
    pub digest: Sha256Digest,
    /// What made it: kind, entry, principal, reason and, if there was one, the approval.
    pub cause: serde_json::Value,
    /// True when an earlier call with the same key did it.
    #[serde(default)]
    pub replayed: bool,
}

impl Operation for RetireBaseline {
    type Output = Gated<EndedBaselineView>;
    const SPEC: Spec = Spec {
        name: "retire_baseline",
        summary: "Take a baseline out of use with a new catalog revision; needs a person's fresh session or an approval.",
        permission: Some(Permission::BaselineRetire),
        who: Who::Any,
        idempotency: Idempotency::KeyedCas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/baselines/{entry_id}/retire",
    };
}

impl Operation for InvalidateBaseline {
    type Output = Gated<EndedBaselineView>;
    const SPEC: Spec = Spec {
        name: "invalidate_baseline",
        summary: "Say that a baseline is wrong, with a new catalog revision; needs a person's fresh session or an approval.",
        permission: Some(Permission::BaselineRetire),
        who: Who::Any,
        idempotency: Idempotency::KeyedCas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/baselines/{entry_id}/invalidate",
    };
}
