//! Folders for repositories on their way: one for each try, removed when it ends. They are never used twice, so that a
//! damaged one harms one try.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use pinhole_core::{Error, Result};
use tempfile::TempDir;

/// How the folders' names begin.
const PREFIX: &str = "publication-";
/// What is left from a process that was killed is removed when it is older than any try can be.
const OLD: Duration = Duration::from_secs(24 * 3600);

/// The folder of one try.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new(below: &Path) -> Result<Self> {
        let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(below);
        made.map(Self).map_err(|error| unavailable(below, &error))
    }

    /// The repository in which the commit is made.
    pub(crate) fn work(&self) -> PathBuf {
        self.0.path().join("work.git")
    }

    /// The repository that everything is read back into: empty, so that every byte comes from the remote.
    pub(crate) fn read_back(&self) -> PathBuf {
        self.0.path().join("read-back.git")
    }
}

/// Makes the folder, and removes what killed processes left in it.
pub(crate) async fn clear_old(scratch: &Path) -> Result<()> {
    let below = scratch.to_owned();
    let cleared = tokio::task::spawn_blocking(move || clear(&below).map_err(|error| unavailable(&below, &error)));
    cleared.await.map_err(Error::internal)?
}

fn clear(below: &Path) -> io::Result<()> {
    std::fs::create_dir_all(below)?;
    for entry in std::fs::read_dir(below)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let old = entry.metadata()?.modified()?.elapsed().is_ok_and(|age| age > OLD);
        if ours && old {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn unavailable(path: &Path, error: &io::Error) -> Error {
    let message = format!("{}: {error}: check that the folder can be written", path.display());
    Error::unavailable("scratch", message)
}
