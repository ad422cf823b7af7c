//! The transparency log as pure functions: what a leaf is a hash of, the tree over the leaves in tiles, proofs in it, and
//! its signed checkpoints. The forms are those of C2SP tlog-tiles, tlog-checkpoint and signed-note; the hashes are those
//! of RFC 6962.
//!
//! Must not keep anything: tiles are handed in, and new ones are handed back. Only this module names the library that
//! computes the tree.

mod checkpoint;
mod export;
mod path;
mod proof;
mod published;
#[cfg(test)]
mod tests;
mod tree;

use pinhole_core::{LogRecordKind, Sha256Digest};

pub use checkpoint::{Checkpoint, MAX_CHECKPOINT_BYTES, verifier_key};
pub use export::{AuditReport, audit_header, audit_line, other_line, verify_audit};
pub use path::TilePath;
pub use proof::{ConsistencyProof, InclusionProof};
pub(crate) use published::kind_at;
pub use published::{CHECKPOINT_PATH, LogReport, PublishedLog};
pub(crate) use published::{is_log_path, verify as verify_published};
pub use tree::{
    Grown, LogHead, NeededTiles, TILE_WIDTH, TileId, Tiles, append, prove_consistency, prove_inclusion, root_at,
};

/// What the bytes begin with that a log entry is the digest of, so that they are never those of anything else.
const ENTRY_DOMAIN: &[u8] = b"pinhole.dev/log-entry/v1\0";
/// Greatest number of leaves. It is far away, and numbers up to it are exact in JSON.
pub const MAX_LOG_SIZE: u64 = 1 << 48;

/// The entry of a record in the log, 32 bytes that tell nothing about it to those who do not have it: SHA-256 over the
/// domain, the kind's text and a zero byte, and the record's own SHA-256. Of a signed statement the record is its
/// envelope, of an audit row its canonical JSON.
pub fn log_entry(kind: LogRecordKind, record: Sha256Digest) -> Sha256Digest {
    Sha256Digest::of_parts(&[ENTRY_DOMAIN, kind.as_str().as_bytes(), b"\0", record.as_bytes()])
}

/// The hash of an entry as a leaf of the tree.
pub fn leaf_hash(entry: Sha256Digest) -> Sha256Digest {
    Sha256Digest::from_bytes(tlog_tiles::record_hash(entry.as_bytes()).0)
}

/// The root of a log without entries.
pub const EMPTY_ROOT: Sha256Digest = Sha256Digest::from_bytes(tlog_tiles::EMPTY_HASH.0);
