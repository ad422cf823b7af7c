//! Roles in projects: who holds which, given and taken by an owner of the project or an administrator.

use pinhole_core::{Name, Permission, Role, Slug, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who};

/// A role of a principal or a group in a project, or in one environment of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrantView {
    /// The project.
    pub project: Slug,
    /// Whose: a principal's or a group's id.
    pub subject: Subject,
    /// The name of that principal or group.
    pub name: Name,
    /// Only in this environment of the project; null for all of it.
    pub environment: Option<Slug>,
    /// The role.
    pub role: Role,
}

/// Give a role.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRole {
    /// The project.
    pub project: Slug,
    /// A principal's or a group's id.
    pub subject: Subject,
    /// Only in this environment of the project; in all of it when left out.
    #[serde(default)]
    pub environment: Option<Slug>,
    /// The role.
    pub role: Role,
}

impl Operation for GrantRole {
    type Output = GrantView;
    const SPEC: Spec = Spec {
        name: "grant_role",
        summary: "Give a principal or a group a role in a project or in one environment of it; for an owner of the project or an administrator.",
        permission: Some(Permission::GrantWrite),
        who: Who::Any,
        idempotency: Idempotency::Natural,
        surfaces: Surfaces::RestOnly,
        method: Method::Put,
        path: "/admin/grants",
    };
}

/// Take a role away.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeRole {
    /// The project.
    pub project: Slug,
    /// A principal's or a group's id.
    pub subject: Subject,
    /// The environment of the project that the role was given in; none when it was given in all of it.
    #[serde(default)]
    pub environment: Option<Slug>,
    /// The role.
    pub role: Role,
}

impl Operation for RevokeRole {
    type Output = GrantView;
    const SPEC: Spec = Spec {
        name: "revoke_role",
        summary: "Take a role away; the next call sees it. For an owner of the project or an administrator.",
        permission: Some(Permission::GrantWrite),
        who: Who::Any,
        idempotency: Idempotency::Natural,
        surfaces: Surfaces::RestOnly,
        method: Method::Delete,
        path: "/admin/grants",
    };
}

/// List the roles in a project.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListGrants {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of roles.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrantList {
    /// The roles.
    pub grants: Vec<GrantView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListGrants {
    type Output = GrantList;
    const SPEC: Spec = Spec {
        name: "list_grants",
        summary: "List who holds which role in a project; for an owner of the project or an administrator.",
        permission: Some(Permission::GrantWrite),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/admin/grants",
    };
}
