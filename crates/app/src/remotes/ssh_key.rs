//! Private keys for SSH: one that could never be used is refused when it is given, rather than when something is to be
//! published. No refusal quotes the key.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use pinhole_core::{Error, Result, Sha256Digest};

use super::pem::{Block, INTEGER, OCTET_STRING, SEQUENCE, blocks, sequence};

const MAGIC: &[u8] = b"openssh-key-v1\0";
/// How many texts follow the kind in a private key of OpenSSH's form, before the comment.
const KINDS: [(&str, usize); 5] = [
    ("ssh-ed25519", 2),
    ("ssh-rsa", 6),
    ("ecdsa-sha2-nistp256", 3),
    ("ecdsa-sha2-nistp384", 3),
    ("ecdsa-sha2-nistp521", 3),
];
/// RSA, elliptic curves and Ed25519, as PKCS#8 begins to name them.
const ALGORITHMS: [&[u8]; 3] =
    [b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01", b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01", b"\x06\x03\x2b\x65\x70"];

/// A private key that SSH can use.
pub(super) struct PrivateKey {
    /// With the line ends that libssh2 expects.
    pub(super) text: String,
    /// The public half as a line, where it stands apart.
    pub(super) public_key: Option<String>,
}

/// The key that `text` holds; `field` is where it came from.
pub(super) fn check(field: &str, text: &str) -> Result<PrivateKey> {
    read(text).map_err(|reason| Error::invalid(field, reason))
}

/// The fingerprint of a public half, as `ssh-keygen -l` shows it.
pub(super) fn fingerprint(public_key: &str) -> Option<String> {
    let blob = STANDARD.decode(public_key.split(' ').nth(1)?).ok()?;
    Some(format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256Digest::of(&blob).as_bytes())))
}

const DAMAGED: &str = "the private key is damaged: give the file as ssh-keygen wrote it";
const ENCRYPTED: &str = "the private key is encrypted: nobody is there to type its passphrase; give one without";
const NOT_ONE: &str = "expected one private key in the form of OpenSSH or PEM, and nothing else";
const STRANGE: &str = "expected an Ed25519, ECDSA or RSA key, which needs no other device";

fn read(text: &str) -> Result<PrivateKey, &'static str> {
    let text = text.trim();
    let is_public = ["ssh-", "ecdsa-", "sk-", "---- BEGIN SSH2 PUBLIC KEY", "-----BEGIN PUBLIC KEY"];
    if is_public.iter().any(|start| text.starts_with(start)) {
        return Err("this is a public key: give the private one");
    }
    if text.starts_with("PuTTY-User-Key-File") {
        return Err("this is PuTTY's form: export the key in the form of OpenSSH");
    }
    if !text.starts_with("-----BEGIN ") {
        return Err(NOT_ONE);
    }
    let found = blocks(text).ok_or(DAMAGED)?;
    let [block] = &found[..] else { return Err(NOT_ONE) };
    let public_key = public_half(block)?;
    Ok(PrivateKey { text: text.lines().map(|line| format!("{}\n", line.trim_end())).collect(), public_key })
}

fn public_half(block: &Block<'_>) -> Result<Option<String>, &'static str> {
    let is_encrypted = block.is_encrypted || block.label == "ENCRYPTED PRIVATE KEY";
    match block.label {
        _ if is_encrypted => Err(ENCRYPTED),
        "OPENSSH PRIVATE KEY" => openssh(&block.bytes).map(Some),
        "RSA PRIVATE KEY" if is_rsa(&block.bytes) => Ok(None),
        "EC PRIVATE KEY" if is_ec(&block.bytes) => Ok(None),
        "PRIVATE KEY" => pkcs8(&block.bytes).map(|()| None),
        "RSA PRIVATE KEY" | "EC PRIVATE KEY" => Err(DAMAGED),
        "DSA PRIVATE KEY" => Err(STRANGE),
        _ => Err(NOT_ONE),
    }
}

fn is_rsa(bytes: &[u8]) -> bool {
    sequence(bytes).is_some_and(|found| found.len() >= 9 && found.iter().all(|(tag, _)| *tag == INTEGER))
}

fn is_ec(bytes: &[u8]) -> bool {
    matches!(sequence(bytes).as_deref(), Some([(INTEGER, _), (OCTET_STRING, _), ..]))
}

fn pkcs8(bytes: &[u8]) -> Result<(), &'static str> {
    let found = sequence(bytes).ok_or(DAMAGED)?;
    let [(INTEGER, _), (SEQUENCE, algorithm), (OCTET_STRING, _), ..] = found[..] else { return Err(DAMAGED) };
    if ALGORITHMS.iter().any(|known| algorithm.starts_with(known)) { Ok(()) } else { Err(STRANGE) }
}

/// The public half of a key in OpenSSH's own form.
fn openssh(bytes: &[u8]) -> Result<String, &'static str> {
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(DAMAGED)?;
    let cipher = text(&mut rest).ok_or(DAMAGED)?;
    if cipher != b"none" {
        return Err(ENCRYPTED);
    }
    let (public, private) = halves(rest).ok_or(DAMAGED)?;
    let kind = text(&mut &*public).and_then(|kind| str::from_utf8(kind).ok()).ok_or(DAMAGED)?;
    let (_, texts) = KINDS.iter().find(|(known, _)| *known == kind).ok_or(STRANGE)?;
    is_complete(private, kind, *texts).ok_or(DAMAGED)?;
    Ok(format!("{kind} {}", STANDARD.encode(public)))
}

/// What follows the cipher: how the key is derived from a passphrase, and one key's halves.
fn halves(mut rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_derivation, _options, count) = (text(&mut rest)?, text(&mut rest)?, number(&mut rest)?);
    let (public, private) = (text(&mut rest)?, text(&mut rest)?);
    (count == 1 && rest.is_empty()).then_some((public, private))
}

/// Whether a private half is whole: the number twice, the kind, its texts, the comment, and the padding 1, 2, 3, ….
fn is_complete(mut private: &[u8], kind: &str, texts: usize) -> Option<()> {
    let (first, second) = (number(&mut private)?, number(&mut private)?);
    let same_kind = text(&mut private)? == kind.as_bytes();
    for _ in 0..=texts {
        text(&mut private)?;
    }
    let is_padding = private.iter().zip(1_u8..).all(|(found, expected)| *found == expected);
    (first == second && same_kind && is_padding).then_some(())
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (digits, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u32::from_be_bytes(*digits)).ok()
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number(rest)?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(text)
}
