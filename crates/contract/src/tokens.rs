//! Bearer tokens: people's own and those of services. A secret is shown once, by the call that makes it.

use std::borrow::Cow;

use pinhole_core::{IdempotencyKey, Name, Permission, PrincipalId, Scope, Timestamp, TokenId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// How long a token lasts in days, 1 to 365; 90 when left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct LifetimeDays(u32);

impl LifetimeDays {
    /// The number of days.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for LifetimeDays {
    fn default() -> Self {
        Self(90)
    }
}

impl TryFrom<u32> for LifetimeDays {
    type Error = &'static str;

    fn try_from(days: u32) -> Result<Self, Self::Error> {
        if (1..=365).contains(&days) { Ok(Self(days)) } else { Err("expected 1 to 365 days") }
    }
}

impl From<LifetimeDays> for u32 {
    fn from(days: LifetimeDays) -> Self {
        days.0
    }
}

impl JsonSchema for LifetimeDays {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LifetimeDays".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": 365, "default": 90 })
    }
}

/// A bearer token, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    /// Its id.
    pub id: TokenId,
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// What its owner calls it.
    pub label: Option<Name>,
    /// What it may be used for; grants come on top.
    pub scope: Scope,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was revoked.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to within some minutes.
    pub last_used_at: Option<Timestamp>,
}

/// A token that a call made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NewTokenView {
    /// The token.
    pub token: TokenView,
    /// What goes into the `Authorization` header after `Bearer`. Null on a repeat: it is shown once and stored nowhere.
    pub secret: Option<String>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// One page of tokens.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// The tokens that were not revoked.
    pub tokens: Vec<TokenView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

/// List the caller's own tokens, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMyTokens {
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

impl Operation for ListMyTokens {
    type Output = TokenList;
    const SPEC: Spec = Spec {
        name: "list_my_tokens",
        summary: "List the caller's own tokens that were not revoked, newest first.",
        permission: None,
        who: Who::Session,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/me/tokens",
    };
}

/// Make a token of one's own.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateMyToken {
    /// What to call it.
    #[serde(default)]
    pub label: Option<Name>,
    /// What it may be used for: permissions that the caller has somewhere, or `all`, which is whatever the caller may at
    /// the time of each call.
    #[serde(deserialize_with = "bounded::scope")]
    pub scope: Scope,
    /// Days until it ends.
    #[serde(default)]
    pub lifetime_days: LifetimeDays,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for CreateMyToken {
    type Output = NewTokenView;
    const SPEC: Spec = Spec {
        name: "create_my_token",
        summary: "Make a bearer token of one's own; the secret is shown once.",
        permission: None,
        who: Who::Session,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestOnly,
        method: Method::Post,
        path: "/me/tokens",
    };
}

/// Revoke a token of one's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeMyToken {
    /// The token.
    pub token_id: TokenId,
}

impl Operation for RevokeMyToken {
    type Output = TokenView;
    const SPEC: Spec = Spec {
        name: "revoke_my_token",
        summary: "Revoke a token of one's own; the next call with it is refused.",
        permission: None,
        who: Who::Session,
        idempotency: Idempotency::Natural,
        surfaces: Surfaces::RestOnly,
        method: Method::Delete,
        path: "/me/tokens/{token_id}",
    };
}

/// List the tokens of services, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListServiceTokens {
    /// Only those of this service.
    #[serde(default)]
    pub principal_id: Option<PrincipalId>,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

impl Operation for ListServiceTokens {
    type Output = TokenList;
    const SPEC: Spec = Spec {
        name: "list_service_tokens",
        summary: "List the tokens of services that were not revoked, newest first.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/admin/service-tokens",
    };
}

/// Make a token for a service.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateServiceToken {
    /// The service.
    pub principal_id: PrincipalId,
    /// What to call it.
    #[serde(default)]
    pub label: Option<Name>,
    /// What it may be used for; the service's grants come on top.
    #[serde(deserialize_with = "bounded::scope")]
    pub scope: Scope,
    /// Days until it ends.
    #[serde(default)]
    pub lifetime_days: LifetimeDays,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for CreateServiceToken {
    type Output = NewTokenView;
    const SPEC: Spec = Spec {
        name: "create_service_token",
        summary: "Make a bearer token for a service; the secret is shown once.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestOnly,
        method: Method::Post,
        path: "/admin/service-tokens",
    };
}

/// Revoke a token of a service.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeServiceToken {
    /// The token.
    pub token_id: TokenId,
}

impl Operation for RevokeServiceToken {
    type Output = TokenView;
    const SPEC: Spec = Spec {
        name: "revoke_service_token",
        summary: "Revoke a token of a service; the next call with it is refused.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Natural,
        surfaces: Surfaces::RestOnly,
        method: Method::Delete,
        path: "/admin/service-tokens/{token_id}",
    };
}
