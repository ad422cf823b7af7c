//! Who a provider of identities says somebody is, and the sign-ins that were begun at one.

use pinhole_core::{PrincipalId, Result, SessionId, Sha256Digest, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{text, text_or_null, time, time_or_null},
};

/// A sign-in that was begun at a provider of identities and may be ended once.
#[derive(Clone)]
pub struct OidcFlow {
    /// SHA-256 of the state that the provider gives back.
    pub state_sha256: Sha256Digest,
    /// What the identity token must name.
    pub nonce: String,
    /// The PKCE verifier.
    pub verifier: String,
    /// The session that this is a re-authentication of.
    pub session_id: Option<SessionId>,
    /// The local path to go on to.
    pub return_to: String,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was ended by an answer of the provider.
    pub used_at: Option<Timestamp>,
}

fn read_flow(row: &Row) -> Result<OidcFlow> {
    Ok(OidcFlow {
        state_sha256: row.parse("state_sha256")?,
        nonce: row.text("nonce")?,
        verifier: row.text("verifier")?,
        session_id: row.parse_or_null("session_id")?,
        return_to: row.text("return_to")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        used_at: row.time_or_null("used_at")?,
    })
}

impl Tx {
    /// The principal that a provider knows under this subject. Both texts are opaque and told apart byte by byte.
    pub async fn principal_by_identity(&mut self, issuer: &str, subject: &str) -> Result<Option<PrincipalId>> {
        self.fetch_optional(
            "SELECT principal_id FROM identities WHERE issuer = $1 AND subject = $2",
            &[text(issuer), text(subject)],
            |row| row.parse("principal_id"),
        )
        .await
    }

    /// Lets a provider's subject sign in as a principal; `conflict` when it signs in as one already.
    pub async fn insert_identity(&mut self, issuer: &str, subject: &str, principal: PrincipalId) -> Result<()> {
        let now = self.now();
        self.execute(
            "INSERT INTO identities (issuer, subject, principal_id, created_at) VALUES ($1, $2, $3, $4)",
            &[text(issuer), text(subject), text(principal), time(now)],
        )
        .await?;
        Ok(())
    }

    /// Adds a sign-in that was begun.
    pub async fn insert_oidc_flow(&mut self, flow: &OidcFlow) -> Result<()> {
        let OidcFlow { state_sha256, nonce, verifier, session_id, return_to, created_at, expires_at, used_at } = flow;
        self.execute(
            "INSERT INTO oidc_flows (state_sha256, nonce, verifier, session_id, return_to, created_at, expires_at, \
             used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                text(state_sha256),
                text(nonce),
                text(verifier),
                text_or_null(session_id.as_ref()),
                text(return_to),
                time(*created_at),
                time(*expires_at),
                time_or_null(*used_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The sign-in with this state, whatever became of it.
    pub async fn oidc_flow(&mut self, state: Sha256Digest) -> Result<Option<OidcFlow>> {
        self.fetch_optional("SELECT * FROM oidc_flows WHERE state_sha256 = $1", &[text(state)], read_flow).await
    }

    /// Ends a sign-in that was begun; false when it was ended before.
    pub async fn use_oidc_flow(&mut self, state: Sha256Digest) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute(
                "UPDATE oidc_flows SET used_at = $2 WHERE state_sha256 = $1 AND used_at IS NULL",
                &[text(state), time(now)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Forgets sign-ins that ran out at `until` or before.
    pub async fn forget_oidc_flows(&mut self, until: Timestamp) -> Result<()> {
        self.execute("DELETE FROM oidc_flows WHERE expires_at <= $1", &[time(until)]).await?;
        Ok(())
    }
}
