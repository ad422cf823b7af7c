//! Projects and environments.

use pinhole_core::{EnvironmentId, IdempotencyKey, Permission, ProjectId, Sha256Digest, Slug, Timestamp, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Idempotency, Method, Operation, Spec, Surfaces, Who, bounded};

/// Make a project; the caller becomes its owner.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// Its name in URLs.
    pub slug: Slug,
    /// Its name for people.
    pub title: Title,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProjectView {
    /// Its id.
    pub id: ProjectId,
    /// Its name in URLs.
    pub slug: Slug,
    /// Its name for people.
    pub title: Title,
    /// When it was made.
    pub created_at: Timestamp,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

impl Operation for CreateProject {
    type Output = ProjectView;
    const SPEC: Spec = Spec {
        name: "create_project",
        summary: "Make a project; the caller becomes its owner.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/projects",
    };
}

/// Read a project.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetProject {
    /// Its name in URLs.
    pub project: Slug,
}

impl Operation for GetProject {
    type Output = ProjectView;
    const SPEC: Spec = Spec {
        name: "get_project",
        summary: "Read a project.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/projects/{project}",
    };
}

/// What one revision of an environment says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentDocument {
    /// Where relative URLs start: http or https, without user, password, query or fragment.
    #[serde(deserialize_with = "bounded::text::<1, 2000, _>")]
    #[schemars(length(min = 1, max = 2000))]
    pub base_url: String,
    /// Further hosts that scenarios may navigate to, at most 50: `host` for the ports 80 and 443, or `host:port`.
    #[serde(default, deserialize_with = "bounded::texts::<50, 255, _>")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 255)))]
    pub allowed_hosts: Vec<String>,
}

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
    /// The latest revision.
    pub revision: u32,
    /// What it says.
    pub document: EnvironmentDocument,
    /// SHA-256 over its canonical bytes.
    pub sha256: Sha256Digest,
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

/// Read the latest revision of an environment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetEnvironment {
    /// The environment.
    pub environment_id: EnvironmentId,
}

impl Operation for GetEnvironment {
    type Output = EnvironmentView;
    const SPEC: Spec = Spec {
        name: "get_environment",
        summary: "Read the latest revision of an environment.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/environments/{environment_id}",
    };
}
