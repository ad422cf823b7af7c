//! The file of master keys: one to a line, the present one first, mode 0600. It appears and changes complete or not at
//! all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use pinhole_core::{Error, Ids, Result};
use zeroize::Zeroizing;

use crate::key::Key;

/// Greatest size of the file in bytes.
const MAX_BYTES: u64 = 4096;

/// The text of the file, or `None` when there is no file.
///
/// # Errors
/// `invalid_arguments` when others than its owner may use it, or it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Option<Zeroizing<String>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(path, "cannot be opened").with_source(error)),
    };
    // Of the open file, not of the name: what is checked is what is read.
    let facts = file.metadata().map_err(|error| at(path, "cannot be examined").with_source(error))?;
    let mode = facts.permissions().mode() & 0o7777;
    if !facts.is_file() {
        return Err(at(path, "is no regular file"));
    }
    if mode & 0o077 != 0 {
        return Err(at(path, &format!("has mode {mode:04o}: others may use the key; run chmod 600 on it")));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| at(path, "cannot be read").with_source(error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(at(path, "is too large for a key file"));
    }
    Ok(Some(text))
}

/// Puts a new key before those that the file holds, and makes the file when there is none and `only_first` is given;
/// then a file that is there by now stays as it is.
pub(crate) fn add(path: &Path, ids: &dyn Ids, only_first: bool) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unwritten = |error: io::Error| at(path, "cannot be written").with_source(error);
    // Held until the file is in its place: of two that add a key at once, neither may lose the other's.
    let lock = File::open(folder).map_err(unwritten)?;
    lock.lock().map_err(unwritten)?;
    let before = read(path)?;
    if only_first && before.is_some() {
        return Ok(());
    }
    let mut bytes = Zeroizing::new([0; 32]);
    ids.fill(bytes.as_mut_slice())?;
    let rest = before.as_ref().map_or("", |text| text.as_str());
    let text = Zeroizing::new(format!("{}\n{rest}", *Key::written(&bytes)));
    let draft = folder.join(format!(".master-{}", ids.uuid().simple()));
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

pub(crate) fn at(path: &Path, reason: &str) -> Error {
    Error::invalid("master_key_file", format!("{} {reason}", path.display()))
}
