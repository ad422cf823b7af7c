//! Catalog revisions and baseline entries, as they are read.

use pinhole_core::{
    ApprovalId, BaselineEntryId, BaselineKey, EntryState, LineName, Permission, ReceiptId, ReviewId, Sha256Digest,
    Slug, Timestamp,
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
    /// What made it; when that is the end of an entry in an environment that the caller does not see, only its kind.
    pub cause: serde_json::Value,
    /// The signed statement, a DSSE envelope; null when the caller does not see all of the cause, which is in it.
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

/// List the revisions of a catalog line, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCatalogRevisions {
    /// The project.
    pub project: Slug,
    /// The line; `main` when left out.
    #[serde(default)]
    pub line: LineName,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// A catalog revision in a list: without its entries and its statement.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedRevisionView {
    /// Its number.
    pub revision: u32,
    /// Its digest.
    pub digest: Sha256Digest,
    /// Digest of the one before; null for the first.
    pub previous_digest: Option<Sha256Digest>,
    /// What made it; when that is the end of an entry in an environment that the caller does not see, only its kind.
    pub cause: serde_json::Value,
    /// When it was made.
    pub created_at: Timestamp,
}

/// One page of catalog revisions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogRevisionList {
    /// The revisions.
    pub revisions: Vec<ListedRevisionView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListCatalogRevisions {
    type Output = CatalogRevisionList;
    const SPEC: Spec = Spec {
        name: "list_catalog_revisions",
        summary: "List the revisions of a catalog line with their causes, newest first.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/catalog/{project}",
    };
}

/// Read a baseline entry, whatever its state.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetBaseline {
    /// The entry.
    pub entry_id: BaselineEntryId,
}

/// A baseline entry with what was fixed when it was approved.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BaselineView {
    /// Its id.
    pub id: BaselineEntryId,
    /// Its key.
    pub key: BaselineKey,
    /// Its state now.
    pub state: EntryState,
    /// SHA-256 of its document.
    pub digest: Sha256Digest,
    /// SHA-256 of its picture.
    pub capture_digest: Sha256Digest,
    /// SHA-256 over the decoded picture.
    pub pixel_digest: Sha256Digest,
    /// Digest of everything but the page that the picture depends on.
    pub render_digest: Sha256Digest,
    /// Digest of the capture's rules.
    pub rules_digest: Sha256Digest,
    /// Its receipt.
    pub receipt_id: ReceiptId,
    /// The accepting review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_id: Option<ReviewId>,
    /// The approval that it came from.
    pub approval_id: ApprovalId,
    /// The revision that it came with.
    pub since_revision: u32,
    /// The revision that it left with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_revision: Option<u32>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Operation for GetBaseline {
    type Output = BaselineView;
    const SPEC: Spec = Spec {
        name: "get_baseline",
        summary: "Read a baseline entry: its key, digests, evidence, state and the revisions that it stands in.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/baselines/{entry_id}",
    };
}

/// List the baseline entries of a project, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListBaselines {
    /// The project.
    pub project: Slug,
    /// Only those of this line.
    #[serde(default)]
    pub line: Option<LineName>,
    /// Only those in this environment.
    #[serde(default)]
    pub environment: Option<Slug>,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<EntryState>,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of baseline entries.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BaselineList {
    /// The entries.
    pub baselines: Vec<BaselineView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListBaselines {
    type Output = BaselineList;
    const SPEC: Spec = Spec {
        name: "list_baselines",
        summary: "List the baseline entries of a project that the caller may see, of every state, newest first.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/baselines",
    };
}
