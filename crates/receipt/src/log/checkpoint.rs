//! Checkpoints: how many leaves the log has and the root over them, as a signed note.
//!
//! The note's form is written out here and not taken from a library, because the one that there is brings a second
//! implementation of the signature's curve along; the key and its use are checked as for everything else that is signed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_core::{Result, Sha256Digest, Signer};
use sha2::Digest as _;

use super::MAX_LOG_SIZE;
use crate::{KeyUse, TrustedKeys, VerifyError};

/// Greatest size of a checkpoint in bytes; ours have some 250.
pub const MAX_CHECKPOINT_BYTES: usize = 4096;
/// Signatures of one checkpoint: ours, and room for those of witnesses.
const MAX_SIGNATURES: usize = 16;
/// What a signature line begins with.
const SIGNATURE_MARK: &str = "\u{2014} ";
/// The signature type of Ed25519 in signed notes.
const ED25519: u8 = 1;

/// What the log says of itself at one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name: 1 to 200 bytes without white space and `+`.
    pub origin: String,
    /// Number of leaves.
    pub size: u64,
    /// The tree's root over them.
    pub root: Sha256Digest,
}

impl Checkpoint {
    /// The signed note of this checkpoint.
    pub fn sign(&self, signer: &dyn Signer) -> Result<String> {
        let text = self.text();
        let mut signature = note_key_id(&self.origin, &signer.public_key()).to_vec();
        signature.extend(signer.sign(text.as_bytes())?);
        Ok(format!("{text}\n{SIGNATURE_MARK}{} {}\n", self.origin, STANDARD.encode(signature)))
    }

    /// Verifies a signed note of at most [`MAX_CHECKPOINT_BYTES`]. At least one signature must be by a trusted log key
    /// under the name of the log; signatures by others, such as witnesses, are left alone.
    pub fn verify(note: &[u8], keys: &TrustedKeys) -> Result<Self, VerifyError> {
        let (checkpoint, text, signatures) = Self::parse(note)?;
        let mut accepted = false;
        for line in signatures {
            let (name, signature) = read_signature(line).ok_or_else(|| wrong("a signature line is malformed"))?;
            if name != checkpoint.origin {
                continue;
            }
            let (key_id, signature) =
                signature.split_at_checked(4).ok_or_else(|| wrong("a signature has no key id"))?;
            let named = keys.of_use(KeyUse::Log).find(|(_, key)| note_key_id(name, key) == key_id);
            let checked = named.and_then(|(id, _)| keys.check(id, KeyUse::Log, text.as_bytes(), signature));
            if let Some(checked) = checked {
                checked.map_err(wrong)?;
                accepted = true;
            }
        }
        if accepted {
            Ok(checkpoint)
        } else {
            Err(wrong("no signature is by a trusted log key: the key file does not have the key of this log"))
        }
    }

    /// Reads a note without looking at its signatures: for our own stored ones, and for telling what is said.
    pub fn unverified(note: &[u8]) -> Result<Self, VerifyError> {
        Self::parse(note).map(|(checkpoint, ..)| checkpoint)
    }

    fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root.as_bytes()))
    }

    fn parse(note: &[u8]) -> Result<(Self, &str, impl Iterator<Item = &str>), VerifyError> {
        if note.len() > MAX_CHECKPOINT_BYTES {
            return Err(wrong(format!("it is larger than {MAX_CHECKPOINT_BYTES} bytes")));
        }
        let note = std::str::from_utf8(note).map_err(|_| wrong("it is not UTF-8"))?;
        let malformed = || wrong("this is no signed checkpoint");
        let (text, signatures) = note.split_once("\n\n").ok_or_else(malformed)?;
        let signatures = signatures.strip_suffix('\n').ok_or_else(malformed)?;
        if signatures.split('\n').count() > MAX_SIGNATURES {
            return Err(wrong(format!("it has more than {MAX_SIGNATURES} signatures")));
        }
        let text = note.get(..=text.len()).ok_or_else(malformed)?;
        let mut lines = text.lines();
        let (Some(origin), Some(size), Some(root), None) = (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(malformed());
        };
        let checkpoint = Self {
            origin: origin.to_owned(),
            size: size.parse().ok().filter(|size| *size <= MAX_LOG_SIZE).ok_or_else(malformed)?,
            root: decode_hash(root).ok_or_else(malformed)?,
        };
        // Of several ways to write the same, only ours counts.
        if !is_name(origin) || checkpoint.text() != text {
            return Err(malformed());
        }
        Ok((checkpoint, text, signatures.split('\n')))
    }
}

/// The log's key as other tools for signed notes take it: name, key id and public key, joined by `+`.
pub fn verifier_key(origin: &str, public_key: &[u8; 32]) -> String {
    let id: String = note_key_id(origin, public_key).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut key = vec![ED25519];
    key.extend(public_key);
    format!("{origin}+{id}+{}", STANDARD.encode(key))
}

fn note_key_id(name: &str, public_key: &[u8; 32]) -> [u8; 4] {
    let digest =
        sha2::Sha256::new().chain_update(name).chain_update([b'\n', ED25519]).chain_update(public_key).finalize();
    let mut id = [0; 4];
    id.copy_from_slice(&digest[..4]);
    id
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 200 && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+')
}

fn read_signature(line: &str) -> Option<(&str, Vec<u8>)> {
    let (name, signature) = line.strip_prefix(SIGNATURE_MARK)?.split_once(' ')?;
    let signature = STANDARD.decode(signature).ok()?;
    is_name(name).then_some((name, signature))
}

/// A hash in the base64 that this family of forms writes hashes in.
pub(super) fn decode_hash(text: &str) -> Option<Sha256Digest> {
    let bytes: [u8; 32] = STANDARD.decode(text).ok()?.try_into().ok()?;
    Some(Sha256Digest::from_bytes(bytes))
}

fn wrong(reason: impl Into<String>) -> VerifyError {
    VerifyError::new("", reason)
}
