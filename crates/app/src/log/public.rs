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
    /// `not_found` for a path that is none, and when the newest checkpoint does not cover the tile: what no checkpoint
    /// covers is not promised to anybody, and must not be kept as if it were.
    pub async fn log_tile(&self, path: &str) -> Result<Vec<u8>> {
        let path = TilePath::parse(path).ok_or_else(Error::not_found)?;
        let mut tx = self.store().begin_read().await?;
        let signed = tx.log_state().await?.and_then(|state| state.checkpoint_size).unwrap_or(0);
        if !is_covered(&path, signed) {
            return Err(Error::not_found());
        }
        let TilePath { level, number, width } = path;
        match level {
            Some(level) => hashes(&mut tx, level, number, width).await,
            None => entries(&mut tx, number, width).await,
        }
    }
}

/// Whether all of a tile lies within the first `size` leaves.
fn is_covered(path: &TilePath, size: u64) -> bool {
    let hashes = path.number.checked_mul(TILE_WIDTH).and_then(|first| first.checked_add(path.width.into()));
    // A hash of level n stands for 256^n leaves.
    let there = size.checked_shr(8 * u32::from(path.level.unwrap_or(0))).unwrap_or(0);
    hashes.is_some_and(|hashes| hashes <= there)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_covered_when_all_of_its_leaves_are() {
        for (path, size, covered) in [
            ("0/000.p/5", 5, true),
            ("0/000.p/6", 5, false),
            ("entries/000.p/5", 5, true),
            ("entries/000.p/6", 5, false),
            ("0/001", 511, false),
            ("0/001", 512, true),
            ("1/000.p/1", 255, false),
            ("1/000.p/1", 256, true),
            ("7/000.p/1", 1 << 55, false),
        ] {
            let parsed = TilePath::parse(path).unwrap();
            assert_eq!(is_covered(&parsed, size), covered, "{path} of {size}");
        }
    }
}
