//! Object storage: what the server keeps, by content, and what a worker has staged for the server to check.
//!
//! The two live under prefixes of their own and never mix. `blobs/` holds bytes that the server itself hashed, under
//! their BLAKE3 digest, so that writing the same bytes twice is harmless and no write depends on another. `staging/`
//! holds whatever a worker wrote, one folder for each lease, and nothing in it is trusted. `probes/` is empty but for the
//! moment in which the storage is tried out. No other crate forms an
//! object's path. This crate must not know what the bytes mean, and must not be called while a transaction is open.

mod blobs;
mod probe;
mod staging;
mod verified;

pub use blobs::{Blobs, ByteStream};
pub use staging::StagingFolder;
