//! Principals, their tokens, grants and decision tickets. Secrets are stored as SHA-256 only.

use pinhole_core::{
    EnvironmentId, Name, PrincipalClass, PrincipalId, ProjectId, Reason, Result, Role, Scope, Sha256Digest, TicketId,
    Timestamp, TokenId, Via,
};

use crate::{
    Tx,
    row::Row,
    value::{int, json, text, time, time_or_null},
};

/// A user or a service.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Its id.
    pub id: PrincipalId,
    /// A person or a program.
    pub class: PrincipalClass,
    /// Its publication name; unique.
    pub name: Name,
    /// Since when it administers the installation.
    pub admin_since: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

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
}

/// A role of a principal in a project or in one environment of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whose.
    pub principal_id: PrincipalId,
    /// Where.
    pub project_id: ProjectId,
    /// Only in this environment, or in the whole project.
    pub environment_id: Option<EnvironmentId>,
    /// What.
    pub role: Role,
}

/// A single-use decision ticket.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// Its id.
    pub id: TicketId,
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// SHA-256 of the secret.
    pub secret_sha256: Sha256Digest,
    /// The one object.
    pub object_id: String,
    /// Its one version.
    pub object_version: u32,
    /// The one intent.
    pub intent_sha256: Sha256Digest,
    /// The one outcome: `accept`, `reject`, `approve` or `deny`.
    pub outcome: String,
    /// The reason that goes with it.
    pub reason: Reason,
    /// How it was minted.
    pub via: Via,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
}

fn read_principal(row: &Row) -> Result<Principal> {
    Ok(Principal {
        id: row.parse("id")?,
        class: row.parse("class")?,
        name: row.parse("name")?,
        admin_since: row.time_or_null("admin_since")?,
        created_at: row.time("created_at")?,
    })
}

fn read_token(row: &Row) -> Result<Token> {
    Ok(Token {
        id: row.parse("id")?,
        principal_id: row.parse("principal_id")?,
        secret_sha256: row.parse("secret_sha256")?,
        scope: row.json("scope")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        revoked_at: row.time_or_null("revoked_at")?,
    })
}

fn read_grant(row: &Row) -> Result<Grant> {
    let environment = row.text("environment_id")?;
    Ok(Grant {
        principal_id: row.parse("principal_id")?,
        project_id: row.parse("project_id")?,
        environment_id: if environment.is_empty() { None } else { Some(row.parse("environment_id")?) },
        role: row.parse("role")?,
    })
}

fn read_ticket(row: &Row) -> Result<Ticket> {
    Ok(Ticket {
        id: row.parse("id")?,
        principal_id: row.parse("principal_id")?,
        secret_sha256: row.parse("secret_sha256")?,
        object_id: row.text("object_id")?,
        object_version: row.int("object_version")?,
        intent_sha256: row.parse("intent_sha256")?,
        outcome: row.text("outcome")?,
        reason: row.parse("reason")?,
        via: row.parse("via")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        used_at: row.time_or_null("used_at")?,
    })
}

