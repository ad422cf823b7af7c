//! Certificates by which an HTTPS server is known: that they are some, and their fingerprints. Whether they certify
//! anything, TLS decides when the server is reached.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_core::{Error, Result, Sha256Digest};

use super::pem::{BIT_STRING, SEQUENCE, blocks, sequence};

const FIELD: &str = "certificate_authorities";
const MAX: usize = 50;
/// Characters in a line of PEM.
const LINE: usize = 64;

/// The certificates of `text` and nothing else of it, in PEM.
pub(super) fn check(text: &str) -> Result<String> {
    let wrong = |reason: &str| Error::invalid(FIELD, reason);
    let found = blocks(text).ok_or_else(|| wrong("a block of PEM is damaged"))?;
    // A private key among them was pasted by mistake; it is not quoted, and not kept.
    if found.iter().any(|block| block.label != "CERTIFICATE") {
        return Err(wrong("expected certificates alone: BEGIN CERTIFICATE and nothing else"));
    }
    if !(1..=MAX).contains(&found.len()) {
        return Err(Error::invalid(FIELD, format!("expected 1 to {MAX} certificates in PEM")));
    }
    if found.iter().any(|block| !is_certificate(&block.bytes)) {
        return Err(wrong("a block says that it is a certificate, and is none"));
    }
    Ok(found.iter().map(|block| written(&block.bytes)).collect())
}

/// SHA-256 of each certificate, as `openssl x509 -fingerprint -sha256` shows it without its colons.
pub(super) fn fingerprints(checked: &str) -> Vec<Sha256Digest> {
    let found = blocks(checked).unwrap_or_default();
    found.iter().map(|block| Sha256Digest::of(&block.bytes)).collect()
}

/// Of what is signed, how it is signed, and the signature.
fn is_certificate(bytes: &[u8]) -> bool {
    matches!(sequence(bytes).as_deref(), Some([(SEQUENCE, _), (SEQUENCE, _), (BIT_STRING, _)]))
}

fn written(bytes: &[u8]) -> String {
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = STANDARD.encode(bytes);
    while !rest.is_empty() {
        let after = rest.split_off(rest.len().min(LINE));
        // Writing to a text does not fail.
        let _ = writeln!(text, "{rest}");
        rest = after;
    }
    text + "-----END CERTIFICATE-----\n"
}
