//! Public keys: their ids, the key set document, and the set that a verifier trusts.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::{Signature, VerifyingKey};
use pinhole_core::{Result, canonical_json};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::VerifyError;

/// Greatest size of a key set document in bytes.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;
/// Greatest number of keys in a document; keys are never removed, so this is some decades of rotation.
const MAX_KEYS: usize = 256;

/// What is said of a key that signed something and that a verifier does not have.
pub(crate) const UNKNOWN_KEY: &str =
    "which the key file does not have: get a key file that has it from somebody you trust";

/// An Ed25519 public key with its RFC 7638 thumbprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    /// base64url of the SHA-256 over the key's required JWK members in their fixed order.
    pub key_id: String,
    /// The 32 bytes of RFC 8032.
    pub bytes: [u8; 32],
}

impl PublicKey {
    /// Computes the key's id.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let x = URL_SAFE_NO_PAD.encode(bytes);
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        Self { key_id: URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(members)), bytes }
    }
}

/// What a key may sign. A key of one use is never accepted for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyUse {
    /// Receipts, reviews, decisions, revisions and publication receipts.
    Statement,
    /// Git commits.
    Commit,
    /// Checkpoints of the transparency log.
    Log,
}

/// Where a key is in its life. Keys stay listed for ever, or old statements could not be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyStatus {
    /// Signs today.
    Active,
    /// Signed once; what it signed stays valid.
    Retired,
    /// Known to others: nothing that it signed is accepted.
    Revoked,
}

/// One key of a key set (RFC 8037 members and two of our own). Unknown members are ignored as RFC 7517 asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    /// `OKP`.
    pub kty: String,
    /// `Ed25519`.
    pub crv: String,
    /// The public key in base64url without padding.
    pub x: String,
    /// `sig`.
    #[serde(rename = "use")]
    pub purpose: String,
    /// `Ed25519` (RFC 9864).
    pub alg: String,
    /// RFC 7638 thumbprint.
    pub kid: String,
    /// Where the key is in its life.
    pub pinhole_status: KeyStatus,
    /// What the key may sign.
    pub pinhole_use: KeyUse,
    /// Why it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinhole_reason: Option<String>,
}

impl Jwk {
    /// The entry of `key`.
    pub fn new(key: &PublicKey, pinhole_use: KeyUse, pinhole_status: KeyStatus) -> Self {
        Self {
            kty: "OKP".into(),
            crv: "Ed25519".into(),
            x: URL_SAFE_NO_PAD.encode(key.bytes),
            purpose: "sig".into(),
            alg: "Ed25519".into(),
            kid: key.key_id.clone(),
            pinhole_status,
            pinhole_use,
            pinhole_reason: None,
        }
    }

    /// The key itself, when every member says what it must.
    fn public_key(&self) -> Result<PublicKey, &'static str> {
        if self.kty != "OKP" || self.crv != "Ed25519" || self.alg != "Ed25519" || self.purpose != "sig" {
            return Err("expected kty OKP, crv Ed25519, alg Ed25519 and use sig");
        }
        let mut bytes = [0; 32];
        let length = URL_SAFE_NO_PAD.decode_slice(&self.x, &mut bytes);
        if length != Ok(32) {
            return Err("x is not 32 bytes in base64url without padding");
        }
        let key = PublicKey::from_bytes(bytes);
        if key.key_id == self.kid { Ok(key) } else { Err("kid is not the key's RFC 7638 thumbprint") }
    }
}

/// A key set document, as published at `/.well-known/pinhole/receipt-keys.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwks {
    /// The keys, oldest first.
    pub keys: Vec<Jwk>,
}

impl Jwks {
    /// The document's canonical bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        canonical_json(self)
    }

    /// The same as text.
    pub fn to_text(&self) -> Result<String> {
        String::from_utf8(self.to_bytes()?).map_err(pinhole_core::Error::internal)
    }
}

struct TrustedKey {
    key: VerifyingKey,
    status: KeyStatus,
    purpose: KeyUse,
    reason: Option<String>,
}

/// The keys that a verifier trusts, from its own configuration.
pub struct TrustedKeys(BTreeMap<String, TrustedKey>);

impl TrustedKeys {
    /// Reads a key set document of at most 256 KiB and 256 keys.
    pub fn from_json(bytes: &[u8]) -> Result<Self, VerifyError> {
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(VerifyError::new("", format!("the key set is larger than {MAX_DOCUMENT_BYTES} bytes")));
        }
        let jwks: Jwks =
            serde_json::from_slice(bytes).map_err(|e| VerifyError::new("", format!("this is no key set: {e}")))?;
        Self::from_jwks(&jwks)
    }

    /// Takes a key set that is already read.
    pub fn from_jwks(jwks: &Jwks) -> Result<Self, VerifyError> {
        if jwks.keys.is_empty() || jwks.keys.len() > MAX_KEYS {
            return Err(VerifyError::new("keys", format!("expected 1 to {MAX_KEYS} keys")));
        }
        let mut keys = BTreeMap::new();
        for (index, jwk) in jwks.keys.iter().enumerate() {
            let wrong = |reason: &str| VerifyError::new(format!("keys[{index}]"), reason);
            let public = jwk.public_key().map_err(wrong)?;
            let key = VerifyingKey::from_bytes(&public.bytes).map_err(|_| wrong("x is no point of the curve"))?;
            if key.is_weak() {
                return Err(wrong("the key is weak: signatures by it prove nothing"));
            }
            let (status, purpose, reason) = (jwk.pinhole_status, jwk.pinhole_use, jwk.pinhole_reason.clone());
            let trusted = TrustedKey { key, status, purpose, reason };
            if keys.insert(public.key_id, trusted).is_some() {
                return Err(wrong("the key is listed twice"));
            }
        }
        Ok(Self(keys))
    }

    /// The ids and bytes of the keys of one use, whatever their status.
    pub(crate) fn of_use(&self, purpose: KeyUse) -> impl Iterator<Item = (&str, [u8; 32])> {
        let of_use = self.0.iter().filter(move |(_, trusted)| trusted.purpose == purpose);
        of_use.map(|(id, trusted)| (id.as_str(), trusted.key.to_bytes()))
    }

    /// Whether a key is in the set and revoked.
    pub fn is_revoked(&self, key_id: &str) -> bool {
        self.0.get(key_id).is_some_and(|trusted| trusted.status == KeyStatus::Revoked)
    }

    /// Checks one signature. `None` when the key is not in the set; an error when it is and the signature is wrong,
    /// or the key may not sign this.
    pub(crate) fn check(
        &self,
        key_id: &str,
        purpose: KeyUse,
        message: &[u8],
        signature: &[u8],
    ) -> Option<Result<(), String>> {
        let trusted = self.0.get(key_id)?;
        Some(check_with(trusted, purpose, message, signature).map_err(|reason| format!("key {key_id}: {reason}")))
    }
}

fn check_with(trusted: &TrustedKey, purpose: KeyUse, message: &[u8], signature: &[u8]) -> Result<(), String> {
    if trusted.purpose != purpose {
        return Err("the key is for another use".into());
    }
    if trusted.status == KeyStatus::Revoked {
        let reason = trusted.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        return Err(format!("the key is revoked{reason}: nothing that it signed is accepted"));
    }
    let signature = Signature::from_slice(signature).map_err(|_| "the signature is not 64 bytes of Ed25519")?;
    trusted.key.verify_strict(message, &signature).map_err(|_| "the signature does not match".into())
}
