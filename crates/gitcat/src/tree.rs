//! The commit: the catalog's files laid over the tree of the parent, signed; and the catalog's files of a tree, read.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use git2::{Commit, ObjectType, Odb, OdbObject, Oid, Repository, Signature, Time, Tree, TreeEntry};
use pinhole_core::Sha256Digest;

use crate::{CommitId, CommitKey, Draft, GitAnswer, MadeCommit, failure::Failure, remote::Remote};

/// The names at the top of a tree that are the catalog's; whatever else is there stays as it is.
pub(crate) const OWNED: [&str; 7] =
    ["baselines", "catalog.json", "log", "manifest.json", "publications", "receipts", "revisions"];
/// The mode of a plain file.
pub(crate) const MODE_FILE: i32 = 0o100_644;
const MODE_FOLDER: i32 = 0o040_000;
/// Greatest number of catalog files.
const MAX_FILES: usize = 200_000;
/// Greatest size of one catalog file in bytes that is read.
const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;
/// Greatest size of all catalog files in bytes.
const MAX_TOTAL_BYTES: usize = 2 * 1024 * 1024 * 1024;
/// Greatest number of folders within each other that are read; a baseline has four.
const MAX_DEPTH: usize = 8;
/// Greatest length of a path in bytes.
const MAX_PATH_BYTES: usize = 500;
/// Greatest length of a commit message in bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Makes the signed commit of `draft` in the scratch repository.
pub(crate) fn commit(remote: &Remote, draft: &Draft, key: Option<&CommitKey>) -> Result<GitAnswer, Failure> {
    let key = key.ok_or_else(|| Failure::configuration("there is no commit key"))?;
    let files = decode(draft)?;
    let author = signature(draft)?;
    let message = message(draft)?;
    let parent = draft.expected_head.map(|head| parent(remote, head.oid())).transpose()?;
    let repository = &remote.scratch;
    let base = parent.as_ref().map(Commit::tree).transpose()?;
    let tree = repository.find_tree(overlay(repository, base.as_ref(), &files)?)?;
    let parents: Vec<_> = parent.iter().collect();
    let content = repository.commit_create_buffer(&author, &author, message, &tree, &parents)?;
    let content = content.as_str().map_err(|_| Failure::invalid("the commit is not UTF-8"))?;
    let signed = |signature: &str| repository.commit_signed(content, signature, Some("gpgsig")).map(CommitId::new);
    // The key may be another by now: the commit that may be on its way to the remote is made again as it was.
    if let Some(made) = &draft.made
        && signed(&made.signature)? == made.commit
    {
        return Ok(GitAnswer::Committed(made.clone()));
    }
    let signature = key.sign(content.as_bytes());
    Ok(GitAnswer::Committed(MadeCommit { commit: signed(&signature)?, signature }))
}

/// The parent, fetched when a look has not brought it already.
fn parent(remote: &Remote, head: Oid) -> Result<Commit<'_>, Failure> {
    if let Ok(commit) = remote.scratch.find_commit(head) {
        return Ok(commit);
    }
    remote.fetch()?;
    remote
        .scratch
        .find_commit(head)
        .map_err(|_| Failure::invalid(format!("the expected head {head} is not on the branch: look again")))
}

fn signature(draft: &Draft) -> Result<Signature<'static>, Failure> {
    let wrong = |text: &str| text.trim() != text || text.is_empty() || text.len() > 200 || text.contains(is_special);
    if wrong(&draft.author.name) || wrong(&draft.author.email) {
        return Err(Failure::invalid("author: name and email need 1 to 200 bytes without <, > and control characters"));
    }
    Ok(Signature::new(&draft.author.name, &draft.author.email, &Time::new(draft.at_s, 0))?)
}

fn is_special(c: char) -> bool {
    c.is_control() || c == '<' || c == '>'
}

fn message(draft: &Draft) -> Result<&str, Failure> {
    let message = draft.message.as_str();
    let wrong = |c: char| c.is_control() && c != '\n';
    if message.trim().is_empty() || message.len() > MAX_MESSAGE_BYTES || message.contains(wrong) {
        return Err(Failure::invalid("message: expected 1 to 65536 bytes without control characters but line breaks"));
    }
    Ok(message)
}

/// The files' bytes, when every path is one that a catalog can have on every file system.
fn decode(draft: &Draft) -> Result<BTreeMap<&str, Vec<u8>>, Failure> {
    if draft.files.is_empty() || draft.files.len() > MAX_FILES {
        return Err(Failure::invalid(format!("files: expected 1 to {MAX_FILES}")));
    }
    let mut files = BTreeMap::new();
    let mut folded = BTreeSet::new();
    let mut total_bytes = 0_usize;
    for (path, text) in &draft.files {
        check_path(path).map_err(|why| Failure::invalid(format!("{path}: {why}")))?;
        if !folded.insert(path.to_ascii_lowercase()) {
            return Err(Failure::invalid(format!("{path}: another path differs from it only by case")));
        }
        let bytes = STANDARD.decode(text).map_err(|_| Failure::invalid(format!("{path}: not base64")))?;
        total_bytes = total_bytes.saturating_add(bytes.len());
        files.insert(path.as_str(), bytes);
    }
    if total_bytes > MAX_TOTAL_BYTES {
        return Err(Failure::invalid(format!("files: more than {MAX_TOTAL_BYTES} bytes together")));
    }
    Ok(files)
}

