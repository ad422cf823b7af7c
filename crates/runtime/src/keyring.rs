//! The signing keys of an installation as files: for each use the private key that signs now, and beside them the set of
//! all public keys that there ever were, as it is published.
//!
//! Which key of a use is active is what its private file says, and nothing else: of a change that was interrupted between
//! the two files no trace matters. Both are read again whenever they are needed, so that a rotation by another process
//! needs no restart. A key gets into the set before it signs anything, and never out of it again.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use pinhole_app::Keyring;
use pinhole_core::{Error, Ids, Result, Signer};
use pinhole_keyfile as keyfile;
use pinhole_receipt::{Jwk, Jwks, KeyStatus, KeyUse, PublicKey, SigningKey, TrustedKeys};

use crate::DataDir;

/// Greatest size of the set in bytes; what a verifier reads of it at most.
const MAX_SET_BYTES: u64 = 256 * 1024;
/// Greatest number of keys in the set; a verifier takes no more.
const MAX_KEYS: usize = 256;
/// Greatest size of the reason of a revocation in bytes, as JSON writes it: with it in every key the set is in its bounds.
const MAX_REASON_BYTES: usize = 700;

/// The keys of one installation.
pub struct KeyRing {
    data: DataDir,
    ids: Arc<dyn Ids>,
    /// The statement key, and what its files looked like when it was read.
    statement: Mutex<Option<(Stamp, Arc<SigningKey>)>>,
}

/// Which files were read: inode and time of change of the statement key and of the set. A changed file is a new one.
type Stamp = [(u64, i64, i64); 2];

/// What a rotation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// The id of the key that signs from now on.
    pub key_id: String,
    /// The id of the key that signed until now.
    pub previous: String,
}

impl KeyRing {
    /// The keys of a data directory.
    pub fn new(data: DataDir, ids: Arc<dyn Ids>) -> Self {
        Self { data, ids, statement: Mutex::default() }
    }

    /// Makes the private keys that are missing, and takes every one into the set.
    ///
    /// # Errors
    /// `invalid_arguments` when a file is not what it should be, or open to others than its owner.
    pub fn prepare(&self) -> Result<()> {
        for purpose in [KeyUse::Statement, KeyUse::Commit, KeyUse::Log] {
            SigningKey::load_or_create(&self.file(purpose), &*self.ids)?;
        }
        // Read within the change: a rotation meanwhile may have made another key the active one.
        self.change(|_| Ok(()))
    }

    /// Every public key with its status, oldest first.
    ///
    /// # Errors
    /// As [`KeyRing::prepare`].
    pub fn public(&self) -> Result<Jwks> {
        let text = keyfile::read_up_to(&self.set(), MAX_SET_BYTES)?;
        self.with_status(self.parse(text.as_ref().map(|text| text.as_str()))?)
    }

    /// Makes a new key sign in the place of the active one, which stays in the set as retired: what it signed stays valid.
    ///
    /// # Errors
    /// `conflict` with reason `log_key` for the log's key, `key_missing` when there is no key yet, and `limit_exceeded`
    /// when the set is full.
    pub fn rotate(&self, purpose: KeyUse) -> Result<Rotated> {
        if purpose == KeyUse::Log {
            return Err(log_key("rotated"));
        }
        let previous = self.active(purpose)?.public_key().key_id.clone();
        let key = SigningKey::generate(|bytes| self.ids.fill(bytes))?;
        let key_id = key.public_key().key_id.clone();
        self.change(|set| {
            if set.keys.len() >= MAX_KEYS {
                return Err(Error::too_large("keys", MAX_KEYS as u64)
                    .with_message(format!("the key set holds {MAX_KEYS} keys, and no verifier takes more")));
            }
            set.keys.push(Jwk::new(key.public_key(), purpose, KeyStatus::Retired));
            Ok(())
        })?;
        keyfile::change(&self.file(purpose), |_| key.to_pkcs8_pem().map(Some))?;
        Ok(Rotated { key_id, previous })
    }

