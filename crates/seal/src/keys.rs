//! The master keys of an installation: the present one seals, every known one opens.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use pinhole_core::{Error, Ids, Result, Sealer};
use pinhole_keyfile as keyfile;
use zeroize::Zeroizing;

use crate::key::{Key, NONCE, Sealed};

/// The most keys that are known at once.
const MAX_KEYS: usize = 16;

/// The master keys, the present one first.
///
/// From a file they are read again before anything is sealed, and when something was sealed under a key that is not
/// known yet: a rotation by another process needs no restart.
pub struct MasterKeys {
    keys: RwLock<Vec<Key>>,
    file: Option<PathBuf>,
    ids: Arc<dyn Ids>,
}

impl MasterKeys {
    /// The keys of the file at `path`, which is made with mode 0600 and one key when there is none.
    ///
    /// # Errors
    /// `invalid_arguments` when others than its owner may read or write it, or it holds no keys.
    pub fn load_or_create(path: &Path, ids: Arc<dyn Ids>) -> Result<Self> {
        if keyfile::read(path)?.is_none() {
            // Of two that start at once, the second finds the first one's key.
            keyfile::change(path, |before| before.is_none().then(|| with_new_key(&*ids, "")).transpose())?;
        }
        let keys = read(path)?;
        Ok(Self { keys: RwLock::new(keys), file: Some(path.to_owned()), ids })
    }

    /// The keys in `text`, with white space or commas between them.
    ///
    /// # Errors
    /// `invalid_arguments`, which does not quote the text.
    pub fn given(text: &str, ids: Arc<dyn Ids>) -> Result<Self> {
        Ok(Self { keys: RwLock::new(parse(text)?), file: None, ids })
    }

    /// Makes a new key the present one. What was sealed under earlier ones still opens.
    ///
    /// # Errors
    /// `conflict` when the keys are not from a file, `limit_exceeded` when it holds 16.
    pub fn rotate(&self) -> Result<()> {
        let Some(path) = &self.file else {
            return Err(Error::conflict(
                "given_key",
                "the master key comes from the environment: put a new one before it there, and run this again",
            ));
        };
        if read(path)?.len() >= MAX_KEYS {
            return Err(Error::too_large("master keys", MAX_KEYS as u64)
                .with_message(format!("{} holds {MAX_KEYS} keys: remove the last ones", path.display())));
        }
        keyfile::change(path, |before| with_new_key(&*self.ids, before.unwrap_or_default()).map(Some))?;
        self.refresh()
    }

    /// The id of the present key.
    ///
    /// # Errors
    /// `internal` when there is none.
    pub fn present_id(&self) -> Result<String> {
        self.with(|keys| keys.first().map(|key| key.id().to_owned()).ok_or_else(no_key))
    }

    fn refresh(&self) -> Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let read = read(path)?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    fn with<T>(&self, work: impl FnOnce(&[Key]) -> Result<T>) -> Result<T> {
        work(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The secret, or `None` when the key is not known.
    fn try_open(&self, sealed: &Sealed<'_>, context: &str) -> Result<Option<Vec<u8>>> {
        self.with(|keys| match keys.iter().find(|key| key.id() == sealed.key_id) {
            Some(key) => key.open(sealed, context).map(Some),
            None => Ok(None),
        })
    }
}

impl Sealer for MasterKeys {
    fn seal(&self, secret: &[u8], context: &str) -> Result<String> {
        self.refresh()?;
        let mut nonce = [0; NONCE];
        self.ids.fill(&mut nonce)?;
        self.with(|keys| keys.first().ok_or_else(no_key)?.seal(secret, context, &nonce))
    }

    fn prefix(&self) -> Result<String> {
        self.refresh()?;
        self.with(|keys| keys.first().map(Key::prefix).ok_or_else(no_key))
    }

    fn open(&self, sealed: &str, context: &str) -> Result<Vec<u8>> {
        let sealed = Sealed::parse(sealed)?;
        if let Some(opened) = self.try_open(&sealed, context)? {
            return Ok(opened);
        }
        self.refresh()?;
        self.try_open(&sealed, context)?.ok_or_else(|| {
            Error::internal(format!("a secret is sealed under the master key {}, which is not known", sealed.key_id))
        })
    }
}

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKeys").field("file", &self.file).finish_non_exhaustive()
    }
}

