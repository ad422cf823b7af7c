//! Passwords as slow hashes, links that sign in once, and the count of failed sign-ins.

use pinhole_core::{PrincipalId, Result, Sha256Digest, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{text, time, time_or_null},
};

/// A link that lets its user choose a password, once.
#[derive(Clone, Debug)]
pub struct SignInLink {
    /// SHA-256 of the secret in the link.
    pub secret_sha256: Sha256Digest,
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was used, or replaced by another.
    pub used_at: Option<Timestamp>,
}

/// Failed sign-ins under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignInFailures {
    /// How many since the window began.
    pub failures: u32,
    /// When the window began.
    pub window_began_at: Timestamp,
}

fn read_link(row: &Row) -> Result<SignInLink> {
    Ok(SignInLink {
        secret_sha256: row.parse("secret_sha256")?,
        principal_id: row.parse("principal_id")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        used_at: row.time_or_null("used_at")?,
    })
}

impl Tx {
    /// The hash of a principal's password, as a PHC string.
    pub async fn password_of(&mut self, principal: PrincipalId) -> Result<Option<String>> {
        self.fetch_optional("SELECT hash FROM passwords WHERE principal_id = $1", &[text(principal)], |row| {
            row.text("hash")
        })
        .await
    }

    /// Sets the hash of a principal's password, or replaces it.
    pub async fn put_password(&mut self, principal: PrincipalId, hash: &str) -> Result<()> {
        let now = self.now();
        self.execute(
            "INSERT INTO passwords (principal_id, hash, changed_at) VALUES ($1, $2, $3) \
             ON CONFLICT (principal_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at",
            &[text(principal), text(hash), time(now)],
        )
        .await?;
        Ok(())
    }

    /// Adds a sign-in link.
    pub async fn insert_sign_in_link(&mut self, link: &SignInLink) -> Result<()> {
        let SignInLink { secret_sha256, principal_id, created_at, expires_at, used_at } = link;
        self.execute(
            "INSERT INTO sign_in_links (secret_sha256, principal_id, created_at, expires_at, used_at) \
             VALUES ($1, $2, $3, $4, $5)",
            &[text(secret_sha256), text(principal_id), time(*created_at), time(*expires_at), time_or_null(*used_at)],
        )
        .await?;
        Ok(())
    }

    /// The link with this secret, whatever its state.
    pub async fn sign_in_link(&mut self, secret: Sha256Digest) -> Result<Option<SignInLink>> {
        self.fetch_optional("SELECT * FROM sign_in_links WHERE secret_sha256 = $1", &[text(secret)], read_link).await
    }

    /// Ends every link of a principal that was not used, by its use or by a newer one.
    pub async fn end_sign_in_links_of(&mut self, principal: PrincipalId) -> Result<u64> {
        let now = self.now();
        self.execute(
            "UPDATE sign_in_links SET used_at = $2 WHERE principal_id = $1 AND used_at IS NULL",
            &[text(principal), time(now)],
        )
        .await
    }

    /// Failed sign-ins under a name, given as its digest: people type passwords where names belong.
    pub async fn sign_in_failures(&mut self, name: Sha256Digest) -> Result<Option<SignInFailures>> {
        self.fetch_optional("SELECT * FROM sign_in_failures WHERE name = $1", &[text(name)], |row| {
            Ok(SignInFailures { failures: row.int("failures")?, window_began_at: row.time("window_began_at")? })
        })
        .await
    }

    /// Counts a failed sign-in under a name; the first one begins the window.
    pub async fn count_sign_in_failure(&mut self, name: Sha256Digest) -> Result<()> {
        let now = self.now();
        self.execute(
            "INSERT INTO sign_in_failures (name, failures, window_began_at) VALUES ($1, 1, $2) \
             ON CONFLICT (name) DO UPDATE SET failures = sign_in_failures.failures + 1",
            &[text(name), time(now)],
        )
        .await?;
        Ok(())
    }

    /// Forgets the failed sign-ins under a name.
    pub async fn clear_sign_in_failures(&mut self, name: Sha256Digest) -> Result<()> {
        self.execute("DELETE FROM sign_in_failures WHERE name = $1", &[text(name)]).await?;
        Ok(())
    }

    /// Forgets the failed sign-ins, under whatever name, whose window began at `until` or before.
    pub async fn forget_sign_in_failures(&mut self, until: Timestamp) -> Result<()> {
        self.execute("DELETE FROM sign_in_failures WHERE window_began_at <= $1", &[time(until)]).await?;
        Ok(())
    }
}
