//! DSSE: the envelope around a signed payload. Source: `secure-systems-lab/dsse`, `protocol.md` and `envelope.md`.
//!
//! An envelope is stored and served as the exact bytes that were signed and encoded; nothing re-encodes one. We accept
//! one byte form only, so that an envelope's digest names its content.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_core::{Error, Result, Sha256Digest, Signer, canonical_json};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{KeyUse, Statement, TrustedKeys, VerifyError, jwks::UNKNOWN_KEY};

/// Media type of the payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Greatest size of an envelope in bytes: a decision on 500 items or the result of a large run has less than half.
pub const MAX_ENVELOPE_BYTES: usize = 8 * 1024 * 1024;
/// Signatures of one envelope: one, or two while keys overlap; the rest is room.
const MAX_SIGNATURES: usize = 4;

/// A signed payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// Media type of the payload.
    pub payload_type: String,
    /// The payload's bytes.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub payload: Vec<u8>,
    /// Signatures over [`pae`] of the two members above.
    pub signatures: Vec<EnvelopeSignature>,
}

/// One signature of an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeSignature {
    /// The signing key's id: a hint for finding the key, not a reason to trust it.
    pub keyid: String,
    /// The signature's bytes.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub sig: Vec<u8>,
}

impl Envelope {
    /// The envelope's one byte form: canonical JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        canonical_json(self)
    }

    /// Reads an envelope of at most [`MAX_ENVELOPE_BYTES`]; refuses every byte form but the canonical one. Says nothing
    /// about its signatures: see [`verify`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VerifyError> {
        if bytes.len() > MAX_ENVELOPE_BYTES {
            return Err(VerifyError::new("", format!("the envelope is larger than {MAX_ENVELOPE_BYTES} bytes")));
        }
        let envelope: Self = serde_json::from_slice(bytes)
            .map_err(|error| VerifyError::new("", format!("this is no DSSE envelope: {error}")))?;
        let canonical = envelope.to_bytes().map_err(|error| VerifyError::from_error("", &error))?;
        if canonical != bytes {
            return Err(VerifyError::new("", "the JSON is not in canonical form"));
        }
        Ok(envelope)
    }

    /// SHA-256 of the payload, which names a statement in other statements.
    pub fn payload_sha256(&self) -> Sha256Digest {
        Sha256Digest::of(&self.payload)
    }

    /// Reads the statement without looking at the signatures: for our own stored envelopes only.
    pub fn statement_unverified(&self) -> Result<Statement, VerifyError> {
        if self.payload_type != PAYLOAD_TYPE {
            return Err(VerifyError::new("payloadType", format!("expected {PAYLOAD_TYPE}")));
        }
        Statement::from_bytes(&self.payload)
    }
}

/// DSSE's pre-authentication encoding: what is signed. Lengths are in bytes, in decimal.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut encoded = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    encoded.extend_from_slice(payload);
    encoded
}

/// Signs the canonical bytes of `statement`.
pub fn sign(statement: &Statement, signer: &dyn Signer) -> Result<Envelope> {
    let payload = statement.to_bytes()?;
    // What we would refuse to read must not be signed either.
    Statement::from_bytes(&payload).map_err(Error::internal)?;
    let sig = signer.sign(&pae(PAYLOAD_TYPE, &payload))?;
    let signatures = vec![EnvelopeSignature { keyid: signer.key_id().to_owned(), sig }];
    Ok(Envelope { payload_type: PAYLOAD_TYPE.into(), payload, signatures })
}

/// Verifies the signatures and reads the statement.
///
/// At least one signature must be by a trusted statement key. Signatures by unknown keys are ignored, as DSSE asks, so
/// that a verifier that knows only one of two overlapping keys still accepts; a wrong signature by a known key, and a
/// key that is revoked or for another use, refuse the envelope.
pub fn verify(envelope: &Envelope, keys: &TrustedKeys) -> Result<Statement, VerifyError> {
    let signatures = &envelope.signatures;
    if signatures.is_empty() || signatures.len() > MAX_SIGNATURES {
        return Err(VerifyError::new("signatures", format!("expected 1 to {MAX_SIGNATURES} signatures")));
    }
    let message = pae(&envelope.payload_type, &envelope.payload);
    let mut accepted = false;
    for (index, signature) in signatures.iter().enumerate() {
        let wrong = |reason: String| VerifyError::new(format!("signatures[{index}]"), reason);
        if signatures.iter().take(index).any(|earlier| earlier.keyid == signature.keyid) {
            return Err(wrong("the key has signed twice".into()));
        }
        if let Some(checked) = keys.check(&signature.keyid, KeyUse::Statement, &message, &signature.sig) {
            checked.map_err(wrong)?;
            accepted = true;
        }
    }
    if !accepted {
        return Err(VerifyError::new("signatures", unknown_keys(signatures)));
    }
    envelope.statement_unverified()
}

/// What an envelope is told that none of the trusted keys has signed.
fn unknown_keys(signatures: &[EnvelopeSignature]) -> String {
    let ids: Vec<_> = signatures.iter().map(|signature| signature.keyid.as_str()).collect();
    format!("no signature is by a trusted key: it is by {}, {UNKNOWN_KEY}", ids.join(" and "))
}

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}
