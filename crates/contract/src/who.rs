//! Who the caller is, and what there is to call.

use pinhole_core::{GroupId, Name, PrincipalClass, PrincipalId, Scope, SessionId, Timestamp, TokenId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Idempotency, Method, Operation, OperationView, Spec, Surfaces, Who};

/// Who am I?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whoami {}

/// The caller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WhoamiView {
    /// The principal.
    pub id: PrincipalId,
    /// A person or a program.
    pub class: PrincipalClass,
    /// Its name.
    pub name: Name,
    /// Whether it administers the installation.
    pub admin: bool,
    /// The groups that it is in, by name.
    pub groups: Vec<GroupRef>,
    /// By what it was authenticated.
    pub credential: CredentialView,
    /// Until when this session may decide without another proof of who the user is; null when it may not, and for tokens.
    pub human_authority_until: Option<Timestamp>,
}

/// A group by id and name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupRef {
    /// Its id.
    pub id: GroupId,
    /// Its name.
    pub name: Name,
}

/// A credential, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CredentialView {
    /// A browser session.
    Session {
        /// Its id.
        id: SessionId,
        /// When it ends whatever happens; earlier when it is not used.
        expires_at: Timestamp,
    },
    /// A bearer token.
    Token {
        /// Its id.
        id: TokenId,
        /// What it may be used for; grants come on top.
        scope: Scope,
        /// When it ends.
        expires_at: Timestamp,
    },
}

impl Operation for Whoami {
    type Output = WhoamiView;
    const SPEC: Spec = Spec {
        name: "whoami",
        summary: "Tell who the caller is.",
        permission: None,
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/me",
    };
}

/// What can be called?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListOperations {}

/// Every operation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperationList {
    /// Version of the catalog.
    pub catalog_version: String,
    /// The operations.
    pub operations: Vec<OperationView>,
}

impl Operation for ListOperations {
    type Output = OperationList;
    const SPEC: Spec = Spec {
        name: "list_operations",
        summary: "List every operation with its permission, principal class and idempotency class.",
        permission: None,
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/operations",
    };
}
