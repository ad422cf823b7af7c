//! Decision tickets. Secrets are stored as SHA-256 only.

use pinhole_core::{PrincipalId, Reason, Result, Sha256Digest, TicketId, Timestamp, Via};

use crate::{
    Tx,
    row::Row,
    value::{int, text, time},
};

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

fn read(row: &Row) -> Result<Ticket> {
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
        self.fetch_optional("SELECT * FROM tickets WHERE secret_sha256 = $1", &[text(secret)], read).await
    }

    /// The ticket with this id, whatever its state.
    pub async fn ticket(&mut self, id: TicketId) -> Result<Option<Ticket>> {
        self.fetch_optional("SELECT * FROM tickets WHERE id = $1", &[text(id)], read).await
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