fn no_key() -> Error {
    Error::internal("there is no master key")
}

fn read(path: &Path) -> Result<Vec<Key>> {
    let text = keyfile::read(path)?.ok_or_else(|| keyfile::refused(path, "is missing"))?;
    parse(&text).map_err(|error| keyfile::refused(path, error.message()))
}

/// The text of a file with a new key before those of `earlier`: one to a line, the present one first.
fn with_new_key(ids: &dyn Ids, earlier: &str) -> Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new([0; 32]);
    ids.fill(bytes.as_mut_slice())?;
    Ok(Zeroizing::new(format!("{}\n{earlier}", *Key::written(&bytes))))
}

fn parse(text: &str) -> Result<Vec<Key>> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let keys: Vec<Key> = words.take(MAX_KEYS + 1).map(Key::parse).collect::<Result<_>>()?;
    if (1..=MAX_KEYS).contains(&keys.len()) {
        Ok(keys)
    } else {
        Err(Error::invalid("master_key", format!("expected 1 to {MAX_KEYS} keys")))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, thread};

    use pinhole_core::RandomIds;

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        (folder, path)
    }

    fn load(path: &Path) -> Result<MasterKeys> {
        MasterKeys::load_or_create(path, Arc::new(RandomIds))
    }

    #[test]
    fn the_file_is_made_once_with_mode_0600_and_read_again() {
        let (folder, path) = folder();
        let sealed = load(&path).unwrap().seal(b"hunter2", "a|B|1").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(load(&path).unwrap().open(&sealed, "a|B|1").unwrap(), b"hunter2");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left behind");
    }

    #[test]
    fn a_file_that_holds_no_key_or_that_others_may_use_is_refused() {
        let (_folder, path) = folder();
        load(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(load(&path).unwrap_err().message().contains("0640"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for wrong in ["", "phm_12", &"x".repeat(5000)] {
            fs::write(&path, wrong).unwrap();
            assert!(load(&path).is_err(), "{wrong}");
        }
    }

    #[test]
    fn after_a_rotation_earlier_secrets_open_and_a_running_process_seals_under_the_new_key() {
        let (_folder, path) = folder();
        let (running, rotating) = (load(&path).unwrap(), load(&path).unwrap());
        let before = running.seal(b"old", "a|B|1").unwrap();
        rotating.rotate().unwrap();
        let prefix = rotating.prefix().unwrap();
        assert!(!before.starts_with(&prefix));
        let moved = rotating.seal(&rotating.open(&before, "a|B|1").unwrap(), "a|B|1").unwrap();
        assert_eq!(running.open(&moved, "a|B|1").unwrap(), b"old");
        assert!(running.seal(b"new", "a|B|2").unwrap().starts_with(&prefix));
        assert_eq!(running.open(&before, "a|B|1").unwrap(), b"old");
    }

    #[test]
    fn of_two_rotations_at_once_no_key_is_lost() {
        let (_folder, path) = folder();
        load(&path).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| load(&path).unwrap().rotate().unwrap());
            }
        });
        assert_eq!(read(&path).unwrap().len(), 5);
    }

    #[test]
    fn a_given_key_is_rotated_where_it_was_given() {
        let (old, new) = (Key::written(&[1; 32]), Key::written(&[2; 32]));
        let keys = MasterKeys::given(&old, Arc::new(RandomIds)).unwrap();
        let sealed = keys.seal(b"old", "a|B|1").unwrap();
        assert_eq!(keys.rotate().unwrap_err().reason(), Some("given_key"));
        let keys = MasterKeys::given(&format!("{},{}", *new, *old), Arc::new(RandomIds)).unwrap();
        assert!(!sealed.starts_with(&keys.prefix().unwrap()));
        assert_eq!(keys.open(&sealed, "a|B|1").unwrap(), b"old");
        let other = MasterKeys::given(&new, Arc::new(RandomIds)).unwrap();
        assert!(other.open(&sealed, "a|B|1").is_err());
    }
}
