//! How much a signing key has signed, for an operator who revokes it. It reads every statement there is.

use pinhole_core::{Error, Result};

use crate::{Tx, row::Row, value::text};

/// Numbers of signed statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignedStatements {
    /// Capture receipts.
    pub receipts: u64,
    /// Results of runs.
    pub run_results: u64,
    /// Reviews.
    pub reviews: u64,
    /// Decisions on approvals.
    pub decisions: u64,
    /// Catalog revisions.
    pub revisions: u64,
    /// Publication receipts.
    pub publications: u64,
}

fn read(row: &Row) -> Result<SignedStatements> {
    Ok(SignedStatements {
        receipts: row.int("receipts")?,
        run_results: row.int("run_results")?,
        reviews: row.int("reviews")?,
        decisions: row.int("decisions")?,
        revisions: row.int("revisions")?,
        publications: row.int("publications")?,
    })
}

impl Tx {
    /// How many statements name the key as one that signed them. `key_id` is a thumbprint: letters, digits, `-` and `_`.
    pub async fn signed_statements(&mut self, key_id: &str) -> Result<SignedStatements> {
        // Envelopes have one byte form. An underscore stands for any character here, which no other thumbprint meets.
        let named = format!("%\"keyid\":\"{key_id}\"%");
        self.fetch_optional(
            "SELECT (SELECT COUNT(*) FROM receipts WHERE envelope LIKE $1) AS receipts, \
             (SELECT COUNT(*) FROM run_results WHERE envelope LIKE $1) AS run_results, \
             (SELECT COUNT(*) FROM reviews WHERE envelope LIKE $1) AS reviews, \
             (SELECT COUNT(*) FROM decisions WHERE envelope LIKE $1) AS decisions, \
             (SELECT COUNT(*) FROM catalog_revisions WHERE envelope LIKE $1) AS revisions, \
             (SELECT COUNT(*) FROM publications WHERE receipt LIKE $1) AS publications",
            &[text(named)],
            read,
        )
        .await?
        .ok_or_else(|| Error::internal("a count without a row"))
    }
}
