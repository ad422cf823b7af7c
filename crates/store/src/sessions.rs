//! Browser sessions. Secrets are stored as SHA-256 only.

use pinhole_core::{PrincipalId, Result, SessionId, Sha256Digest, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, text, time, time_or_null},
};

/// A browser session of a user.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// SHA-256 of the secret in the cookie.
    pub secret_sha256: Sha256Digest,
    /// How the user signed in: `password`, `oidc` or `link`.
    pub method: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When the user last proved who they are.
    pub reauthenticated_at: Timestamp,
    /// When it was last used, to within a minute.
    pub last_used_at: Timestamp,
    /// When it ends whatever happens.
    pub expires_at: Timestamp,
    /// When it was ended.
    pub ended_at: Option<Timestamp>,
}

fn read(row: &Row) -> Result<Session> {
    Ok(Session {
        id: row.parse("id")?,
        principal_id: row.parse("principal_id")?,
        secret_sha256: row.parse("secret_sha256")?,
        method: row.text("method")?,
        created_at: row.time("created_at")?,
        reauthenticated_at: row.time("reauthenticated_at")?,
        last_used_at: row.time("last_used_at")?,
        expires_at: row.time("expires_at")?,
        ended_at: row.time_or_null("ended_at")?,
    })
}

impl Tx {
    /// Adds a session.
    pub async fn insert_session(&mut self, session: &Session) -> Result<()> {
        let Session { id, principal_id, secret_sha256, method, created_at, reauthenticated_at, .. } = session;
        let Session { last_used_at, expires_at, ended_at, .. } = session;
        self.execute(
            "INSERT INTO sessions (id, principal_id, secret_sha256, method, created_at, reauthenticated_at, \
             last_used_at, expires_at, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &[
                text(id),
                text(principal_id),
                text(secret_sha256),
                text(method),
                time(*created_at),
                time(*reauthenticated_at),
                time(*last_used_at),
                time(*expires_at),
                time_or_null(*ended_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The session with this secret, whatever its state.
    pub async fn session_by_secret(&mut self, secret: Sha256Digest) -> Result<Option<Session>> {
        self.fetch_optional("SELECT * FROM sessions WHERE secret_sha256 = $1", &[text(secret)], read).await
    }

    /// The session with this id.
    pub async fn session(&mut self, id: SessionId) -> Result<Option<Session>> {
        self.fetch_optional("SELECT * FROM sessions WHERE id = $1", &[text(id)], read).await
    }

    /// Sessions of a principal that were not ended, have not run out and were used since `used_since`, newest first,
    /// from before `before`.
    pub async fn sessions_of(
        &mut self,
        principal: PrincipalId,
        used_since: Timestamp,
        before: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<Session>> {
        let now = self.now();
        // Ids are ordered by time, and `zzzz` is after every one.
        let before = before.map_or_else(|| "zzzz".to_owned(), |id| id.to_string());
        self.fetch_all(
            "SELECT * FROM sessions WHERE principal_id = $1 AND ended_at IS NULL AND expires_at > $2 \
             AND last_used_at >= $3 AND id < $4 ORDER BY id DESC LIMIT $5",
            &[text(principal), time(now), time(used_since), text(before), int(limit)],
            read,
        )
        .await
    }

    /// Remembers that a session was used now.
    pub async fn touch_session(&mut self, id: SessionId) -> Result<()> {
        let now = self.now();
        self.execute("UPDATE sessions SET last_used_at = $2 WHERE id = $1", &[text(id), time(now)]).await?;
        Ok(())
    }

    /// Gives a session that goes on a new secret, as after each proof of who the user is; false when it has ended.
    pub async fn renew_session(&mut self, id: SessionId, secret: Sha256Digest) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute(
                "UPDATE sessions SET secret_sha256 = $2, reauthenticated_at = $3, last_used_at = $3 \
                 WHERE id = $1 AND ended_at IS NULL AND expires_at > $3",
                &[text(id), text(secret), time(now)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Ends a session now; false when it had ended before.
    pub async fn end_session(&mut self, id: SessionId) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute("UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL", &[text(id), time(now)])
            .await?;
        Ok(changed == 1)
    }

    /// Ends every session of a principal but one.
    pub async fn end_other_sessions_of(&mut self, principal: PrincipalId, kept: SessionId) -> Result<u64> {
        let now = self.now();
        self.execute(
            "UPDATE sessions SET ended_at = $2 WHERE principal_id = $1 AND id <> $3 AND ended_at IS NULL",
            &[text(principal), time(now), text(kept)],
        )
        .await
    }

    /// Ends every session of a principal.
    pub async fn end_sessions_of(&mut self, principal: PrincipalId) -> Result<u64> {
        let now = self.now();
        self.execute(
            "UPDATE sessions SET ended_at = $2 WHERE principal_id = $1 AND ended_at IS NULL",
            &[text(principal), time(now)],
        )
        .await
    }
}
