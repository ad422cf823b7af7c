//! Projects.

use pinhole_core::{IdempotencyKey, Permission, ProjectId, Slug, Timestamp, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who};

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

/// List the projects in which the caller holds a role.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListProjects {
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// Where to go on.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// Projects, the oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProjectList {
    /// The projects.
    pub projects: Vec<ProjectView>,
    /// Where the next page starts, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListProjects {
    type Output = ProjectList;
    const SPEC: Spec = Spec {
        name: "list_projects",
        summary: "List the projects in which the caller holds a role, the oldest first.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/projects",
    };
}
