//! The audit log, and the keys that statements are signed with.

use pinhole_core::{AuditId, Name, Permission, PrincipalId, ProjectId, RequestId, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who};

/// List what was changed, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAudit {
    /// Only in this project. Left out by an administrator for the whole installation.
    #[serde(default)]
    pub project: Option<Slug>,
    /// Only by this principal.
    #[serde(default)]
    pub principal_id: Option<PrincipalId>,
    /// Only by this operation.
    #[serde(default)]
    pub operation: Option<Name>,
    /// Only on the object with this id.
    #[serde(default)]
    pub object: Option<Name>,
    /// Only at this instant or later.
    #[serde(default)]
    pub from: Option<Timestamp>,
    /// Only before this instant.
    #[serde(default)]
    pub to: Option<Timestamp>,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntryView {
    /// Its id.
    pub id: AuditId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub principal_id: PrincipalId,
    /// By which operation.
    pub operation: String,
    /// In which project, if in one.
    pub project_id: Option<ProjectId>,
    /// On which object, if on one.
    pub object: Option<String>,
    /// In which call.
    pub request_id: RequestId,
    /// What changed: ids, states and digests, never a secret.
    pub detail: serde_json::Value,
}

/// One page of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditList {
    /// The changes.
    pub entries: Vec<AuditEntryView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListAudit {
    type Output = AuditList;
    const SPEC: Spec = Spec {
        name: "list_audit",
        summary: "List what was changed, newest first: in a project for its owner, everywhere for an administrator.",
        permission: Some(Permission::AuditRead),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/admin/audit",
    };
}

/// List the keys that statements are signed with.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSigningKeys {}

/// A public key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SigningKeyView {
    /// RFC 7638 thumbprint; signatures name it.
    pub key_id: String,
    /// `Ed25519`.
    pub algorithm: String,
    /// The key's 32 bytes in base64url without padding.
    pub public_key: String,
    /// What it may sign.
    pub purpose: SigningKeyUse,
    /// Where it is in its life.
    pub status: SigningKeyStatus,
    /// Why it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a key may sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SigningKeyUse {
    /// Receipts, reviews, decisions, revisions and publication receipts.
    Statement,
    /// Git commits.
    Commit,
    /// Checkpoints of the transparency log.
    Log,
}

/// Where a key is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SigningKeyStatus {
    /// It signs today.
    Active,
    /// It signed once; what it signed stays valid.
    Retired,
    /// Nothing that it signed is accepted.
    Revoked,
}

/// The keys of statements, of commits and of the log: every one that there ever was, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SigningKeyList {
    /// The keys.
    pub keys: Vec<SigningKeyView>,
}

impl Operation for ListSigningKeys {
    type Output = SigningKeyList;
    const SPEC: Spec = Spec {
        name: "list_signing_keys",
        summary: "List the public keys of statements, commits and the log, with their status.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/admin/keys",
    };
}
