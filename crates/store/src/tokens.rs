//! Bearer tokens. Secrets are stored as SHA-256 only.

use pinhole_core::{Name, PrincipalId, Result, Scope, Sha256Digest, Timestamp, TokenId};

use crate::{
    Tx,
    row::Row,
    value::{int, json, text, text_or_null, time, time_or_null},
};

/// A bearer token.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// SHA-256 of the whole secret.
    pub secret_sha256: Sha256Digest,
    /// What it may be used for.
    pub scope: Scope,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// What its owner calls it.
    pub label: Option<Name>,
    /// When it was last used, to within some minutes.
    pub last_used_at: Option<Timestamp>,
}

fn read(row: &Row) -> Result<Token> {
    Ok(Token {
        id: row.parse("id")?,
        principal_id: row.parse("principal_id")?,
        secret_sha256: row.parse("secret_sha256")?,
        scope: row.json("scope")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        revoked_at: row.time_or_null("revoked_at")?,
        label: row.parse_or_null("label")?,
        last_used_at: row.time_or_null("last_used_at")?,
    })
}

impl Tx {
    /// Adds a token.
    pub async fn insert_token(&mut self, token: &Token) -> Result<()> {
        let Token { id, principal_id, secret_sha256, scope, created_at, expires_at, revoked_at, label, last_used_at } =
            token;
        self.execute(
            "INSERT INTO tokens (id, principal_id, secret_sha256, scope, created_at, expires_at, revoked_at, \
             label, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &[
                text(id),
                text(principal_id),
                text(secret_sha256),
                json(scope)?,
                time(*created_at),
                time(*expires_at),
                time_or_null(*revoked_at),
                text_or_null(label.as_ref()),
                time_or_null(*last_used_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The token with this secret, whatever its state.
    pub async fn token_by_secret(&mut self, secret: Sha256Digest) -> Result<Option<Token>> {
        self.fetch_optional("SELECT * FROM tokens WHERE secret_sha256 = $1", &[text(secret)], read).await
    }

    /// Ends a token now; false when it had ended before.
    pub async fn revoke_token(&mut self, id: TokenId) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute("UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL", &[text(id), time(now)])
            .await?;
        Ok(changed == 1)
    }

    /// The token with this id.
    pub async fn token(&mut self, id: TokenId) -> Result<Option<Token>> {
        self.fetch_optional("SELECT * FROM tokens WHERE id = $1", &[text(id)], read).await
    }

    /// Tokens of a principal that were not revoked, newest first, from before `before`.
    pub async fn tokens_of(
        &mut self,
        principal: PrincipalId,
        before: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<Token>> {
        // Ids are ordered by time, and `zzzz` is after every one.
        let before = before.map_or_else(|| "zzzz".to_owned(), |id| id.to_string());
        self.fetch_all(
            "SELECT * FROM tokens WHERE principal_id = $1 AND revoked_at IS NULL AND id < $2 ORDER BY id DESC LIMIT $3",
            &[text(principal), text(before), int(limit)],
            read,
        )
        .await
    }

    /// Tokens of services, or of one of them, that were not revoked, newest first, from before `before`.
    pub async fn list_service_tokens(
        &mut self,
        service: Option<PrincipalId>,
        before: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<Token>> {
        let before = before.map_or_else(|| "zzzz".to_owned(), |id| id.to_string());
        self.fetch_all(
            "SELECT tokens.* FROM tokens JOIN principals ON principals.id = tokens.principal_id \
             WHERE principals.class = 'service' AND tokens.principal_id = coalesce($1, tokens.principal_id) \
             AND tokens.revoked_at IS NULL AND tokens.id < $2 ORDER BY tokens.id DESC LIMIT $3",
            &[text_or_null(service), text(before), int(limit)],
            read,
        )
        .await
    }

    /// Ends every token of a principal.
    pub async fn revoke_tokens_of(&mut self, principal: PrincipalId) -> Result<u64> {
        let now = self.now();
        self.execute(
            "UPDATE tokens SET revoked_at = $2 WHERE principal_id = $1 AND revoked_at IS NULL",
            &[text(principal), time(now)],
        )
        .await
    }

    /// Remembers that a token was used now.
    pub async fn touch_token(&mut self, id: TokenId) -> Result<()> {
        let now = self.now();
        self.execute("UPDATE tokens SET last_used_at = $2 WHERE id = $1", &[text(id), time(now)]).await?;
        Ok(())
    }
}
