//! CI dispatches: they start a run whenever CI says so.

use pinhole_core::{CiDispatchId, CommitId, GitRef, IdempotencyKey, Permission, RunSelectors, Slug, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AutomationView, spec};
use crate::{Cursor, Idempotency, Limit, Method, Operation, RunView, Spec, Surfaces, Who};

/// Make a CI dispatch. It is checked like the start of a run, enabled or not.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateCiDispatch {
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from.
    pub run: RunSelectors,
    /// Whether it starts anything.
    pub enabled: bool,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A CI dispatch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CiDispatchView {
    /// Its id.
    pub id: CiDispatchId,
    /// What all kinds show.
    #[serde(flatten)]
    pub automation: AutomationView,
}

impl Operation for CreateCiDispatch {
    type Output = CiDispatchView;
    const SPEC: Spec = spec(
        "create_ci_dispatch",
        "Make a CI dispatch: a run that CI starts by naming it, whose selectors are kept here.",
        Idempotency::Keyed,
        Method::Post,
        "/automations/ci-dispatches",
    );
}

/// Change a CI dispatch as a whole. From then on it runs with the caller's grants.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateCiDispatch {
    /// The CI dispatch.
    pub ci_dispatch_id: CiDispatchId,
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from.
    pub run: RunSelectors,
    /// Whether it starts anything.
    pub enabled: bool,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for UpdateCiDispatch {
    type Output = CiDispatchView;
    const SPEC: Spec = spec(
        "update_ci_dispatch",
        "Change a CI dispatch as a whole; from then on it runs with the caller's grants.",
        Idempotency::Cas,
        Method::Put,
        "/automations/ci-dispatches/{ci_dispatch_id}",
    );
}

/// Read a CI dispatch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetCiDispatch {
    /// The CI dispatch.
    pub ci_dispatch_id: CiDispatchId,
}

impl Operation for GetCiDispatch {
    type Output = CiDispatchView;
    const SPEC: Spec = spec(
        "get_ci_dispatch",
        "Read a CI dispatch with its newest deliveries; a deleted one too.",
        Idempotency::Read,
        Method::Get,
        "/automations/ci-dispatches/{ci_dispatch_id}",
    );
}

/// List the CI dispatches of a project, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCiDispatches {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of CI dispatches.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CiDispatchList {
    /// The CI dispatches.
    pub ci_dispatches: Vec<CiDispatchView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListCiDispatches {
    type Output = CiDispatchList;
    const SPEC: Spec = spec(
        "list_ci_dispatches",
        "List the CI dispatches of a project whose environments the caller operates, newest first.",
        Idempotency::Read,
        Method::Get,
        "/automations/ci-dispatches",
    );
}

/// Delete a CI dispatch. Its deliveries are kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteCiDispatch {
    /// The CI dispatch.
    pub ci_dispatch_id: CiDispatchId,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for DeleteCiDispatch {
    type Output = CiDispatchView;
    const SPEC: Spec = spec(
        "delete_ci_dispatch",
        "Delete a CI dispatch for good; its deliveries can still be read.",
        Idempotency::Cas,
        Method::Delete,
        "/automations/ci-dispatches/{ci_dispatch_id}",
    );
}

/// Start the run of a CI dispatch for a commit.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DispatchCi {
    /// The CI dispatch.
    pub ci_dispatch_id: CiDispatchId,
    /// The commit that CI works on; a label, which decides nothing.
    pub commit: CommitId,
    /// The branch or tag that CI works on; a label, which decides nothing.
    #[serde(rename = "ref")]
    pub git_ref: GitRef,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for DispatchCi {
    type Output = RunView;
    const SPEC: Spec = Spec {
        name: "dispatch_ci",
        summary: "Start the run of a CI dispatch, with the grants of the calling service, for a commit.",
        permission: Some(Permission::RunStart),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestOnly,
        method: Method::Post,
        path: "/ci/dispatch",
    };
}
