//! Git remotes that an administrator configured.

use pinhole_core::{Error, RemoteId, Result, Slug, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Tx,
    row::Row,
    value::{int, int_or_null, json, json_or_null, text, text_or_null, time, time_or_null},
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
    /// Branch names that may be published to; a trailing `*` matches any rest. None when the remote is closed.
    pub branches: Vec<String>,
    /// The SSH server's host key: `SHA256:` and base64.
    pub host_key: Option<String>,
    /// Certificates in PEM by which an HTTPS server is known.
    pub certificate_authorities: Option<String>,
    /// What the server is shown.
    pub credential: Option<SealedCredential>,
    /// Counts changes, from 1.
    pub version: u32,
    /// Whether the server's own configuration names it, rather than an administrator's call.
    pub is_configured: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A credential at rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCredential {
    /// What is not secret of it.
    pub facts: CredentialFacts,
    /// Its sealed form.
    pub sealed: String,
    /// The remote's version at which it was given.
    pub version: u32,
    /// When it was given.
    pub set_at: Timestamp,
}

/// What may be shown of a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CredentialFacts {
    /// Over HTTPS.
    Password {
        /// The user.
        user: String,
    },
    /// Over SSH.
    SshKey {
        /// The public half as a line, where the private key holds it apart.
        public_key: Option<String>,
    },
}

const CONFIGURATION: &str = "configuration";
const API: &str = "api";

fn read(row: &Row) -> Result<Remote> {
    Ok(Remote {
        id: row.parse("id")?,
        slug: row.parse("slug")?,
        url: row.text("url")?,
        branches: row.json("branches")?,
        host_key: row.text_or_null("host_key")?,
        certificate_authorities: row.text_or_null("certificate_authorities")?,
        credential: read_credential(row)?,
        version: row.int("version")?,
        is_configured: row.text("source")? == CONFIGURATION,
        created_at: row.time("created_at")?,
    })
}

fn read_credential(row: &Row) -> Result<Option<SealedCredential>> {
    let Some(sealed) = row.text_or_null("credential")? else { return Ok(None) };
    let set_at = row.time_or_null("credential_set_at")?;
    Ok(Some(SealedCredential {
        facts: row.json("credential_facts")?,
        sealed,
        version: row.int("credential_version")?,
        set_at: set_at.ok_or_else(|| Error::internal("a credential that was never given"))?,
    }))
}

impl Tx {
    /// Adds a remote, or changes everything but id and instant of the one with this slug.
    pub async fn put_remote(&mut self, remote: &Remote) -> Result<()> {
        let Remote { id, slug, url, branches, version, is_configured, created_at, .. } = remote;
        let source = if *is_configured { CONFIGURATION } else { API };
        let credential = remote.credential.as_ref();
        self.execute(
            "INSERT INTO remotes (id, slug, url, branches, version, source, created_at, host_key, \
             certificate_authorities, credential, credential_facts, credential_version, credential_set_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
             ON CONFLICT (slug) DO UPDATE SET url = excluded.url, branches = excluded.branches, \
             version = excluded.version, source = excluded.source, host_key = excluded.host_key, \
             certificate_authorities = excluded.certificate_authorities, credential = excluded.credential, \
             credential_facts = excluded.credential_facts, credential_version = excluded.credential_version, \
             credential_set_at = excluded.credential_set_at",
            &[
                text(id),
                text(slug),
                text(url),
                json(branches)?,
                int(*version),
                text(source),
                time(*created_at),
                text_or_null(remote.host_key.as_ref()),
                text_or_null(remote.certificate_authorities.as_ref()),
                text_or_null(credential.map(|stored| &stored.sealed)),
                json_or_null(credential.map(|stored| &stored.facts))?,
                int_or_null(credential.map(|stored| stored.version)),
                time_or_null(credential.map(|stored| stored.set_at)),
            ],
        )
        .await?;
        Ok(())
    }

    /// At most `limit` remotes whose sealed credential does not begin with `prefix`, which holds neither `%` nor `_`.
    pub async fn remotes_sealed_otherwise(&mut self, prefix: &str, limit: u32) -> Result<Vec<Remote>> {
        self.fetch_all(
            "SELECT * FROM remotes WHERE credential IS NOT NULL AND credential NOT LIKE $1 || '%' \
             ORDER BY id LIMIT $2",
            &[text(prefix), int(limit)],
            read,
        )
        .await
    }

    /// Stores the same credential of a remote sealed anew.
    pub async fn reseal_remote(&mut self, id: RemoteId, sealed: &str) -> Result<()> {
        let sql = "UPDATE remotes SET credential = $2 WHERE id = $1";
        self.execute(sql, &[text(id), text(sealed)]).await?;
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