    /// Revokes a key that signs no more: nothing that it signed is accepted from now on.
    ///
    /// # Errors
    /// `not_found` for an unknown key; `conflict` with reason `key_active`, `key_revoked` or `log_key`; `limit_exceeded`
    /// for a reason of more than 700 bytes.
    pub fn revoke(&self, key_id: &str, reason: &str) -> Result<KeyUse> {
        // What JSON writes with more bytes counts as many; the quotes do not.
        if serde_json::to_string(reason).map_err(Error::internal)?.len() > MAX_REASON_BYTES + 2 {
            return Err(Error::too_large("reason in bytes", MAX_REASON_BYTES as u64));
        }
        let mut purpose = None;
        self.change(|set| {
            let found = set.keys.iter_mut().find(|key| key.kid == key_id);
            let found = found.ok_or_else(|| {
                Error::not_found().with_message("there is no key of this id: the key set lists all of them")
            })?;
            match found.pinhole_status {
                _ if found.pinhole_use == KeyUse::Log => return Err(log_key("revoked")),
                KeyStatus::Active => {
                    let message = "this key signs now: run `pinhole key rotate-signing` for its use first";
                    return Err(Error::conflict("key_active", message));
                }
                KeyStatus::Revoked => return Err(Error::conflict("key_revoked", "this key is revoked already")),
                KeyStatus::Retired => found.pinhole_status = KeyStatus::Revoked,
            }
            found.pinhole_reason = Some(reason.to_owned());
            purpose = Some(found.pinhole_use);
            Ok(())
        })?;
        purpose.ok_or_else(|| Error::internal("a key was revoked and not found"))
    }

    /// Changes the set, in which each key has its status, and every active key is.
    fn change(&self, change: impl FnOnce(&mut Jwks) -> Result<()>) -> Result<()> {
        keyfile::change_up_to(&self.set(), MAX_SET_BYTES, |before| {
            let mut set = self.with_status(self.parse(before)?)?;
            change(&mut set)?;
            let mut text = set.to_text()?;
            text.push('\n');
            Ok((before != Some(text.as_str())).then(|| text.into()))
        })
    }

    fn parse(&self, text: Option<&str>) -> Result<Jwks> {
        let Some(text) = text else { return Ok(Jwks::default()) };
        let wrong = |reason: String| keyfile::refused(&self.set(), &format!("is no key set: {reason}"));
        let set: Jwks = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        TrustedKeys::from_jwks(&set).map_err(|error| wrong(error.to_string()))?;
        Ok(set)
    }

    /// The set with the status that the private keys give it.
    fn with_status(&self, mut set: Jwks) -> Result<Jwks> {
        for purpose in [KeyUse::Statement, KeyUse::Commit, KeyUse::Log] {
            let Some(active) = SigningKey::load(&self.file(purpose))? else { continue };
            let active: &PublicKey = active.public_key();
            if !set.keys.iter().any(|key| key.kid == active.key_id) {
                set.keys.push(Jwk::new(active, purpose, KeyStatus::Active));
            }
            for key in set.keys.iter_mut().filter(|key| key.pinhole_use == purpose) {
                key.pinhole_status = match key.pinhole_status {
                    KeyStatus::Revoked => KeyStatus::Revoked,
                    _ if key.kid == active.key_id => KeyStatus::Active,
                    _ => KeyStatus::Retired,
                };
            }
        }
        Ok(set)
    }

    fn active(&self, purpose: KeyUse) -> Result<SigningKey> {
        let path = self.file(purpose);
        SigningKey::load(&path)?.ok_or_else(|| {
            Error::conflict("key_missing", format!("{} is missing: restore it from backup", path.display()))
        })
    }

