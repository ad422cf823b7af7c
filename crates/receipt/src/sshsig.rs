//! Signatures in the SSH format, as Git has them around commits. Source: OpenSSH `PROTOCOL.sshsig`.
//!
//! One byte form is accepted: ours. Whether the key is trusted is for the caller to say.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha512};

use crate::{PublicKey, VerifyError};

const MAGIC: &[u8] = b"SSHSIG";
const VERSION: &[u8] = &[0, 0, 0, 1];
/// What Git calls its signatures, so that they are good for nothing else.
const NAMESPACE: &[u8] = b"git";
const HASH: &[u8] = b"sha512";
const KEY_TYPE: &[u8] = b"ssh-ed25519";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----\n";
const END: &str = "\n-----END SSH SIGNATURE-----";
/// Length of a line of the armour; OpenSSH's own.
const LINE_CHARS: usize = 70;

/// A signature taken apart.
pub(crate) struct SshSignature {
    pub(crate) public_key: [u8; 32],
    pub(crate) signature: Vec<u8>,
}

/// Reads an armoured Ed25519 signature over a commit. Says nothing about whether it holds.
pub(crate) fn read(armoured: &str) -> Result<SshSignature, VerifyError> {
    let wrong = |reason: &str| VerifyError::new("signature", reason);
    let blob = armoured
        .strip_prefix(BEGIN)
        .and_then(|rest| rest.strip_suffix(END))
        .and_then(|body| STANDARD.decode(body.replace('\n', "")).ok())
        .ok_or_else(|| wrong("it is no signature in the SSH format"))?;
    if armour(&blob) != armoured {
        return Err(wrong("its lines are not broken as ours are"));
    }
    take_apart(&blob).ok_or_else(|| wrong("it is no Ed25519 signature over a commit with SHA-512"))
}

/// The key that an armoured signature over a commit says it is by. Says nothing about whether it holds.
pub fn signing_key(armoured: &str) -> Result<PublicKey, VerifyError> {
    read(armoured).map(|signature| PublicKey::from_bytes(signature.public_key))
}

/// What is signed when a commit is: its digest, with what keeps it from being anything else.
pub(crate) fn signed(content: &[u8]) -> Vec<u8> {
    let mut signed = MAGIC.to_vec();
    for part in [NAMESPACE, b"", HASH, &Sha512::digest(content)] {
        put(&mut signed, part);
    }
    signed
}

fn take_apart(blob: &[u8]) -> Option<SshSignature> {
    let mut rest = blob.strip_prefix(MAGIC)?.strip_prefix(VERSION)?;
    let (mut key, mut signature) = (take(&mut rest)?, &[][..]);
    for expected in [Some(NAMESPACE), Some(b"".as_slice()), Some(HASH), None] {
        let part = take(&mut rest)?;
        match expected {
            Some(expected) if part != expected => return None,
            Some(_) => {}
            None => signature = part,
        }
    }
    let of_type = |blob: &mut &[u8]| (take(blob)? == KEY_TYPE).then_some(());
    of_type(&mut key)?;
    of_type(&mut signature)?;
    let public_key = take(&mut key)?.try_into().ok()?;
    let bytes = take(&mut signature)?.to_vec();
    (rest.is_empty() && key.is_empty() && signature.is_empty()).then_some(SshSignature { public_key, signature: bytes })
}

/// A `string` of RFC 4251 from the front of `rest`: its length in 32 bits, big end first, and its bytes.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    *rest = after;
    Some(part)
}

fn put(blob: &mut Vec<u8>, part: &[u8]) {
    blob.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    blob.extend_from_slice(part);
}

fn armour(blob: &[u8]) -> String {
    let text = STANDARD.encode(blob);
    let mut lines = String::from(BEGIN);
    for (index, character) in text.chars().enumerate() {
        if index > 0 && index % LINE_CHARS == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    lines.push_str(END);
    lines
}

/// The armoured signature `signature` of the key `public_key`.
#[cfg(test)]
pub(crate) fn armoured(public_key: &[u8; 32], signature: &[u8]) -> String {
    let of_type = |bytes: &[u8]| {
        let mut part = Vec::new();
        put(&mut part, KEY_TYPE);
        put(&mut part, bytes);
        part
    };
    let mut blob = [MAGIC, VERSION].concat();
    for part in [of_type(public_key).as_slice(), NAMESPACE, b"", HASH, &of_type(signature)] {
        put(&mut blob, part);
    }
    armour(&blob)
}
