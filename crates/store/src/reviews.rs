//! Reviews: what people said about captures. None of them changes after it is written; the newest of a receipt counts.

use pinhole_core::{
    Disposition, LogRecordKind, PrincipalId, ProjectId, Reason, ReceiptId, Result, ReviewId, Sha256Digest, Timestamp,
    Via,
};

use crate::{
    Tx,
    row::Row,
    value::{text, time},
};

/// A human disposition of one capture.
#[derive(Clone, Debug)]
pub struct Review {
    /// Its id.
    pub id: ReviewId,
    /// Its project.
    pub project_id: ProjectId,
    /// The receipt.
    pub receipt_id: ReceiptId,
    /// Accepted or rejected.
    pub disposition: Disposition,
    /// Why.
    pub reason: Reason,
    /// SHA-256 of the picture that it is bound to.
    pub capture_sha256: Sha256Digest,
    /// The render digest that it is bound to.
    pub render_sha256: Sha256Digest,
    /// The rules digest that it is bound to.
    pub rules_sha256: Sha256Digest,
    /// Who.
    pub reviewer: PrincipalId,
    /// By what authority.
    pub via: Via,
    /// The signed statement, a DSSE envelope in JSON.
    pub envelope: String,
    /// When.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Review> {
    Ok(Review {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        receipt_id: row.parse("receipt_id")?,
        disposition: row.parse("disposition")?,
        reason: row.parse("reason")?,
        capture_sha256: row.parse("capture_sha256")?,
        render_sha256: row.parse("render_sha256")?,
        rules_sha256: row.parse("rules_sha256")?,
        reviewer: row.parse("reviewer")?,
        via: row.parse("via")?,
        envelope: row.text("envelope")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a review.
    pub async fn insert_review(&mut self, review: &Review) -> Result<()> {
        self.execute(
            "INSERT INTO reviews (id, project_id, receipt_id, disposition, reason, capture_sha256, render_sha256, \
             rules_sha256, reviewer, via, envelope, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            &[
                text(review.id),
                text(review.project_id),
                text(review.receipt_id),
                text(review.disposition),
                text(&review.reason),
                text(review.capture_sha256),
                text(review.render_sha256),
                text(review.rules_sha256),
                text(review.reviewer),
                text(review.via),
                text(&review.envelope),
                time(review.created_at),
            ],
        )
        .await?;
        self.enter_into_log(LogRecordKind::Review, review.id, review.envelope.as_bytes()).await
    }

    /// The review with this id.
    pub async fn review(&mut self, id: ReviewId) -> Result<Option<Review>> {
        self.fetch_optional("SELECT * FROM reviews WHERE id = $1", &[text(id)], read).await
    }

    /// The newest review of a receipt; of reviews at one instant, the one that was made last.
    pub async fn newest_review(&mut self, receipt: ReceiptId) -> Result<Option<Review>> {
        self.fetch_optional(
            "SELECT * FROM reviews WHERE receipt_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1",
            &[text(receipt)],
            read,
        )
        .await
    }
}
