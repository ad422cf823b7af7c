//! Git remotes that an administrator configured.

use pinhole_core::{RemoteId, Result, Slug, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, json, text, text_or_null, time},
};

/// A Git remote.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Its id.
    pub id: RemoteId,
    /// Its name.
    pub slug: Slug,
    /// Where it is.
    pub url: String,
    /// Branch names that may be published to; a trailing `*` matches any rest.
    pub branches: Vec<String>,
    /// Counts changes, from 1.
    pub version: u32,
    /// Whether the server's own configuration names it, rather than an administrator's call.
    pub is_configured: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

const CONFIGURATION: &str = "configuration";
const API: &str = "api";

fn read(row: &Row) -> Result<Remote> {
    Ok(Remote {
        id: row.parse("id")?,
        slug: row.parse("slug")?,
        url: row.text("url")?,
        branches: row.json("branches")?,
        version: row.int("version")?,
        is_configured: row.text("source")? == CONFIGURATION,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a remote, or changes everything but id and instant of the one with this slug.
    pub async fn put_remote(&mut self, remote: &Remote) -> Result<()> {
        let Remote { id, slug, url, branches, version, is_configured, created_at } = remote;
        let source = if *is_configured { CONFIGURATION } else { API };
        self.execute(
            "INSERT INTO remotes (id, slug, url, branches, version, source, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (slug) DO UPDATE SET url = excluded.url, \
             branches = excluded.branches, version = excluded.version, source = excluded.source",
            &[text(id), text(slug), text(url), json(branches)?, int(*version), text(source), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// Remotes in the order in which they were made, from after `after`.
    pub async fn list_remotes(&mut self, after: Option<RemoteId>, limit: u32) -> Result<Vec<Remote>> {
        self.fetch_all(
            "SELECT * FROM remotes WHERE ($1 IS NULL OR id > $1) ORDER BY id LIMIT $2",
            &[text_or_null(after), int(limit)],
            read,
        )
        .await
    }

    /// The remote with this slug.
    pub async fn remote_by_slug(&mut self, slug: &Slug) -> Result<Option<Remote>> {
        self.fetch_optional("SELECT * FROM remotes WHERE slug = $1", &[text(slug)], read).await
    }

    /// The remote with this id.
    pub async fn remote(&mut self, id: RemoteId) -> Result<Option<Remote>> {
        self.fetch_optional("SELECT * FROM remotes WHERE id = $1", &[text(id)], read).await
    }
}
