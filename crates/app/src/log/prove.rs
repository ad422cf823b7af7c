//! Proofs under the newest checkpoint, all of one transaction, with the tiles read once.

use pinhole_core::{Error, LogRecordKind, Result};
use pinhole_receipt::log::{ConsistencyProof, InclusionProof, LogHead, Tiles, prove_consistency, prove_inclusion};
use pinhole_store::Tx;

use super::{head_of, sequence::present, tiles::ask};

/// Proves what is asked for under one checkpoint.
pub(crate) struct Prover {
    origin: String,
    checkpoint: String,
    size: u64,
    head: LogHead,
    tiles: Tiles,
}

impl Prover {
    /// Proves under the newest checkpoint.
    ///
    /// # Errors
    /// `conflict` with reason `not_logged` before there is one.
    pub(crate) async fn new(tx: &mut Tx) -> Result<Self> {
        let state = present(tx).await?;
        let head = head_of(&state);
        match (state.checkpoint_size, state.checkpoint) {
            (Some(size), Some(checkpoint)) => {
                Ok(Self { origin: state.origin, checkpoint, size, head, tiles: Tiles::default() })
            }
            _ => Err(not_logged()),
        }
    }

    /// The log's name.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The checkpoint, a signed note.
    pub(crate) fn checkpoint(&self) -> &str {
        &self.checkpoint
    }

    /// Number of leaves under the checkpoint.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Proves that the log has a record.
    ///
    /// # Errors
    /// `conflict` with reason `not_logged` when the checkpoint is from before it.
    pub(crate) async fn prove(&mut self, tx: &mut Tx, kind: LogRecordKind, record_id: &str) -> Result<InclusionProof> {
        let entry = tx.log_entry(kind, record_id).await?;
        let leaf = entry.and_then(|entry| entry.leaf).filter(|leaf| *leaf < self.size).ok_or_else(not_logged)?;
        let (head, size) = (self.head, self.size);
        ask(tx, &mut self.tiles, move |tiles| prove_inclusion(tiles, head, size, leaf)).await
    }

    /// Proves that the log under the checkpoint continues the one of `first` leaves, which must not be more than it has.
    pub(crate) async fn prove_continuation(&mut self, tx: &mut Tx, first: u64) -> Result<ConsistencyProof> {
        self.prove_consistency(tx, first, self.size).await
    }

    /// Proves that the log of `second` leaves continues the one of `first` leaves; neither may be more than it has.
    pub(crate) async fn prove_consistency(&mut self, tx: &mut Tx, first: u64, second: u64) -> Result<ConsistencyProof> {
        let head = self.head;
        ask(tx, &mut self.tiles, move |tiles| prove_consistency(tiles, head, first, second)).await
    }
}

fn not_logged() -> Error {
    Error::conflict("not_logged", "the transparency log has not taken it in yet: try again in a few seconds")
}
