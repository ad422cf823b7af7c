//! Catalog lines: forking one, carrying items from one to another, and reading which there are.

use pinhole_core::{
    IdempotencyKey, LineName, LineOrigin, Name, Permission, PublicationIntent, Sha256Digest, Slug, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApprovalView, Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// Begin a line with the active entries of a revision of another.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkCatalogLine {
    /// The project.
    pub project: Slug,
    /// The new line's name.
    pub line: LineName,
    /// The line that it is forked from; `main` when left out.
    #[serde(default)]
    pub from: LineName,
    /// Exactly this revision of it.
    pub revision: u32,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A catalog line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogLineView {
    /// The project.
    pub project: Slug,
    /// Its name.
    pub line: LineName,
    /// Number of its present revision.
    pub revision: u32,
    /// Digest of its present revision.
    pub digest: Sha256Digest,
    /// The revision that it was forked from; null for `main`.
    pub forked_from: Option<LineOrigin>,
    /// When its first revision was made.
    pub created_at: Timestamp,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

impl Operation for ForkCatalogLine {
    type Output = CatalogLineView;
    const SPEC: Spec = Spec {
        name: "fork_catalog_line",
        summary: "Begin a catalog line with the active entries of an exact revision of another line.",
        permission: Some(Permission::LineWrite),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/catalog/{project}/fork",
    };
}

/// Ask a person to approve what one line has, for another. Receipts and reviews are those of the entries. An entry whose
/// key changed on the other line since the fork is in the way, until it is left out by name.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromoteCatalogLine {
    /// The project.
    pub project: Slug,
    /// The line whose active entries are carried.
    pub from: LineName,
    /// The present revision of that line.
    pub revision: u32,
    /// The line that they are carried to; `main` when left out.
    #[serde(default)]
    pub line: LineName,
    /// Entries that stay behind, by their paths in a published catalog: `baselines/…json`.
    #[serde(default, deserialize_with = "bounded::texts::<2000, 400, _>")]
    #[schemars(length(max = 2000), inner(length(min = 1, max = 400)))]
    pub leave_out: Vec<String>,
    /// A label for people, such as a release.
    #[serde(default)]
    pub release_label: Option<Name>,
    /// Where the revision is to be published.
    #[serde(default)]
    pub publication: Option<PublicationIntent>,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Operation for PromoteCatalogLine {
    type Output = ApprovalView;
    const SPEC: Spec = Spec {
        name: "promote_catalog_line",
        summary: "Ask a person to approve the entries of one catalog line for another, with their receipts and reviews.",
        permission: Some(Permission::LineWrite),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/catalog/{project}/promote",
    };
}

/// Read where a catalog line stands.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetCatalogLine {
    /// The project.
    pub project: Slug,
    /// The line; `main` when left out.
    #[serde(default)]
    pub line: LineName,
}

impl Operation for GetCatalogLine {
    type Output = CatalogLineView;
    const SPEC: Spec = Spec {
        name: "get_catalog_line",
        summary: "Read where a catalog line stands and what it was forked from.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/catalog/{project}/line",
    };
}

/// List the catalog lines of a project by name: all that have a revision.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCatalogLines {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of catalog lines.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogLineList {
    /// The lines.
    pub lines: Vec<CatalogLineView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListCatalogLines {
    type Output = CatalogLineList;
    const SPEC: Spec = Spec {
        name: "list_catalog_lines",
        summary: "List the catalog lines of a project with their present revisions and what they were forked from.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/catalog/{project}/lines",
    };
}
