//! One master key, and the written form of what it sealed: `v1.KEY-ID.BASE64`, where the bytes are the nonce and the
//! XChaCha20-Poly1305 ciphertext with its tag. Pure.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};
use pinhole_core::{Error, Result, Sha256Digest};
use zeroize::Zeroizing;

/// Bytes of a nonce; long enough to be drawn at random.
pub(crate) const NONCE: usize = 24;
const FORM: &str = "v1";
const PREFIX: &str = "phm_";

/// A master key. It is wiped from memory when dropped and never shown by `Debug`.
pub(crate) struct Key {
    id: String,
    cipher: XChaCha20Poly1305,
}

impl Key {
    pub(crate) fn new(bytes: &[u8; 32]) -> Self {
        // Of the key and a text of its own, so that the id tells nothing that the key's use elsewhere would.
        let digest = Sha256Digest::of_parts(&[b"pinhole master key id\0", bytes]);
        let id = digest.hex().chars().take(16).collect();
        Self { id, cipher: XChaCha20Poly1305::new(bytes.into()) }
    }

    /// The key that `phm_` and 64 hexadecimal digits stand for. The refusal does not quote them.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = || Error::invalid("master_key", "expected phm_ and 64 lower-case hexadecimal digits");
        let digits = text.strip_prefix(PREFIX).ok_or_else(wrong)?;
        let mut bytes = Zeroizing::new([0; 32]);
        if digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(wrong());
        }
        hex::decode_to_slice(digits, bytes.as_mut_slice()).map_err(|_| wrong())?;
        Ok(Self::new(&bytes))
    }

    /// The written form of the key of these bytes, in memory that is wiped when dropped.
    pub(crate) fn written(bytes: &[u8; 32]) -> Zeroizing<String> {
        let digits = Zeroizing::new(hex::encode(bytes));
        Zeroizing::new(format!("{PREFIX}{}", *digits))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// How every text begins that this key sealed.
    pub(crate) fn prefix(&self) -> String {
        format!("{FORM}.{}.", self.id)
    }

    pub(crate) fn seal(&self, secret: &[u8], context: &str, nonce: &[u8; NONCE]) -> Result<String> {
        let payload = Payload { msg: secret, aad: context.as_bytes() };
        let sealed = self.cipher.encrypt(&XNonce::from(*nonce), payload);
        let sealed = sealed.map_err(|_| Error::internal("a secret could not be sealed"))?;
        Ok(format!("{}{}", self.prefix(), STANDARD_NO_PAD.encode([nonce.as_slice(), &sealed].concat())))
    }

    pub(crate) fn open(&self, sealed: &Sealed<'_>, context: &str) -> Result<Vec<u8>> {
        // One answer for every reason: the key, the context or the text may be another.
        let refused = || Error::internal("a sealed secret does not open for what it is said to belong to");
        let bytes = STANDARD_NO_PAD.decode(sealed.text).map_err(|_| refused())?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or_else(refused)?;
        let payload = Payload { msg: sealed, aad: context.as_bytes() };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| refused())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

/// A sealed text in its parts.
pub(crate) struct Sealed<'a> {
    pub(crate) key_id: &'a str,
    text: &'a str,
}

impl<'a> Sealed<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self> {
        let wrong = || Error::internal("a sealed text is of no known form");
        let rest = text.strip_prefix(FORM).and_then(|rest| rest.strip_prefix('.')).ok_or_else(wrong)?;
        let (key_id, text) = rest.split_once('.').ok_or_else(wrong)?;
        Ok(Self { key_id, text })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> Key {
        Key::new(&[byte; 32])
    }

    fn open(key: &Key, sealed: &str, context: &str) -> Result<Vec<u8>> {
        key.open(&Sealed::parse(sealed)?, context)
    }

    #[test]
    fn a_key_has_one_written_form_which_no_refusal_quotes() {
        let text = Key::written(&[7; 32]);
        assert_eq!(Key::parse(&text).unwrap().id(), key(7).id());
        for wrong in ["", "phm_", &text.to_uppercase(), &text[4..], &format!("{}00", *text)] {
            let error = Key::parse(wrong).unwrap_err();
            assert!(!format!("{error:?}").contains("0707"), "{error:?}");
        }
        assert!(!format!("{:?}", key(7)).contains("0707"));
    }

    #[test]
    fn a_sealed_text_opens_for_its_own_context_and_key_alone() {
        let sealed = key(1).seal(b"hunter2", "env_a|BUYER|1", &[3; NONCE]).unwrap();
        assert!(sealed.starts_with(&key(1).prefix()) && !sealed.contains("hunter2"));
        assert_eq!(open(&key(1), &sealed, "env_a|BUYER|1").unwrap(), b"hunter2");
        for context in ["env_a|BUYER|2", "env_b|BUYER|1", ""] {
            assert!(open(&key(1), &sealed, context).is_err(), "{context}");
        }
        assert!(open(&key(2), &sealed, "env_a|BUYER|1").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_opened_without_a_panic(text in "(v1\\.[0-9a-f]{0,16}\\.)?[ -~]{0,80}") {
            prop_assert!(open(&key(1), &text, "context").is_err());
        }

        #[test]
        fn a_changed_byte_opens_nothing(secret in "[ -~]{0,40}", at in 0_usize..1000) {
            let sealed = key(1).seal(secret.as_bytes(), "context", &[3; NONCE]).unwrap();
            prop_assert_eq!(open(&key(1), &sealed, "context").unwrap(), secret.as_bytes());
            let mut bytes = sealed.clone().into_bytes();
            let at = at % bytes.len();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The key id is no part of what is sealed: it only says which key to try.
            let prefix = key(1).prefix().len();
            prop_assert!(at < prefix || open(&key(1), &changed, "context").is_err());
        }
    }
}
