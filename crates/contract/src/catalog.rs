//! Catalog revisions.

use pinhole_core::{
    ApprovalId, BaselineEntryId, BaselineKey, EntryState, LineName, Permission, ReceiptId, Sha256Digest, Slug,
    Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who};

/// Which revision of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RevisionSelector {
    /// The present head; the text `latest`.
    Latest(Latest),
    /// Exactly this revision.
    Number(u32),
}

/// The word `latest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Latest {
    /// The only value.
    Latest,
}

/// Read a catalog revision with its entries, by pages.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetCatalogRevision {
    /// The project.
    pub project: Slug,
    /// The line; `main` when left out.
    #[serde(default)]
    pub line: LineName,
    /// A number, or `latest`.
    pub revision: RevisionSelector,
    /// How many entries.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// A catalog revision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogRevisionView {
    /// The project.
    pub project: Slug,
    /// The line.
    pub line: LineName,
    /// Its number.
    pub revision: u32,
    /// Its digest.
    pub digest: Sha256Digest,
    /// Digest of the one before; null for the first.
    pub previous_digest: Option<Sha256Digest>,
    /// What made it.
    pub cause: serde_json::Value,
    /// The signed statement: a DSSE envelope.
    pub envelope: serde_json::Value,
    /// When it was made.
    pub created_at: Timestamp,
    /// Entries in order of their paths.
    pub entries: Vec<CatalogEntryView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

/// One entry of a revision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogEntryView {
    /// Its id.
    pub id: BaselineEntryId,
    /// Its key.
    pub key: BaselineKey,
    /// SHA-256 of its document.
    pub digest: Sha256Digest,
    /// Its receipt.
    pub receipt_id: ReceiptId,
    /// The approval that it came from.
    pub approval_id: ApprovalId,
    /// Its state now.
    pub state: EntryState,
    /// The revision that it came with.
    pub since_revision: u32,
}

impl Operation for GetCatalogRevision {
    type Output = CatalogRevisionView;
    const SPEC: Spec = Spec {
        name: "get_catalog_revision",
        summary: "Read a catalog revision with its signed statement and its entries, by pages.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/catalog/{project}/{revision}",
    };
}