    fn stamp(&self) -> Option<Stamp> {
        let facts = |path| fs::metadata(path).ok().map(|facts| (facts.ino(), facts.mtime(), facts.mtime_nsec()));
        Some([facts(self.file(KeyUse::Statement))?, facts(self.set())?])
    }

    fn file(&self, purpose: KeyUse) -> PathBuf {
        match purpose {
            KeyUse::Statement => self.data.statement_key(),
            KeyUse::Commit => self.data.commit_key(),
            KeyUse::Log => self.data.log_key(),
        }
    }

    fn set(&self) -> PathBuf {
        self.data.public_keys()
    }
}

impl Keyring for KeyRing {
    fn statement(&self) -> Result<Arc<dyn Signer>> {
        let mut known = self.statement.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken first: what changes meanwhile is read again the next time.
        let stamp = self.stamp();
        if let (Some(stamp), Some((read, key))) = (stamp, &*known)
            && stamp == *read
        {
            return Ok(Arc::clone(key) as Arc<dyn Signer>);
        }
        let key = Arc::new(self.active(KeyUse::Statement)?);
        // One that was put back by hand, say from a backup, after it was revoked.
        let revoked = |listed: &Jwk| listed.kid == key.key_id() && listed.pinhole_status == KeyStatus::Revoked;
        if self.public()?.keys.iter().any(revoked) {
            return Err(Error::conflict("key_revoked", "the statement key is revoked: nothing is signed with it"));
        }
        *known = stamp.map(|stamp| (stamp, Arc::clone(&key)));
        Ok(key)
    }

    fn public(&self) -> Result<Jwks> {
        Self::public(self)
    }
}

