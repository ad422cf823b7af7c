//! Publication of catalog revisions to Git.

use pinhole_core::{IdempotencyKey, LineName, Permission, PublicationId, PublicationState, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// Where the caller has seen the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ExpectedHead {
    /// At this commit; null when the branch does not exist yet.
    Commit(
        #[serde(deserialize_with = "bounded::optional_commit")]
        #[schemars(regex(pattern = "^[0-9a-f]{40}$"))]
        Option<String>,
    ),
    /// Wherever this publication leaves it.
    After(PublicationId),
}

/// Publish a catalog revision to a branch.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishBaselineCatalog {
    /// The project.
    pub project: Slug,
    /// The line; `main` when left out.
    #[serde(default)]
    pub line: LineName,
    /// The remote's slug.
    pub remote: Slug,
    /// The branch, without `refs/heads/`.
    pub branch: LineName,
    /// Where the caller has seen the branch.
    pub expected_head: ExpectedHead,
    /// The publication to try again after a conflict.
    #[serde(default)]
    pub publication_id: Option<PublicationId>,
    /// The line's present revision, which is the one that is published.
    #[serde(default)]
    pub expected_version: Option<u32>,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A publication. Only `published` means published.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PublicationView {
    /// Its id.
    pub id: PublicationId,
    /// The project.
    pub project: Slug,
    /// The line.
    pub line: LineName,
    /// The catalog revision.
    pub revision: u32,
    /// The remote's slug.
    pub remote: Slug,
    /// The branch.
    pub branch: LineName,
    /// Its state.
    pub state: PublicationState,
    /// Counts changes.
    pub version: u32,
    /// The newest attempts with their expected heads and outcomes, at most 50, in order.
    pub attempts: Vec<PublicationAttemptView>,
    /// How many earlier attempts there were.
    pub attempts_omitted: u32,
    /// What later looks at the branch found of it, each otherwise than the one before, in order, the newest 20. The last
    /// one counts; without any it was never missed.
    #[serde(default)]
    pub observations: Vec<PublicationObservationView>,
    /// What a person needs to know about the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The signed receipt of the read-back (a DSSE envelope), once published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<serde_json::Value>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// One attempt of a publication.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PublicationAttemptView {
    /// From 1.
    pub attempt: u32,
    /// Where the caller had seen the branch.
    pub expected_head: ExpectedHead,
    /// The commit that ours stands on.
    pub base_commit: Option<String>,
    /// Our commit.
    pub commit: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
    /// Why it ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What a look at the branch for a later publication found of this one. Its state stays what its receipt says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PublicationObservationView {
    /// From 1.
    pub number: u32,
    /// When it was seen.
    pub seen_at: Timestamp,
    /// The branch's head; null when there was no branch.
    pub head: Option<String>,
    /// Whether the head held the publication's marker, as it was published.
    pub on_branch: bool,
}

impl Operation for PublishBaselineCatalog {
    type Output = PublicationView;
    const SPEC: Spec = Spec {
        name: "publish_baseline_catalog",
        summary: "Publish the line's present revision to a Git branch; the answer is queued, not published.",
        permission: Some(Permission::CatalogPublish),
        who: Who::Any,
        idempotency: Idempotency::KeyedCas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/publications",
    };
}

/// Read a publication.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPublication {
    /// The publication.
    pub publication_id: PublicationId,
}

impl Operation for GetPublication {
    type Output = PublicationView;
    const SPEC: Spec = Spec {
        name: "get_publication",
        summary: "Read a publication: its state, attempts and receipt, and whether it was missed later.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/publications/{publication_id}",
    };
}

/// List the publications of a project, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPublications {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// A publication in a list: without its attempts and its receipt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedPublicationView {
    /// Its id.
    pub id: PublicationId,
    /// The line.
    pub line: LineName,
    /// The catalog revision.
    pub revision: u32,
    /// The remote's slug.
    pub remote: Slug,
    /// The branch.
    pub branch: LineName,
    /// Its state.
    pub state: PublicationState,
    /// Counts changes.
    pub version: u32,
    /// The present attempt, from 1.
    pub attempt: u32,
    /// What a person needs to know about the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// One page of publications.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PublicationList {
    /// The publications.
    pub publications: Vec<ListedPublicationView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListPublications {
    type Output = PublicationList;
    const SPEC: Spec = Spec {
        name: "list_publications",
        summary: "List the publications of a project, newest first.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/publications",
    };
}
