//! Exporting the audit for somebody who trusts nobody: every leaf of the log under its newest checkpoint, in order, with
//! the audit rows whole and everything else by its digest.

use pinhole_core::{AuditId, Error, LogRecordKind, Result};
use pinhole_receipt::log::{audit_header, audit_line, other_line};
use pinhole_store::LogEntry;

use crate::App;

/// Leaves that are read at a time.
const PAGE: u32 = 500;

impl App {
    /// Gives `write` the export piece by piece, and tells how many leaves it has. Rows that are committed meanwhile belong
    /// to a later one.
    ///
    /// # Errors
    /// `not_found` before there is a checkpoint; `internal` when a row is gone; those of the database and of `write`.
    pub async fn export_audit(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let mut tx = self.store().begin_read().await?;
        let state = tx.log_state().await?;
        drop(tx);
        let checkpoint = state.and_then(|state| state.checkpoint_size.zip(state.checkpoint));
        let (size, note) = checkpoint.ok_or_else(Error::not_found)?;
        write(&audit_header(&note)?)?;
        let mut leaf = 0;
        while leaf < size {
            for line in self.export_page(leaf, size).await? {
                write(&line)?;
                leaf += 1;
            }
        }
        Ok(size)
    }

    /// The lines of the next leaves, at least one.
    async fn export_page(&self, first: u64, size: u64) -> Result<Vec<Vec<u8>>> {
        let mut tx = self.store().begin_read().await?;
        let mut lines = Vec::new();
        for (leaf, entry) in (first..size).zip(tx.logged_entries(first, PAGE).await?) {
            let LogEntry { kind, record_id, sha256: Some(sha256), leaf: found, .. } = entry else {
                return Err(gap(leaf));
            };
            if found != Some(leaf) {
                return Err(gap(leaf));
            }
            lines.push(if kind == LogRecordKind::Audit {
                let row = tx.audit_row(record_id.parse::<AuditId>()?).await?.ok_or_else(|| gap(leaf))?;
                audit_line(leaf, &row.canonical()?)?
            } else {
                other_line(leaf, kind, sha256)?
            });
        }
        if lines.is_empty() { Err(gap(first)) } else { Ok(lines) }
    }
}

fn gap(leaf: u64) -> Error {
    Error::internal(format!("leaf {leaf} of the log, or its record, is missing"))
}
