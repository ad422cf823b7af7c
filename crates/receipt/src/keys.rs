//! Signing keys and their files, which are PKCS#8 in PEM. The only module here that writes to a disk.

use std::path::Path;

use ed25519_dalek::{
    Signer as _,
    pkcs8::{
        DecodePrivateKey as _, EncodePrivateKey as _, KeypairBytes,
        spki::der::{pem::LineEnding, zeroize::Zeroizing},
    },
};
use pinhole_core::{Error, Ids, Result, Signer};
use pinhole_keyfile as keyfile;

use crate::PublicKey;

/// An Ed25519 private key. It is wiped from memory when dropped and never shown by `Debug`.
pub struct SigningKey {
    key: ed25519_dalek::SigningKey,
    public: PublicKey,
}

impl SigningKey {
    /// Makes a key from 32 bytes that `fill` takes from a cryptographic random source.
    pub fn generate(fill: impl Fn(&mut [u8]) -> Result<()>) -> Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        fill(seed.as_mut_slice())?;
        Ok(Self::from_key(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// Reads a PKCS#8 private key in PEM.
    pub fn from_pkcs8_pem(pem: &str) -> Result<Self> {
        // The library's error may quote the text, and the text is a secret.
        ed25519_dalek::SigningKey::from_pkcs8_pem(pem)
            .map(Self::from_key)
            .map_err(|_| Error::invalid("key", "expected an Ed25519 private key as PKCS#8 in PEM"))
    }

    /// Writes the key as PKCS#8 in PEM, in memory that is wiped when dropped.
    pub fn to_pkcs8_pem(&self) -> Result<Zeroizing<String>> {
        // Version 1, without the public key: OpenSSL 3.0 reads no other.
        let pair = KeypairBytes { secret_key: self.key.to_bytes(), public_key: None };
        pair.to_pkcs8_pem(LineEnding::LF).map_err(|error| Error::internal(error.to_string()))
    }

    /// Reads the key file at `path`, or makes one with mode 0600 when there is none.
    ///
    /// Refuses a file that others than its owner may read or write. When two processes start at once, one makes the
    /// file and both use it.
    pub fn load_or_create(path: &Path, ids: &dyn Ids) -> Result<Self> {
        match Self::load(path)? {
            Some(key) => Ok(key),
            None => {
                let new = || Self::generate(|bytes| ids.fill(bytes))?.to_pkcs8_pem();
                keyfile::change(path, |before| before.is_none().then(new).transpose())?;
                Self::load(path)?.ok_or_else(|| keyfile::refused(path, "was removed while it was made"))
            }
        }
    }

    /// Reads the key file at `path`; `None` when there is none. Refuses a file that others than its owner may read or write.
    pub fn load(path: &Path) -> Result<Option<Self>> {
        let Some(pem) = keyfile::read(path)? else { return Ok(None) };
        Self::from_pkcs8_pem(&pem).map(Some).map_err(|error| keyfile::refused(path, error.message()))
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn from_key(key: ed25519_dalek::SigningKey) -> Self {
        let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
        Self { key, public }
    }
}

impl Signer for SigningKey {
    fn key_id(&self) -> &str {
        &self.public.key_id
    }

    fn public_key(&self) -> [u8; 32] {
        self.public.bytes
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        Ok(self.key.sign(message).to_vec())
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public.key_id)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pinhole_core::RandomIds;

    use super::*;

    #[test]
    fn a_key_file_is_made_once_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statement.pem");
        let made = SigningKey::load_or_create(&path, &RandomIds).unwrap();
        let read = SigningKey::load_or_create(&path, &RandomIds).unwrap();
        assert_eq!(made.public_key(), read.public_key());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left behind");
    }

    #[test]
    fn starting_at_once_gives_everybody_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statement.pem");
        let ids: Vec<_> = std::thread::scope(|scope| {
            let start = || SigningKey::load_or_create(&path, &RandomIds).unwrap().key_id().to_owned();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn other_content_is_refused_and_not_repeated_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statement.pem");
        SigningKey::load_or_create(&path, &RandomIds).unwrap();
        fs::write(&path, "hush-hush").unwrap();
        let error = SigningKey::load_or_create(&path, &RandomIds).unwrap_err();
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    }

    #[test]
    fn pem_round_trips_and_debug_hides_the_key() {
        let key = SigningKey::generate(|bytes| RandomIds.fill(bytes)).unwrap();
        let again = SigningKey::from_pkcs8_pem(&key.to_pkcs8_pem().unwrap()).unwrap();
        assert_eq!(key.sign(b"x").unwrap(), again.sign(b"x").unwrap());
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", key.key_id()));
    }

    #[test]
    fn the_form_is_that_of_rfc_8410_section_10_3() {
        let pem = "-----BEGIN PRIVATE KEY-----\n\
            MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
            -----END PRIVATE KEY-----\n";
        assert_eq!(*SigningKey::from_pkcs8_pem(pem).unwrap().to_pkcs8_pem().unwrap(), pem);
    }
}