fn check_path(path: &str) -> Result<(), &'static str> {
    let top = path.split('/').next().unwrap_or_default();
    let is_file = path == top;
    if path.len() > MAX_PATH_BYTES || !OWNED.contains(&top) || is_file != top.ends_with(".json") {
        return Err("this is no path of a catalog");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    // No leading full stop: neither `.` and `..` nor `.git` and `.gitmodules`.
    let wrong =
        |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with('.') || !part.chars().all(plain);
    if path.split('/').any(wrong) { Err("a part of the path is not plain") } else { Ok(()) }
}

/// The tree of `base` with its catalog files replaced by `files`.
fn overlay(repository: &Repository, base: Option<&Tree<'_>>, files: &BTreeMap<&str, Vec<u8>>) -> Result<Oid, Failure> {
    let mut builder = repository.treebuilder(base)?;
    builder.filter(|entry| !is_catalog(entry))?;
    let mut folders: BTreeMap<&str, BTreeMap<&str, &[u8]>> = BTreeMap::new();
    for (path, bytes) in files {
        match path.split_once('/') {
            Some((folder, rest)) => _ = folders.entry(folder).or_default().insert(rest, bytes),
            None => _ = builder.insert(*path, repository.blob(bytes)?, MODE_FILE)?,
        }
    }
    for (name, files) in folders {
        builder.insert(name, folder(repository, &files)?, MODE_FOLDER)?;
    }
    Ok(builder.write()?)
}

/// A folder's tree. Paths are checked, so that the depth is at most that of [`MAX_PATH_BYTES`].
fn folder(repository: &Repository, files: &BTreeMap<&str, &[u8]>) -> Result<Oid, Failure> {
    let mut builder = repository.treebuilder(None)?;
    let mut folders: BTreeMap<&str, BTreeMap<&str, &[u8]>> = BTreeMap::new();
    for (path, bytes) in files {
        match path.split_once('/') {
            Some((name, rest)) => _ = folders.entry(name).or_default().insert(rest, bytes),
            None => _ = builder.insert(*path, repository.blob(bytes)?, MODE_FILE)?,
        }
    }
    for (name, files) in folders {
        if builder.get(name)?.is_some() {
            return Err(Failure::invalid(format!("{name}: a file and a folder have this name")));
        }
        builder.insert(name, folder(repository, &files)?, MODE_FOLDER)?;
    }
    Ok(builder.write()?)
}

/// SHA-256 of the catalog's files at `commit`, with the bounds of [`read_files`].
pub(crate) fn digests(repository: &Repository, commit: Oid) -> Result<BTreeMap<String, Sha256Digest>, Failure> {
    let tree = repository.find_commit(commit)?.tree()?;
    read_files(repository, &tree, Sha256Digest::of)
}

/// What `value` makes of the catalog's files of a tree. Anything among them that is no plain file with a name in UTF-8 is
/// an error, and so is more than a catalog can have.
pub(crate) fn read_files<T>(
    repository: &Repository,
    tree: &Tree<'_>,
    value: impl Fn(&[u8]) -> T,
) -> Result<BTreeMap<String, T>, Failure> {
    let odb = repository.odb()?;
    let mut reader = Reader { repository, odb: &odb, value, files: BTreeMap::new(), total_bytes: 0 };
    for entry in tree.iter().filter(is_catalog) {
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        reader.read(name, entry.filemode_raw(), entry.id(), 0)?;
    }
    Ok(reader.files)
}

/// Whether an entry at the top of a tree is the catalog's.
pub(crate) fn is_catalog(entry: &TreeEntry<'_>) -> bool {
    OWNED.iter().any(|owned| owned.as_bytes() == entry.name_bytes())
}

/// The file with this id.
pub(crate) fn blob<'a>(odb: &'a Odb<'_>, id: Oid) -> Result<OdbObject<'a>, Failure> {
    let (size, kind) = odb.read_header(id)?;
    if kind != ObjectType::Blob || size > MAX_FILE_BYTES {
        return Err(Failure::invalid("this is no file, or one of more than 64 MiB"));
    }
    Ok(odb.read(id)?)
}

struct Reader<'a, T, F> {
    repository: &'a Repository,
    odb: &'a Odb<'a>,
    value: F,
    files: BTreeMap<String, T>,
    total_bytes: usize,
}

impl<T, F: Fn(&[u8]) -> T> Reader<'_, T, F> {
    fn read(&mut self, path: String, mode: i32, id: Oid, depth: usize) -> Result<(), Failure> {
        let wrong = |reason: &str| Err(Failure::invalid(format!("{path}: {reason}")));
        match mode {
            MODE_FOLDER if depth < MAX_DEPTH => {
                let tree = self.repository.find_tree(id).map_err(|error| Failure::from(error).while_(&path))?;
                for entry in &tree {
                    let Ok(name) = entry.name() else { return wrong("a file's name in it is not UTF-8") };
                    self.read(format!("{path}/{name}"), entry.filemode_raw(), entry.id(), depth + 1)?;
                }
                Ok(())
            }
            MODE_FILE if self.files.len() < MAX_FILES => {
                let file = blob(self.odb, id).map_err(|failure| failure.while_(&path))?;
                self.total_bytes = self.total_bytes.saturating_add(file.len());
                if self.total_bytes > MAX_TOTAL_BYTES {
                    return wrong(&format!("the catalog has more than {MAX_TOTAL_BYTES} bytes"));
                }
                match self.files.insert(path.clone(), (self.value)(file.data())) {
                    Some(_) => wrong("two files have this name"),
                    None => Ok(()),
                }
            }
            MODE_FOLDER | MODE_FILE => wrong("more folders or files than a catalog has"),
            _ => wrong("this is no plain file"),
        }
    }
}
