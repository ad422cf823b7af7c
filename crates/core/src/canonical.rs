//! Canonical JSON (RFC 8785), the one byte form of everything that is hashed, signed or published.

use serde::Serialize;

use crate::{Error, Result, Sha256Digest};

/// The RFC 8785 bytes of `value`. Integers beyond 2^53 must be written as strings by the type itself.
pub fn canonical_json<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json_canonicalizer::to_vec(value).map_err(Error::internal)
}

/// SHA-256 over the canonical bytes of `value`.
pub fn canonical_json_digest<T: Serialize>(value: &T) -> Result<Sha256Digest> {
    Ok(Sha256Digest::of(&canonical_json(value)?))
}
