//! Verification of one capture receipt, with or without its artifacts at hand.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::Sha256Digest;

use crate::{CaptureReceipt, Envelope, Predicate as _, TrustedKeys, VerifyError, verify};

/// A receipt whose signature holds.
#[derive(Clone, Debug)]
pub struct VerifiedReceipt {
    /// The receipt.
    pub receipt: CaptureReceipt,
    /// Ids of the keys that the envelope names; at least one of them is trusted.
    pub key_ids: Vec<String>,
    /// Names of the artifacts that were at hand and match.
    pub matching: BTreeSet<String>,
    /// Names of the artifacts that were not at hand.
    pub absent: BTreeSet<String>,
}

/// Verifies a receipt's envelope and every artifact that is given. An artifact's name is its id and extension, as in
/// the statement's subjects; one that the receipt does not name is refused.
pub fn verify_receipt(
    envelope: &[u8],
    keys: &TrustedKeys,
    artifacts: Option<&BTreeMap<String, Vec<u8>>>,
) -> Result<VerifiedReceipt, VerifyError> {
    let envelope = Envelope::from_bytes(envelope)?;
    let receipt = CaptureReceipt::from_statement(&verify(&envelope, keys)?)?;
    let mut absent: BTreeMap<String, Option<Sha256Digest>> =
        receipt.subjects().into_iter().map(|subject| (subject.name, subject.digest.sha256)).collect();
    let mut matching = BTreeSet::new();
    for (name, bytes) in artifacts.into_iter().flatten() {
        let digest = absent.remove(name).ok_or_else(|| VerifyError::new(name, "the receipt names no such artifact"))?;
        if digest != Some(Sha256Digest::of(bytes)) {
            return Err(VerifyError::new(name, "the bytes are not those that the receipt is for"));
        }
        matching.insert(name.clone());
    }
    let key_ids = envelope.signatures.into_iter().map(|signature| signature.keyid).collect();
    Ok(VerifiedReceipt { receipt, key_ids, matching, absent: absent.into_keys().collect() })
}