impl Tx {
    /// Adds a principal; `conflict` when the name is taken.
    pub async fn insert_principal(&mut self, principal: &Principal) -> Result<()> {
        let Principal { id, class, name, admin_since, created_at } = principal;
        self.execute(
            "INSERT INTO principals (id, class, name, admin_since, created_at) VALUES ($1, $2, $3, $4, $5)",
            &[text(id), text(class), text(name), time_or_null(*admin_since), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// The principal with this id.
    pub async fn principal(&mut self, id: PrincipalId) -> Result<Option<Principal>> {
        self.fetch_optional("SELECT * FROM principals WHERE id = $1", &[text(id)], read_principal).await
    }

    /// The principal with this name.
    pub async fn principal_by_name(&mut self, name: &Name) -> Result<Option<Principal>> {
        self.fetch_optional("SELECT * FROM principals WHERE name = $1", &[text(name)], read_principal).await
    }

    /// Adds a token.
    pub async fn insert_token(&mut self, token: &Token) -> Result<()> {
        let Token { id, principal_id, secret_sha256, scope, created_at, expires_at, revoked_at } = token;
        self.execute(
            "INSERT INTO tokens (id, principal_id, secret_sha256, scope, created_at, expires_at, revoked_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                text(id),
                text(principal_id),
                text(secret_sha256),
                json(scope)?,
                time(*created_at),
                time(*expires_at),
                time_or_null(*revoked_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The token with this secret, whatever its state.
    pub async fn token_by_secret(&mut self, secret: Sha256Digest) -> Result<Option<Token>> {
        self.fetch_optional("SELECT * FROM tokens WHERE secret_sha256 = $1", &[text(secret)], read_token).await
    }

    /// Ends a token now; false when it had ended before.
    pub async fn revoke_token(&mut self, id: TokenId) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute("UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL", &[text(id), time(now)])
            .await?;
        Ok(changed == 1)
    }

    /// Adds a grant; the same one again changes nothing.
    pub async fn insert_grant(&mut self, grant: &Grant) -> Result<()> {
        let now = self.now();
        let Grant { principal_id, project_id, environment_id, role } = grant;
        let environment = environment_id.map(|id| id.to_string()).unwrap_or_default();
        self.execute(
            "INSERT INTO grants (principal_id, project_id, environment_id, role, created_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            &[text(principal_id), text(project_id), text(environment), text(role), time(now)],
        )
        .await?;
        Ok(())
    }

    /// Removes a grant; false when there was none.
    pub async fn delete_grant(&mut self, grant: &Grant) -> Result<bool> {
        let Grant { principal_id, project_id, environment_id, role } = grant;
        let environment = environment_id.map(|id| id.to_string()).unwrap_or_default();
        let changed = self
            .execute(
                "DELETE FROM grants \
                 WHERE principal_id = $1 AND project_id = $2 AND environment_id = $3 AND role = $4",
                &[text(principal_id), text(project_id), text(environment), text(role)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Every grant of a principal in a project, at most 500.
    pub async fn grants_in(&mut self, principal: PrincipalId, project: ProjectId) -> Result<Vec<Grant>> {
        self.fetch_all(
            "SELECT * FROM grants WHERE principal_id = $1 AND project_id = $2 LIMIT 500",
            &[text(principal), text(project)],
            read_grant,
        )
        .await
    }

    /// How many users hold `role` in a project or in any environment of it.
    pub async fn count_users_with_role(&mut self, project: ProjectId, role: Role) -> Result<u32> {
        let count = self
            .fetch_optional(
                "SELECT count(DISTINCT grants.principal_id) AS n FROM grants JOIN principals ON principals.id = grants.principal_id \
                 WHERE grants.project_id = $1 AND grants.role = $2 AND principals.class = 'user'",
                &[text(project), text(role)],
                |row| row.int("n"),
            )
            .await?;
        Ok(count.unwrap_or(0))
    }

    /// Adds a decision ticket.
    pub async fn insert_ticket(&mut self, ticket: &Ticket) -> Result<()> {
        let Ticket { id, principal_id, secret_sha256, object_id, object_version, intent_sha256, .. } = ticket;
        let Ticket { outcome, reason, via, created_at, expires_at, .. } = ticket;
        self.execute(
            "INSERT INTO tickets (id, principal_id, secret_sha256, object_id, object_version, intent_sha256, outcome, \
             reason, via, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            &[
                text(id),
                text(principal_id),
                text(secret_sha256),
                text(object_id),
                int(*object_version),
                text(intent_sha256),
                text(outcome),
                text(reason),
                text(via),
                time(*created_at),
                time(*expires_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The ticket with this secret, whatever its state.
    pub async fn ticket_by_secret(&mut self, secret: Sha256Digest) -> Result<Option<Ticket>> {
        self.fetch_optional("SELECT * FROM tickets WHERE secret_sha256 = $1", &[text(secret)], read_ticket).await
    }

    /// Marks a ticket as used; false when it had been used before.
    pub async fn use_ticket(&mut self, id: TicketId) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute("UPDATE tickets SET used_at = $2 WHERE id = $1 AND used_at IS NULL", &[text(id), time(now)])
            .await?;
        Ok(changed == 1)
    }
}
