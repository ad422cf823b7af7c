//! Git remotes that an administrator configured.

use pinhole_core::{RemoteId, Result, Slug, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{json, text, time},
};

/// A Git remote.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Its id.
    pub id: RemoteId,
    /// Its name.
    pub slug: Slug,
    /// Where it is. Holds no credential.
    pub url: String,
    /// Branch names that may be published to; a trailing `*` matches any rest.
    pub branches: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Remote> {
    Ok(Remote {
        id: row.parse("id")?,
        slug: row.parse("slug")?,
        url: row.text("url")?,
        branches: row.json("branches")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a remote, or changes URL and branches of the one with this slug.
    pub async fn put_remote(&mut self, remote: &Remote) -> Result<()> {
        let Remote { id, slug, url, branches, created_at } = remote;
        self.execute(
            "INSERT INTO remotes (id, slug, url, branches, created_at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (slug) DO UPDATE SET url = excluded.url, branches = excluded.branches",
            &[text(id), text(slug), text(url), json(branches)?, time(*created_at)],
        )
        .await?;
        Ok(())
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
