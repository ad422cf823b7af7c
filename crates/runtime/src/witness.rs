//! The newest signed checkpoint of the transparency log in a file beside the keys: a backup of the database alone does
//! not take it back.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use pinhole_core::{Error, Result, Witness};
use pinhole_receipt::log::{Checkpoint, MAX_CHECKPOINT_BYTES};

use crate::write_private;

/// A file with the newest checkpoint. It appears under its name complete or not at all.
pub struct CheckpointFile(PathBuf);

impl CheckpointFile {
    /// The file at `path`; it need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Keeps other processes of this machine out for as long as what it returns lives.
    fn lock(&self) -> Result<File> {
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let locked = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
        locked.map_err(|error| self.failed("cannot be locked", error))
    }

    fn forked(&self, size: u64) -> Error {
        let message = format!(
            "{} has another checkpoint over {size} leaves: two databases go on from one log. Stop one of them",
            self.0.display()
        );
        Error::conflict("log_forked", message)
    }

    fn failed(&self, what: &str, error: std::io::Error) -> Error {
        let message = format!("{} {what}: check its folder and the free space", self.0.display());
        Error::unavailable("log_checkpoint_file", message).with_source(error)
    }
}

impl Witness for CheckpointFile {
    fn newest(&self) -> Result<Option<String>> {
        let mut note = String::new();
        match File::open(&self.0).and_then(|file| file.take(MAX_CHECKPOINT_BYTES as u64).read_to_string(&mut note)) {
            Ok(_) => Ok(Some(note)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("cannot be read", error)),
        }
    }

    fn remember(&self, checkpoint: &str, size: u64) -> Result<()> {
        let _lock = self.lock()?;
        if let Some(known) = self.newest()? {
            // A damaged one is not written over: the sequencer refuses it.
            let known = Checkpoint::unverified(known.as_bytes()).map_err(Error::internal)?;
            let new = Checkpoint::unverified(checkpoint.as_bytes()).map_err(Error::internal)?;
            // One of another log is of one that was given up: the sequencer has looked.
            let is_same_log = known.origin == new.origin;
            if is_same_log && known.size == size && known != new {
                return Err(self.forked(size));
            }
            if is_same_log && known.size >= size {
                return Ok(());
            }
        }
        let draft = self.0.with_extension("new");
        write_private(&draft, checkpoint.as_bytes())?;
        let moved = fs::rename(&draft, &self.0).and_then(|()| match self.0.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        });
        moved.map_err(|error| self.failed("cannot be written", error))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pinhole_core::{Ids as _, RandomIds, Sha256Digest};
    use pinhole_receipt::SigningKey;

    use super::*;

    fn note(size: u64) -> String {
        let key = SigningKey::generate(|bytes| RandomIds.fill(bytes)).unwrap();
        let root = Sha256Digest::of(&size.to_be_bytes());
        Checkpoint { origin: "pinhole.dev/log/1".into(), size, root }.sign(&key).unwrap()
    }

    #[test]
    fn the_file_has_the_newest_checkpoint_and_never_an_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log-checkpoint");
        let file = CheckpointFile::new(path.clone());
        assert_eq!(file.newest().unwrap(), None);
        let (five, nine, seven) = (note(5), note(9), note(7));
        for (size, remembered) in [(5, &five), (9, &nine), (7, &nine), (9, &nine)] {
            file.remember(if size == 7 { &seven } else { remembered }, size).unwrap();
            assert_eq!(file.newest().unwrap().as_ref(), Some(remembered));
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left behind");
    }

    #[test]
    fn another_checkpoint_of_the_same_size_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::new(folder.path().join("log-checkpoint"));
        let key = SigningKey::generate(|bytes| RandomIds.fill(bytes)).unwrap();
        let note = |root: &[u8]| {
            let root = Sha256Digest::of(root);
            Checkpoint { origin: "pinhole.dev/log/1".into(), size: 5, root }.sign(&key).unwrap()
        };
        file.remember(&note(b"one"), 5).unwrap();
        file.remember(&note(b"one"), 5).unwrap();
        let error = file.remember(&note(b"another"), 5).unwrap_err();
        assert_eq!(error.reason(), Some("log_forked"));
        assert_eq!(file.newest().unwrap(), Some(note(b"one")));
    }

    #[test]
    fn a_damaged_file_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log-checkpoint");
        fs::write(&path, "damaged").unwrap();
        assert!(CheckpointFile::new(path.clone()).remember(&note(5), 5).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "damaged");
    }
}
