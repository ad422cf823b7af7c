//! Proofs in the tree: that a leaf is in it, and that a larger tree begins with a smaller one.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_core::Sha256Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tlog_tiles::{Hash, check_record, check_tree};

use super::{EMPTY_ROOT, MAX_LOG_SIZE, checkpoint::decode_hash, leaf_hash};
use crate::VerifyError;

/// Greatest number of hashes of a proof: no tree that we accept needs more.
const MAX_HASHES: usize = 64;

/// That the log has an entry at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InclusionProof {
    /// The entry's leaf, from 0.
    pub leaf: u64,
    /// Number of leaves of the tree that it is proved in.
    pub size: u64,
    /// The audit path of RFC 6962, from the leaf's neighbour up; base64.
    #[serde(serialize_with = "write_hashes", deserialize_with = "read_hashes")]
    pub hashes: Vec<Sha256Digest>,
}

impl InclusionProof {
    /// Whether the tree with `root` has `entry`.
    pub fn verify(&self, root: Sha256Digest, entry: Sha256Digest) -> Result<(), VerifyError> {
        if self.hashes.len() > MAX_HASHES || self.size > MAX_LOG_SIZE || self.leaf >= self.size {
            return Err(VerifyError::new("", "the log's proof of inclusion has an impossible form"));
        }
        let (path, root, leaf) = (hashes(&self.hashes), Hash(*root.as_bytes()), Hash(*leaf_hash(entry).as_bytes()));
        check_record(&path, self.size, root, self.leaf, leaf)
            .map_err(|_| VerifyError::new("", "the log's proof of inclusion does not hold"))
    }
}

/// That a log is the continuation of what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsistencyProof {
    /// Number of leaves of the earlier tree.
    pub first: u64,
    /// Number of leaves of the later tree.
    pub second: u64,
    /// The consistency proof of RFC 6962; base64.
    #[serde(serialize_with = "write_hashes", deserialize_with = "read_hashes")]
    pub hashes: Vec<Sha256Digest>,
}

impl ConsistencyProof {
    /// Whether the tree with the root `second` begins with all leaves of the one with the root `first`.
    pub fn verify(&self, first: Sha256Digest, second: Sha256Digest) -> Result<(), VerifyError> {
        if self.hashes.len() > MAX_HASHES || self.second > MAX_LOG_SIZE || self.first > self.second {
            return Err(VerifyError::new("", "the log's proof of consistency has an impossible form"));
        }
        let holds = if self.first == 0 {
            self.hashes.is_empty() && first == EMPTY_ROOT && (self.second > 0 || second == EMPTY_ROOT)
        } else {
            let (earlier, later) = (Hash(*first.as_bytes()), Hash(*second.as_bytes()));
            check_tree(&hashes(&self.hashes), self.second, later, self.first, earlier).is_ok()
        };
        if holds { Ok(()) } else { Err(VerifyError::new("", "the log is no continuation of the earlier one")) }
    }
}

fn hashes(digests: &[Sha256Digest]) -> Vec<Hash> {
    digests.iter().map(|digest| Hash(*digest.as_bytes())).collect()
}

fn write_hashes<S: Serializer>(hashes: &[Sha256Digest], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(hashes.iter().map(|hash| STANDARD.encode(hash.as_bytes())))
}

fn read_hashes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Sha256Digest>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let wrong = || serde::de::Error::custom("expected hashes of 32 bytes in base64");
    texts.iter().map(|text| decode_hash(text).ok_or_else(wrong)).collect()
}
