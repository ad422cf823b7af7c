//! Environments: made, changed by a new revision, read, listed, and their host patterns approved.

use pinhole_core::{EnvironmentId, HostPattern, IdempotencyKey, Permission, Sha256Digest, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, EnvironmentDocument, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// Make an environment of a project.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateEnvironment {
    /// The project.
    pub project: Slug,
    /// Its name in URLs.
    pub slug: Slug,
    /// Its first revision.
    pub document: EnvironmentDocument,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// An environment at one revision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentView {
    /// Its id.
    pub id: EnvironmentId,
    /// Its project.
    pub project: Slug,
    /// Its name in URLs.
    pub slug: Slug,
    /// The revision that is shown.
    pub revision: u32,
    /// The latest revision, which a change expects.
    pub latest_revision: u32,
    /// What the shown revision says.
    pub document: EnvironmentDocument,
    /// SHA-256 over its canonical bytes.
    pub sha256: Sha256Digest,
    /// Those of its host patterns that an administrator has approved.
    pub approved_host_patterns: Vec<HostPattern>,
    /// When the shown revision was made.
    pub revised_at: Timestamp,
    /// True when an update said what the latest revision says already, and so made none.
    #[serde(default)]
    pub unchanged: bool,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

impl Operation for CreateEnvironment {
    type Output = EnvironmentView;
    const SPEC: Spec = Spec {
        name: "create_environment",
        summary: "Make an environment of a project.",
        permission: Some(Permission::EnvironmentWrite),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/environments",
    };
}

/// Give an environment a new revision.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateEnvironment {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// What the new revision says, whole.
    pub document: EnvironmentDocument,
    /// The latest revision as the caller knows it.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for UpdateEnvironment {
    type Output = EnvironmentView;
    const SPEC: Spec = Spec {
        name: "update_environment",
        summary: "Give an environment a new revision; what the latest says already makes none.",
        permission: Some(Permission::EnvironmentWrite),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Put,
        path: "/environments/{environment_id}",
    };
}

/// Read a revision of an environment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetEnvironment {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The revision; the latest when left out.
    #[serde(default)]
    pub revision: Option<u32>,
}

impl Operation for GetEnvironment {
    type Output = EnvironmentView;
    const SPEC: Spec = Spec {
        name: "get_environment",
        summary: "Read a revision of an environment, the latest when none is named.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/environments/{environment_id}",
    };
}

/// List the environments of a project.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEnvironments {
    /// The project.
    pub project: Slug,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// Where to go on.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// Environments, the oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentList {
    /// The environments.
    pub environments: Vec<EnvironmentSummary>,
    /// Where the next page starts, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
}

/// An environment without its document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentSummary {
    /// Its id.
    pub id: EnvironmentId,
    /// Its project.
    pub project: Slug,
    /// Its name in URLs.
    pub slug: Slug,
    /// The latest revision.
    pub latest_revision: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Operation for ListEnvironments {
    type Output = EnvironmentList;
    const SPEC: Spec = Spec {
        name: "list_environments",
        summary: "List the environments of a project that the caller may see, the oldest first.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/environments",
    };
}

/// Approve host patterns of the latest revision of an environment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveHostPatterns {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// Which of those that the revision asks for, 1 to 20.
    #[serde(deserialize_with = "bounded::list::<1, 20, _, _>")]
    #[schemars(length(min = 1, max = 20))]
    pub patterns: Vec<HostPattern>,
    /// The latest revision as the administrator knows it: the approval is for this one alone.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

/// The approved host patterns of a revision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostPatternsView {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The revision.
    pub revision: u32,
    /// Every pattern that is approved for it.
    pub approved_host_patterns: Vec<HostPattern>,
}

impl Operation for ApproveHostPatterns {
    type Output = HostPatternsView;
    const SPEC: Spec = Spec {
        name: "approve_host_patterns",
        summary: "Approve host patterns that the latest revision of an environment asks for.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestOnly,
        method: Method::Post,
        path: "/environments/{environment_id}/host-patterns",
    };
}