fn log_key(what: &str) -> Error {
    let message = format!(
        "the log's key cannot be {what}: every checkpoint that a published catalog or somebody outside keeps is signed \
         with it, and would verify no more (docs/trust.md)"
    );
    Error::conflict("log_key", message)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pinhole_core::{Code, RandomIds};

    use super::*;

    fn ring() -> (tempfile::TempDir, KeyRing) {
        let folder = tempfile::tempdir().unwrap();
        let ring = again(&folder);
        ring.prepare().unwrap();
        (folder, ring)
    }

    /// The same keys in another process.
    fn again(folder: &tempfile::TempDir) -> KeyRing {
        KeyRing::new(DataDir::open(&folder.path().join("data")).unwrap(), Arc::new(RandomIds))
    }

    fn listed(ring: &KeyRing, purpose: KeyUse) -> Vec<(String, KeyStatus)> {
        let keys = ring.public().unwrap().keys.into_iter().filter(|key| key.pinhole_use == purpose);
        keys.map(|key| (key.kid, key.pinhole_status)).collect()
    }

    #[test]
    fn every_process_signs_with_a_rotated_key_at_once() {
        let (folder, ring) = ring();
        let other = again(&folder);
        let first = other.statement().unwrap();
        let rotated = ring.rotate(KeyUse::Statement).unwrap();
        assert_eq!(rotated.previous, first.key_id());
        assert_eq!(other.statement().unwrap().key_id(), rotated.key_id);
        let expected = vec![(rotated.previous, KeyStatus::Retired), (rotated.key_id, KeyStatus::Active)];
        assert_eq!(listed(&other, KeyUse::Statement), expected);
        assert_eq!(listed(&other, KeyUse::Log).len(), 1);
        let set = fs::metadata(folder.path().join("data/keys/public-keys.json")).unwrap();
        assert_eq!(set.permissions().mode() & 0o7777, 0o600);
    }

    #[test]
    fn an_interrupted_rotation_leaves_the_key_that_signs_active() {
        let (folder, ring) = ring();
        let path = folder.path().join("data/keys/statement.pem");
        let before = fs::read(&path).unwrap();
        let rotated = ring.rotate(KeyUse::Statement).unwrap();
        // As if it had been interrupted between the set and the key.
        fs::write(&path, before).unwrap();
        let ring = again(&folder);
        assert_eq!(ring.statement().unwrap().key_id(), rotated.previous);
        let expected = vec![(rotated.previous, KeyStatus::Active), (rotated.key_id, KeyStatus::Retired)];
        assert_eq!(listed(&ring, KeyUse::Statement), expected);
    }

    #[test]
    fn a_key_is_revoked_once_it_signs_no_more() {
        let (folder, ring) = ring();
        let path = folder.path().join("data/keys/statement.pem");
        let before = fs::read(&path).unwrap();
        let first = ring.statement().unwrap().key_id().to_owned();
        let reason = |result: Result<KeyUse>| result.unwrap_err().reason().map(str::to_owned);
        assert_eq!(reason(ring.revoke(&first, "x")).as_deref(), Some("key_active"));
        assert_eq!(ring.revoke("none", "x").unwrap_err().code(), Code::NotFound);
        ring.rotate(KeyUse::Statement).unwrap();
        assert_eq!(ring.revoke(&first, "it was shown").unwrap(), KeyUse::Statement);
        assert_eq!(reason(ring.revoke(&first, "x")).as_deref(), Some("key_revoked"));
        let key = ring.public().unwrap().keys.into_iter().find(|key| key.kid == first).unwrap();
        assert_eq!((key.pinhole_status, key.pinhole_reason.as_deref()), (KeyStatus::Revoked, Some("it was shown")));
        // Somebody puts the old file back.
        fs::write(&path, before).unwrap();
        let refused = again(&folder).statement().map(|signer| signer.key_id().to_owned());
        assert_eq!(refused.unwrap_err().reason(), Some("key_revoked"));
    }

    #[test]
    fn every_key_can_be_revoked_with_a_reason() {
        let (_folder, ring) = ring();
        let first = ring.rotate(KeyUse::Commit).unwrap().previous;
        for long in ["a".repeat(MAX_REASON_BYTES + 1), "\n".repeat(MAX_REASON_BYTES / 2 + 1)] {
            assert_eq!(ring.revoke(&first, &long).unwrap_err().code(), Code::LimitExceeded);
        }
        let longest = "\n".repeat(MAX_REASON_BYTES / 2);
        ring.revoke(&first, &longest).unwrap();
        let revoked = Jwk {
            pinhole_use: KeyUse::Statement,
            ..ring.public().unwrap().keys.into_iter().find(|key| key.kid == first).unwrap()
        };
        let text = Jwks { keys: vec![revoked; MAX_KEYS] }.to_text().unwrap();
        assert!((text.len() as u64) < MAX_SET_BYTES, "{} bytes", text.len());
    }

    #[test]
    fn the_key_of_the_log_stays() {
        let (_folder, ring) = ring();
        let log = listed(&ring, KeyUse::Log)[0].0.clone();
        assert_eq!(ring.rotate(KeyUse::Log).unwrap_err().reason(), Some("log_key"));
        assert_eq!(ring.revoke(&log, "x").unwrap_err().reason(), Some("log_key"));
        assert_eq!(listed(&ring, KeyUse::Log), [(log, KeyStatus::Active)]);
    }

    #[test]
    fn rotations_at_once_lose_no_key() {
        let (folder, ring) = ring();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let folder = &folder;
                scope.spawn(move || again(folder).rotate(KeyUse::Commit).unwrap());
            }
        });
        let keys = listed(&ring, KeyUse::Commit);
        assert_eq!(keys.len(), 5);
        assert_eq!(keys.iter().filter(|(_, status)| *status == KeyStatus::Active).count(), 1);
    }

    #[test]
    fn a_damaged_set_is_refused_and_stays() {
        let (folder, ring) = ring();
        let path = folder.path().join("data/keys/public-keys.json");
        fs::write(&path, "{}").unwrap();
        assert!(ring.public().unwrap_err().message().contains("is no key set"));
        assert!(ring.rotate(KeyUse::Statement).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    }
}
