//! Principals and groups, as an administrator sees them.

use pinhole_core::{GroupId, IdempotencyKey, Name, Permission, PrincipalClass, PrincipalId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// A user or a service.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalView {
    /// Its id.
    pub id: PrincipalId,
    /// A person or a program.
    pub class: PrincipalClass,
    /// Its publication name.
    pub name: Name,
    /// Since when it administers the installation.
    pub admin_since: Option<Timestamp>,
    /// Since when it may not sign in any more.
    pub disabled_at: Option<Timestamp>,
    /// The user who answers for a service; where two persons are asked for, they count as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<PrincipalId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// Make a user or a service.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePrincipal {
    /// A person or a program; never changes.
    pub class: PrincipalClass,
    /// Its publication name: it stands in signed statements, so it should be no e-mail address.
    pub name: Name,
    /// Whether it administers the installation.
    #[serde(default)]
    pub admin: bool,
    /// The user who answers for it, of a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<PrincipalId>,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for CreatePrincipal {
    type Output = PrincipalView;
    const SPEC: Spec = Spec {
        name: "create_principal",
        summary: "Make a user or a service.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestOnly,
        method: Method::Post,
        path: "/admin/principals",
    };
}

/// List users and services by name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPrincipals {
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of principals.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalList {
    /// The principals.
    pub principals: Vec<PrincipalView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListPrincipals {
    type Output = PrincipalList;
    const SPEC: Spec = Spec {
        name: "list_principals",
        summary: "List users and services by name.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/admin/principals",
    };
}

/// Change a user or a service.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdatePrincipal {
    /// The principal.
    pub principal_id: PrincipalId,
    /// Whether it is kept from signing in; all its tokens and sessions end with that. As it is when left out.
    #[serde(default)]
    pub disabled: Option<bool>,
    /// Whether it administers the installation. As it is when left out.
    #[serde(default)]
    pub admin: Option<bool>,
    /// The user who answers for a service. As it is when left out.
    #[serde(default)]
    pub owner_id: Option<PrincipalId>,
}

impl Operation for UpdatePrincipal {
    type Output = PrincipalView;
    const SPEC: Spec = Spec {
        name: "update_principal",
        summary: "Disable or enable a user or a service, make it an administrator or none, or say who answers for a service.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Natural,
        surfaces: Surfaces::RestOnly,
        method: Method::Put,
        path: "/admin/principals/{principal_id}",
    };
}

/// A group, without its members.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupSummary {
    /// Its id.
    pub id: GroupId,
    /// Its name.
    pub name: Name,
    /// Counts changes of its members.
    pub version: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A group with its members.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupView {
    /// Its id.
    pub id: GroupId,
    /// Its name.
    pub name: Name,
    /// Counts changes of its members.
    pub version: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who is in it, at most 1000.
    pub members: Vec<PrincipalId>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// Make a group without members.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateGroup {
    /// Its name.
    pub name: Name,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for CreateGroup {
    type Output = GroupView;
    const SPEC: Spec = Spec {
        name: "create_group",
        summary: "Make a group without members.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestOnly,
        method: Method::Post,
        path: "/admin/groups",
    };
}

/// List groups by name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListGroups {
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of groups.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupList {
    /// The groups.
    pub groups: Vec<GroupSummary>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListGroups {
    type Output = GroupList;
    const SPEC: Spec = Spec {
        name: "list_groups",
        summary: "List groups by name.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/admin/groups",
    };
}

/// Read a group with its members.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetGroup {
    /// The group.
    pub group_id: GroupId,
}

impl Operation for GetGroup {
    type Output = GroupView;
    const SPEC: Spec = Spec {
        name: "get_group",
        summary: "Read a group with its members.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/admin/groups/{group_id}",
    };
}

/// Replace the members of a group.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutGroupMembers {
    /// The group.
    pub group_id: GroupId,
    /// Who is in it from now on: at most 1000 different principals.
    #[serde(deserialize_with = "bounded::list::<0, 1000, _, _>")]
    #[schemars(length(max = 1000))]
    pub members: Vec<PrincipalId>,
    /// The version that the caller has seen.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for PutGroupMembers {
    type Output = GroupView;
    const SPEC: Spec = Spec {
        name: "put_group_members",
        summary: "Replace the members of a group; roles of the group end at once for whoever leaves it.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestOnly,
        method: Method::Put,
        path: "/admin/groups/{group_id}/members",
    };
}
