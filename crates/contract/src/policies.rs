//! Baseline policies of projects, in numbered revisions.

use pinhole_core::{Gate, Permission, PrincipalId, Slug, Timestamp, TwoPersons};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Idempotency, Method, Operation, Spec, Surfaces, Who, bounded};

/// Read a project's baseline policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetBaselinePolicy {
    /// The project.
    pub project: Slug,
    /// The revision; the present one when left out.
    #[serde(default)]
    pub revision: Option<u32>,
}

/// A revision of a project's baseline policy.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BaselinePolicyView {
    /// The project.
    pub project: Slug,
    /// Its number; 0 stands for the defaults of a project that never set any. An approval stays under the revision that
    /// it was requested under.
    pub revision: u32,
    /// How many persons have to approve.
    pub quorum: u32,
    /// Whether who decides must be another person than who requested or made.
    pub two_persons: TwoPersons,
    /// Whether retiring and invalidating baselines waits for an approval.
    pub gate: Gate,
    /// Seconds in which an approval may be decided and consumed.
    pub approval_lifetime_s: u32,
    /// Who made this revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<PrincipalId>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
}

impl Operation for GetBaselinePolicy {
    type Output = BaselinePolicyView;
    const SPEC: Spec = Spec {
        name: "get_baseline_policy",
        summary: "Read a project's baseline policy.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/projects/{project}/baseline-policy",
    };
}

/// Give a project a new revision of its baseline policy. Members that are left out stay as they are.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateBaselinePolicy {
    /// The project.
    pub project: Slug,
    /// How many persons have to approve.
    #[serde(default, deserialize_with = "bounded::optional_number::<1, 10, _>")]
    #[schemars(range(min = 1, max = 10))]
    pub quorum: Option<u32>,
    /// Whether who decides must be another person than who requested or made.
    #[serde(default)]
    pub two_persons: Option<TwoPersons>,
    /// Whether retiring and invalidating baselines waits for an approval.
    #[serde(default)]
    pub gate: Option<Gate>,
    /// Seconds in which an approval may be decided and consumed.
    #[serde(default, deserialize_with = "bounded::optional_number::<3600, 7_776_000, _>")]
    #[schemars(range(min = 3600, max = 7_776_000))]
    pub approval_lifetime_s: Option<u32>,
    /// The present revision as the caller knows it; 0 for the defaults.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for UpdateBaselinePolicy {
    type Output = BaselinePolicyView;
    const SPEC: Spec = Spec {
        name: "update_baseline_policy",
        summary: "Give a project a new revision of its baseline policy; approvals that were requested before keep theirs.",
        permission: Some(Permission::PolicyWrite),
        who: Who::Human,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestOnly,
        method: Method::Put,
        path: "/projects/{project}/baseline-policy",
    };
}
