//! A clone as verification reads it: the commits of its history and the catalog's files at one of them. Nothing is
//! changed, no hook is run, and no configuration but the clone's own is read.
//!
//! It must not judge anything: that is the reader's.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use git2::{ErrorCode, ObjectType, Repository, RepositoryOpenFlags, Tree};
use pinhole_core::{Error, LineName, Result};

use crate::{
    CommitId,
    failure::Failure,
    local::isolated,
    tree::{MODE_FILE, OWNED, blob, is_catalog, read_files},
};

/// Greatest size of a commit in bytes.
const MAX_COMMIT_BYTES: usize = 1024 * 1024;

/// A repository on this machine, bare or with a work tree.
pub struct LocalClone {
    repository: Repository,
    folder: PathBuf,
}

impl LocalClone {
    /// Opens the repository at `path`, which is bare or has its folder `.git` there; `None` when it is neither.
    ///
    /// # Errors
    /// `provider_unavailable` when it is one and cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        isolated()?;
        let flags = RepositoryOpenFlags::NO_SEARCH;
        match Repository::open_ext(path, flags, [] as [&Path; 0]) {
            Ok(repository) => Ok(Some(Self { repository, folder: path.to_owned() })),
            Err(error) if error.code() == ErrorCode::NotFound && !path.join(".git").exists() => Ok(None),
            Err(error) => {
                let message = format!("{} is no usable repository", path.display());
                Err(Error::unavailable("git", message).with_source(error))
            }
        }
    }

    /// Whether the clone lacks older commits.
    pub fn is_shallow(&self) -> bool {
        self.repository.is_shallow()
    }

    /// Whether files are or may be checked out beside it: by what there is in its folder, whatever its configuration
    /// says of it, which comes from the same hands as the files.
    pub fn has_work_tree(&self) -> bool {
        let is_there = |name: &str| {
            let facts = self.folder.join(name).symlink_metadata();
            !facts.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        is_there(".git") || OWNED.into_iter().any(is_there)
    }

    /// The commit that is checked out, or that a bare repository is at.
    ///
    /// # Errors
    /// `not_found` when there is none yet.
    pub fn head(&self) -> Result<CommitId> {
        let head = self.repository.head().and_then(|head| head.peel_to_commit());
        head.map(|commit| CommitId::new(commit.id()))
            .map_err(|_| missing("the repository's HEAD names no commit: name a branch or a commit"))
    }

    /// The tip of a branch of the clone, or else of the remote that it is of.
    ///
    /// # Errors
    /// `not_found` when there is no such branch.
    pub fn tip(&self, branch: &LineName) -> Result<CommitId> {
        let names = [format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")];
        let tip = names
            .iter()
            .find_map(|name| self.repository.find_reference(name).and_then(|tip| tip.peel_to_commit()).ok());
        tip.map(|commit| CommitId::new(commit.id())).ok_or_else(|| missing("the repository has no such branch"))
    }

    /// The commit object, as Git stores it.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be read or is none.
    pub fn commit(&self, id: CommitId) -> Result<Vec<u8>> {
        let odb = self.repository.odb().map_err(unreadable)?;
        let (size, kind) = odb.read_header(id.oid()).map_err(unreadable)?;
        if kind != ObjectType::Commit || size > MAX_COMMIT_BYTES {
            return Err(damaged("this is no commit, or one of more than 1 MiB"));
        }
        Ok(odb.read(id.oid()).map_err(unreadable)?.data().to_vec())
    }

    /// The names, modes and ids of what the commit's tree has under the catalog's names, as one text; empty when there is
    /// nothing.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be read.
    pub fn catalog(&self, id: CommitId) -> Result<String> {
        let mut text = String::new();
        for entry in self.tree(id)?.iter().filter(is_catalog) {
            let name = String::from_utf8_lossy(entry.name_bytes());
            text.push_str(&format!("{name} {:o} {}\n", entry.filemode_raw(), entry.id()));
        }
        Ok(text)
    }

    /// The bytes of a plain file of the commit's tree; `None` when there is none at `path`.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be read.
    pub fn file(&self, id: CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        let tree = self.tree(id)?;
        match tree.get_path(Path::new(path)) {
            Ok(entry) if entry.filemode_raw() == MODE_FILE => {
                let odb = self.repository.odb().map_err(unreadable)?;
                let file = blob(&odb, entry.id()).map_err(|failure| failed(&failure))?;
                Ok(Some(file.data().to_vec()))
            }
            Ok(_) => Ok(None),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// The catalog's files at a commit: at most 200,000, 64 MiB each, 2 GiB together. Links, executables and whatever
    /// else is no plain file are refused.
    ///
    /// # Errors
    /// `provider_unavailable`, naming the path.
    pub fn files(&self, id: CommitId) -> Result<BTreeMap<String, Vec<u8>>> {
        read_files(&self.repository, &self.tree(id)?, <[u8]>::to_vec).map_err(|failure| failed(&failure))
    }

    fn tree(&self, id: CommitId) -> Result<Tree<'_>> {
        self.repository.find_commit(id.oid()).and_then(|commit| commit.tree()).map_err(unreadable)
    }
}

fn missing(what: &'static str) -> Error {
    Error::not_found().with_message(what)
}

fn failed(failure: &Failure) -> Error {
    damaged(failure.why())
}

fn unreadable(error: git2::Error) -> Error {
    damaged(format!("an object cannot be read: {}", error.message()))
}

fn damaged(what: impl Into<String>) -> Error {
    Error::unavailable("git", what.into())
}
