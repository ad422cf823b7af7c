//! Commit signatures in the SSH format, made without an agent or a program. Source: OpenSSH `PROTOCOL.sshsig`.
//!
//! Ed25519 signatures hold neither time nor chance, so that the same commit has the same signature and the same id.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signer as _, SigningKey, pkcs8::DecodePrivateKey as _};
use pinhole_core::{Error, Result};
use sha2::{Digest as _, Sha512};

const MAGIC: &[u8] = b"SSHSIG";
const VERSION: u32 = 1;
/// What Git calls its signatures, so that they are good for nothing else.
const NAMESPACE: &[u8] = b"git";
const HASH: &[u8] = b"sha512";
const KEY_TYPE: &[u8] = b"ssh-ed25519";
/// Length of a line of the armour; OpenSSH's own.
const LINE_CHARS: usize = 70;

/// The key that signs commits and nothing else.
pub struct CommitKey(SigningKey);

impl CommitKey {
    /// Reads an Ed25519 private key as PKCS#8 in PEM.
    pub fn from_pkcs8_pem(pem: &str) -> Result<Self> {
        // The library's error may quote the text, and the text is a secret.
        SigningKey::from_pkcs8_pem(pem)
            .map(Self)
            .map_err(|_| Error::invalid("commit_key", "expected an Ed25519 private key as PKCS#8 in PEM"))
    }

    /// The public key as in `authorized_keys` and `allowed_signers` files: `ssh-ed25519 AAAA…`.
    pub fn authorized_key(&self) -> String {
        format!("ssh-ed25519 {}", STANDARD.encode(self.public_blob()))
    }

    /// The armoured signature over `message`, without a final line break.
    pub(crate) fn sign(&self, message: &[u8]) -> String {
        let mut signed = MAGIC.to_vec();
        for part in [NAMESPACE, b"", HASH, &Sha512::digest(message)] {
            put(&mut signed, part);
        }
        let mut signature = Vec::new();
        put(&mut signature, KEY_TYPE);
        put(&mut signature, &self.0.sign(&signed).to_bytes());

        let mut blob = MAGIC.to_vec();
        blob.extend_from_slice(&VERSION.to_be_bytes());
        for part in [self.public_blob().as_slice(), NAMESPACE, b"", HASH, &signature] {
            put(&mut blob, part);
        }
        armour(&blob)
    }

    fn public_blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        put(&mut blob, KEY_TYPE);
        put(&mut blob, self.0.verifying_key().as_bytes());
        blob
    }
}

impl std::fmt::Debug for CommitKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CommitKey({})", self.authorized_key())
    }
}

/// A `string` of RFC 4251: its length in 32 bits, big end first, and its bytes. All of ours are short.
fn put(blob: &mut Vec<u8>, part: &[u8]) {
    blob.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    blob.extend_from_slice(part);
}

fn armour(blob: &[u8]) -> String {
    let mut text = String::from("-----BEGIN SSH SIGNATURE-----\n");
    for (index, character) in STANDARD.encode(blob).chars().enumerate() {
        if index > 0 && index % LINE_CHARS == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text.push_str("\n-----END SSH SIGNATURE-----");
    text
}
