//! Files of keys, private ones and the list of the public ones, as text: mode 0600, read and written within a bound, made
//! and changed complete or not at all.
//!
//! What a key looks like is its owner's to know. Nothing here repeats a file's content in an error.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use pinhole_core::{Error, Result};
use zeroize::Zeroizing;

/// Greatest size of a key file in bytes; ours have some hundreds.
const MAX_BYTES: u64 = 4096;
/// The file in the making, in the same folder.
const DRAFT: &str = ".key-draft";

/// The text of the key file at `path`, in memory that is wiped when dropped; `None` when there is no file.
///
/// # Errors
/// `invalid_arguments` when it is no regular file of at most 4096 bytes, when others than its owner may use it, or when
/// it cannot be read.
pub fn read(path: &Path) -> Result<Option<Zeroizing<String>>> {
    read_up_to(path, MAX_BYTES)
}

/// As [`read`], of a file of at most `max_bytes`.
///
/// # Errors
/// Those of [`read`].
pub fn read_up_to(path: &Path, max_bytes: u64) -> Result<Option<Zeroizing<String>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(path, "cannot be opened").with_source(error)),
    };
    // Of the open file, not of the name: what is checked is what is read.
    let facts = file.metadata().map_err(|error| refused(path, "cannot be examined").with_source(error))?;
    let mode = facts.permissions().mode() & 0o7777;
    if !facts.is_file() {
        return Err(refused(path, "is no regular file"));
    }
    if mode & 0o077 != 0 {
        return Err(refused(path, &format!("has mode {mode:04o}: others may use the key; run chmod 600 on it")));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(max_bytes.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(|error| refused(path, "cannot be read").with_source(error))?;
    if text.len() as u64 > max_bytes {
        return Err(refused(path, "is too large for a key file"));
    }
    Ok(Some(text))
}

/// Gives the key file at `path` the text that `after` makes of the one before, which is `None` when there is no file;
/// when it makes `None`, nothing changes. Of several that change files of one folder at once, each sees what the one
/// before it wrote.
///
/// # Errors
/// Those of [`read`] and of `after`; `invalid_arguments` when the file cannot be written, or would be one that cannot be
/// read.
pub fn change(path: &Path, after: impl FnOnce(Option<&str>) -> Result<Option<Zeroizing<String>>>) -> Result<()> {
    change_up_to(path, MAX_BYTES, after)
}

/// As [`change`], of a file of at most `max_bytes`.
///
/// # Errors
/// Those of [`change`].
pub fn change_up_to(
    path: &Path,
    max_bytes: u64,
    after: impl FnOnce(Option<&str>) -> Result<Option<Zeroizing<String>>>,
) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unwritten = |error: io::Error| refused(path, "cannot be written").with_source(error);
    // Held until the file is in its place.
    let lock = File::open(folder).map_err(unwritten)?;
    lock.lock().map_err(unwritten)?;
    let before = read_up_to(path, max_bytes)?;
    let Some(text) = after(before.as_ref().map(|text| text.as_str()))? else { return Ok(()) };
    if text.len() as u64 > max_bytes {
        return Err(refused(path, &format!("would have more than {max_bytes} bytes: it stays as it is")));
    }
    // One name under the lock: what somebody left who was killed holds keys, and is gone with the next change.
    let draft = folder.join(DRAFT);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritten(error)),
        _ => {}
    }
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        lock.sync_all()
    });
    if written.is_err() {
        // Nothing can be done about a draft that stays: it has the mode of the file itself.
        let _ = fs::remove_file(&draft);
    }
    written.map_err(unwritten)
}

/// Why the key file at `path` is not used.
#[must_use]
pub fn refused(path: &Path, reason: &str) -> Error {
    Error::invalid("key_file", format!("{} {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, thread};

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        (folder, path)
    }

    /// Adds a letter.
    fn add(path: &Path, letter: char) -> Result<()> {
        change(path, |before| Ok(Some(format!("{letter}{}", before.unwrap_or_default()).into())))
    }

    #[test]
    fn a_file_is_made_and_changed_for_its_owner_alone() {
        let (folder, path) = folder();
        assert!(read(&path).unwrap().is_none());
        for (letter, text) in [('a', "a"), ('b', "ba")] {
            add(&path, letter).unwrap();
            assert_eq!(**read(&path).unwrap().unwrap(), *text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        }
        change(&path, |before| Ok(before.is_none().then(|| "c".to_owned().into()))).unwrap();
        assert_eq!(**read(&path).unwrap().unwrap(), *"ba", "what makes nothing changes nothing");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left behind");
    }

    #[test]
    fn what_a_killed_change_left_is_gone_with_the_next() {
        let (folder, path) = folder();
        fs::write(folder.path().join(DRAFT), "a key").unwrap();
        add(&path, 'a').unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "keys were left behind");
    }

    #[test]
    fn a_file_that_others_may_use_is_refused_and_stays() {
        let (_folder, path) = folder();
        add(&path, 'a').unwrap();
        for loose in [0o640, 0o604, 0o620, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(loose)).unwrap();
            for error in [read(&path).unwrap_err(), add(&path, 'b').unwrap_err()] {
                assert!(error.message().contains(&format!("{loose:04o}")), "{error}");
            }
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(**read(&path).unwrap().unwrap(), *"a");
    }

    #[test]
    fn what_is_no_small_text_file_is_refused_and_not_repeated() {
        let (folder, path) = folder();
        add(&path, 'a').unwrap();
        for content in ["hush".repeat(1025).into_bytes(), b"hush\xff".to_vec()] {
            fs::write(&path, content).unwrap();
            let error = read(&path).unwrap_err();
            assert!(!format!("{error:?}").contains("hush"), "{error:?}");
        }
        assert!(read(folder.path()).is_err());
        assert!(add(&folder.path().join("none/a.key"), 'a').is_err());
    }

    #[test]
    fn nothing_is_written_that_could_not_be_read() {
        let (folder, path) = folder();
        let write = |length: usize| change_up_to(&path, 10, |_| Ok(Some("a".repeat(length).into())));
        write(10).unwrap();
        assert!(write(11).unwrap_err().message().contains("more than 10 bytes"));
        assert_eq!(**read(&path).unwrap().unwrap(), *"a".repeat(10));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left behind");
    }

    #[test]
    fn of_changes_at_once_none_is_lost() {
        let (folder, path) = folder();
        thread::scope(|scope| {
            for letter in 'a'..'i' {
                let path = &path;
                scope.spawn(move || add(path, letter).unwrap());
            }
        });
        let text = read(&path).unwrap().unwrap();
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        assert_eq!(letters, ('a'..'i').collect::<Vec<_>>());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
