//! Git remotes of the installation.

use pinhole_core::{Permission, RemoteId, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// Add a Git remote, or change it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutRemote {
    /// Its name.
    pub slug: Slug,
    /// Where it is: an `https://` or `ssh://` URL without password, query and fragment.
    #[serde(deserialize_with = "bounded::text::<1, 2000, _>")]
    #[schemars(length(min = 1, max = 2000))]
    pub url: String,
    /// Branches that may be published to, 1 to 50; a trailing `*` matches any rest.
    #[serde(deserialize_with = "bounded::branches")]
    #[schemars(length(min = 1, max = 50), inner(length(min = 1, max = 200)))]
    pub branches: Vec<String>,
    /// Its present version; 0 for a new one.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

/// A Git remote.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemoteView {
    /// Its id.
    pub id: RemoteId,
    /// Its name.
    pub slug: Slug,
    /// Where it is, without credentials.
    pub url: String,
    /// Branches that may be published to.
    pub branches: Vec<String>,
    /// Counts changes.
    pub version: u32,
    /// Whether the server's own configuration names it; such a one changes there alone.
    pub configured: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Operation for PutRemote {
    type Output = RemoteView;
    const SPEC: Spec = Spec {
        name: "put_remote",
        summary: "Add a Git remote, or change it.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestOnly,
        method: Method::Put,
        path: "/remotes/{slug}",
    };
}

/// List the Git remotes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRemotes {
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// Where to go on.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// Remotes, the oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemoteList {
    /// The remotes.
    pub remotes: Vec<RemoteView>,
    /// Where the next page starts, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListRemotes {
    type Output = RemoteList;
    const SPEC: Spec = Spec {
        name: "list_remotes",
        summary: "List the Git remotes, the oldest first.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/remotes",
    };
}
