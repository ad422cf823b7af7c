//! Bare repositories on this machine: made for the embedded set-up, and written out as plain files for verification.
//! It must not change anything in a repository that exists.

use std::path::Path;

use git2::{ObjectType, Repository, RepositoryInitOptions, TreeWalkMode, TreeWalkResult};
use pinhole_core::{Error, LineName, Result};

use crate::process;

/// Makes a bare repository at `path`, or finds the one that is there.
///
/// # Errors
/// `provider_unavailable` when there is something else, or the place cannot be written.
pub fn create(path: &Path) -> Result<()> {
    isolated()?;
    let mut options = RepositoryInitOptions::new();
    options.bare(true).no_reinit(false).initial_head("main").mkpath(true);
    Repository::init_opts(path, &options).map(drop).map_err(|e| failed(path, e))
}

/// Writes the files of a branch's tip into `directory`, which must not exist. Links and submodules are refused: a
/// catalog has none.
///
/// # Errors
/// `not_found` without such a branch, `provider_unavailable` when something cannot be read or written.
pub fn checkout(repository: &Path, branch: &LineName, directory: &Path) -> Result<()> {
    isolated()?;
    let found = Repository::open_bare(repository).map_err(|e| failed(repository, e))?;
    let tip = found.find_reference(&format!("refs/heads/{branch}")).map_err(|_| Error::not_found())?;
    let tree = tip.peel_to_tree().map_err(|e| failed(repository, e))?;
    let unwritable = |e: std::io::Error| {
        Error::unavailable("checkout", format!("{} cannot be written", directory.display())).with_source(e)
    };
    std::fs::create_dir(directory).map_err(unwritable)?;
    let mut outcome = Ok(());
    let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        outcome = write(&found, directory, folder, entry).and_then(|done| done.map_err(unwritable));
        if outcome.is_ok() { TreeWalkResult::Ok } else { TreeWalkResult::Abort }
    });
    outcome.and(walked.map_err(|e| failed(repository, e)))
}

fn write(
    repository: &Repository,
    directory: &Path,
    folder: &str,
    entry: &git2::TreeEntry<'_>,
) -> Result<std::io::Result<()>> {
    let odd = || Error::unavailable("checkout", format!("{folder} holds what is neither a file nor a folder"));
    let path = directory.join(folder).join(entry.name().map_err(|_| odd())?);
    match (entry.kind(), entry.filemode()) {
        (Some(ObjectType::Tree), _) => Ok(std::fs::create_dir(path)),
        (Some(ObjectType::Blob), 0o100_644 | 0o100_755) => {
            let blob = repository.find_blob(entry.id()).map_err(|_| odd())?;
            Ok(std::fs::write(path, blob.content()))
        }
        _ => Err(odd()),
    }
}

/// Keeps the user's own Git configuration out.
pub(crate) fn isolated() -> Result<()> {
    process::isolate(None).map_err(|_| Error::internal("Git cannot be isolated from the user's configuration"))
}

fn failed(path: &Path, error: git2::Error) -> Error {
    Error::unavailable("git", format!("{} is no usable repository", path.display())).with_source(error)
}
