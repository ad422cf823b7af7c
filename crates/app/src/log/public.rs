//! What everybody may read of the log: its newest checkpoint, its key, the tiles of its tree and its entries. All of it
//! is hashes; whoever does not have a record learns nothing of it here.

use pinhole_core::{Error, Result};
use pinhole_receipt::log::{TILE_WIDTH, TilePath, log_entry, verifier_key};
use pinhole_store::Tx;

use crate::App;

/// Bytes of one hash.
const HASH_BYTES: usize = 32;

impl App {
    /// The newest checkpoint, a signed note.
    ///
    /// # Errors
    /// `not_found` before there is one.
    pub async fn log_checkpoint(&self) -> Result<String> {
        let mut tx = self.store().begin_read().await?;
        let state = tx.log_state().await?.ok_or_else(Error::not_found)?;
        state.checkpoint.ok_or_else(Error::not_found)
    }

    /// The log's name and key in the form that tools for signed notes take.
    ///
    /// # Errors
    /// `not_found` before there is a log; `internal` in a process without the log key.
    pub async fn log_verifier_key(&self) -> Result<String> {
        let key = self.log_ports()?.signer.public_key();
        let mut tx = self.store().begin_read().await?;
        let state = tx.log_state().await?.ok_or_else(Error::not_found)?;
        Ok(verifier_key(&state.origin, &key))
    }

    /// A tile by the path that it has in the form of C2SP tlog-tiles, without `tile/`: hashes of the tree, or entries.
    ///
    /// # Errors
    /// `not_found` for a path that is none, and when the log is not so long.
    pub async fn log_tile(&self, path: &str) -> Result<Vec<u8>> {
        let TilePath { level, number, width } = TilePath::parse(path).ok_or_else(Error::not_found)?;
        let mut tx = self.store().begin_read().await?;
        match level {
            Some(level) => hashes(&mut tx, level, number, width).await,
            None => entries(&mut tx, number, width).await,
        }
    }
}

async fn hashes(tx: &mut Tx, level: u8, number: u64, width: u16) -> Result<Vec<u8>> {
    let mut hashes = tx.log_tile(level, number).await?.ok_or_else(Error::not_found)?;
    let size_bytes = usize::from(width) * HASH_BYTES;
    if hashes.len() < size_bytes {
        return Err(Error::not_found());
    }
    hashes.truncate(size_bytes);
    Ok(hashes)
}

/// Entries, each with its length in front of it as 16 bits, big-endian.
async fn entries(tx: &mut Tx, number: u64, width: u16) -> Result<Vec<u8>> {
    let first = number.checked_mul(TILE_WIDTH).ok_or_else(Error::not_found)?;
    let found = tx.logged_entries(first, width.into()).await?;
    let mut bundle = Vec::with_capacity(found.len() * (HASH_BYTES + 2));
    for (expected, entry) in (first..).zip(&found) {
        let (Some(sha256), true) = (entry.sha256, entry.leaf == Some(expected)) else {
            return Err(Error::internal("the log has a gap"));
        };
        bundle.extend([0, HASH_BYTES as u8]);
        bundle.extend(log_entry(entry.kind, sha256).as_bytes());
    }
    if found.len() == usize::from(width) { Ok(bundle) } else { Err(Error::not_found()) }
}
