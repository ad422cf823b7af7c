//! A clone as verification reads it: the commits of its history and the catalog's files at one of them. Nothing is
//! changed, no hook is run, and no configuration but the clone's own is read.
//!
//! It must not judge anything: that is the reader's.

use std::{collections::BTreeMap, path::Path};

use git2::{ErrorCode, ObjectType, Oid, Repository, RepositoryOpenFlags, Tree, TreeEntry};
use pinhole_core::{Error, LineName, Result};

use crate::{CommitId, local::isolated, tree::OWNED};

/// The mode of a plain file.
const MODE_FILE: i32 = 0o100_644;
/// The mode of a folder.
const MODE_FOLDER: i32 = 0o040_000;
/// Greatest number of the catalog's files.
const MAX_FILES: usize = 200_000;
/// Greatest size of one file in bytes.
const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;
/// Greatest size of all files in bytes.
const MAX_TOTAL_BYTES: usize = 2 * 1024 * 1024 * 1024;
/// Greatest number of folders within each other; a baseline has four.
const MAX_DEPTH: usize = 8;
/// Greatest size of a commit in bytes.
const MAX_COMMIT_BYTES: usize = 1024 * 1024;

/// A repository on this machine, bare or with a work tree.
pub struct LocalClone(Repository);

impl LocalClone {
    /// Opens the repository at `path`, which is bare or has its folder `.git` there; `None` when it is neither.
    ///
    /// # Errors
    /// `provider_unavailable` when it is one and cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        isolated()?;
        let flags = RepositoryOpenFlags::NO_SEARCH;
        match Repository::open_ext(path, flags, [] as [&Path; 0]) {
            Ok(repository) => Ok(Some(Self(repository))),
            Err(error) if error.code() == ErrorCode::NotFound && !path.join(".git").exists() => Ok(None),
            Err(error) => {
                let message = format!("{} is no usable repository", path.display());
                Err(Error::unavailable("git", message).with_source(error))
            }
        }
    }

    /// Whether the clone lacks older commits.
    pub fn is_shallow(&self) -> bool {
        self.0.is_shallow()
    }

    /// Whether files are checked out beside it.
    pub fn has_work_tree(&self) -> bool {
        !self.0.is_bare()
    }

    /// The commit that is checked out, or that a bare repository is at.
    ///
    /// # Errors
    /// `not_found` when there is none yet.
    pub fn head(&self) -> Result<CommitId> {
        let head = self.0.head().and_then(|head| head.peel_to_commit());
        head.map(|commit| CommitId::new(commit.id()))
            .map_err(|_| missing("the repository's HEAD names no commit: name a branch or a commit"))
    }

    /// The tip of a branch of the clone, or else of the remote that it is of.
    ///
    /// # Errors
    /// `not_found` when there is no such branch.
    pub fn tip(&self, branch: &LineName) -> Result<CommitId> {
        let names = [format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")];
        let tip = names.iter().find_map(|name| self.0.find_reference(name).and_then(|tip| tip.peel_to_commit()).ok());
        tip.map(|commit| CommitId::new(commit.id())).ok_or_else(|| missing("the repository has no such branch"))
    }

    /// The commit object, as Git stores it.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be read or is none.
    pub fn commit(&self, id: CommitId) -> Result<Vec<u8>> {
        let odb = self.0.odb().map_err(unreadable)?;
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
            Ok(entry) if entry.filemode_raw() == MODE_FILE => self.blob(entry.id()).map(Some),
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
        let mut reader = Reader { clone: self, files: BTreeMap::new(), total_bytes: 0 };
        for entry in self.tree(id)?.iter().filter(is_catalog) {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            reader.read(name, entry.filemode_raw(), entry.id(), 0)?;
        }
        Ok(reader.files)
    }

    fn tree(&self, id: CommitId) -> Result<Tree<'_>> {
        self.0.find_commit(id.oid()).and_then(|commit| commit.tree()).map_err(unreadable)
    }

    fn blob(&self, id: Oid) -> Result<Vec<u8>> {
        let odb = self.0.odb().map_err(unreadable)?;
        let (size, kind) = odb.read_header(id).map_err(unreadable)?;
        if kind != ObjectType::Blob || size > MAX_FILE_BYTES {
            return Err(damaged("this is no file, or one of more than 64 MiB"));
        }
        Ok(odb.read(id).map_err(unreadable)?.data().to_vec())
    }
}

/// Whether an entry at the top of a tree is the catalog's.
fn is_catalog(entry: &TreeEntry<'_>) -> bool {
    OWNED.iter().any(|owned| owned.as_bytes() == entry.name_bytes())
}

struct Reader<'a> {
    clone: &'a LocalClone,
    files: BTreeMap<String, Vec<u8>>,
    total_bytes: usize,
}

impl Reader<'_> {
    fn read(&mut self, path: String, mode: i32, id: Oid, depth: usize) -> Result<()> {
        match mode {
            MODE_FOLDER if depth < MAX_DEPTH => {
                let tree = self.clone.0.find_tree(id).map_err(unreadable)?;
                for entry in &tree {
                    let name =
                        entry.name().map_err(|_| damaged(format!("{path}: a file's name in it is not UTF-8")))?;
                    self.read(format!("{path}/{name}"), entry.filemode_raw(), entry.id(), depth + 1)?;
                }
                Ok(())
            }
            MODE_FILE if self.files.len() < MAX_FILES => {
                let bytes = self.clone.blob(id)?;
                self.total_bytes = self.total_bytes.saturating_add(bytes.len());
                if self.total_bytes > MAX_TOTAL_BYTES {
                    return Err(damaged(format!("the catalog has more than {MAX_TOTAL_BYTES} bytes")));
                }
                match self.files.insert(path.clone(), bytes) {
                    Some(_) => Err(damaged(format!("{path}: two files have this name"))),
                    None => Ok(()),
                }
            }
            MODE_FOLDER | MODE_FILE => Err(damaged(format!("{path}: more folders or files than a catalog has"))),
            _ => Err(damaged(format!("{path}: this is no plain file"))),
        }
    }
}

fn missing(what: &'static str) -> Error {
    Error::not_found().with_message(what)
}

fn unreadable(error: git2::Error) -> Error {
    damaged(format!("an object cannot be read: {}", error.message()))
}

fn damaged(what: impl Into<String>) -> Error {
    Error::unavailable("git", what.into())
}
