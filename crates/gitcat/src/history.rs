//! What a branch holds: whether a publication is on it, and which bytes.

use std::collections::BTreeMap;

use git2::{Commit, Oid};
use pinhole_core::{PublicationId, Sha256Digest};

use crate::{CommitId, GitAnswer, Marker, ancestry::Ancestry, failure::Failure, remote::Remote, tree::digests};

/// Greatest number of commits of earlier attempts.
const MAX_KNOWN: usize = 100;
/// Greatest number of other publications whose markers are looked for.
const MAX_EARLIER: usize = 1_000;
/// Where the checkpoint of the transparency log is, and its greatest size in bytes.
const CHECKPOINT_PATH: &str = "log/checkpoint";
const MAX_CHECKPOINT_BYTES: usize = 4096;
/// How many commits back the first one with a marker is looked for.
const MAX_STEPS: usize = 10_000;

/// Finds the head, and the publication by its commits or else by its marker file, which outlives a rebase.
/// A publication that neither shows is looked for no further than to `expected`. Of `earlier` ones only the head's marker
/// files are read.
pub(crate) fn look(
    remote: &Remote,
    marker: PublicationId,
    known: &[CommitId],
    expected: Option<CommitId>,
    earlier: &[PublicationId],
) -> Result<GitAnswer, Failure> {
    if known.len() > MAX_KNOWN {
        return Err(Failure::invalid(format!("known_commits: more than {MAX_KNOWN}")));
    }
    if earlier.len() > MAX_EARLIER {
        return Err(Failure::invalid(format!("earlier: more than {MAX_EARLIER}")));
    }
    let Some(head) = remote.fetch()? else {
        return Ok(GitAnswer::Look { head: None, found: None, log_checkpoint: None, markers: BTreeMap::new() });
    };
    let path = marker_path(marker);
    let tip = remote.scratch.find_commit(head)?;
    let blob = blob_at(&tip, &path)?;
    let digest = blob.map(|blob| digest_of(remote, blob)).transpose()?;
    let mut markers = BTreeMap::new();
    for id in earlier {
        if let Some(blob) = blob_at(&tip, &marker_path(*id))? {
            markers.insert(*id, digest_of(remote, blob)?);
        }
    }
    let log_checkpoint = checkpoint_at(remote, &tip)?;
    let known: Vec<_> = known.iter().map(|known| known.oid()).collect();
    let mut ancestry = Ancestry::of(remote, head)?;
    let commit = match (ancestry.find(&known, expected.map(CommitId::oid))?, blob) {
        (None, Some(blob)) => Some(first_with(remote, &mut ancestry, head, &path, blob)?),
        (commit, _) => commit,
    };
    let found = commit.map(|commit| Marker { commit: CommitId::new(commit), marker: digest });
    Ok(GitAnswer::Look { head: Some(CommitId::new(head)), found, log_checkpoint, markers })
}

/// Reads which files the branch holds at `commit`, which is looked for no further than to `expected`.
pub(crate) fn read_back(remote: &Remote, commit: CommitId, expected: Option<CommitId>) -> Result<GitAnswer, Failure> {
    let Some(head) = remote.fetch()? else {
        return Ok(GitAnswer::ReadBack { on_branch: false, head: None, files: BTreeMap::new() });
    };
    let mut ancestry = Ancestry::of(remote, head)?;
    let found = ancestry.find(&[commit.oid()], expected.map(CommitId::oid))?;
    let on_branch = found.is_some() && ancestry.bring(commit.oid())?;
    let files = if on_branch { digests(&remote.scratch, commit.oid())? } else { BTreeMap::new() };
    Ok(GitAnswer::ReadBack { on_branch, head: Some(CommitId::new(head)), files })
}

/// The oldest commit before `tip`, along first parents, that holds `blob` at `path` without a break.
fn first_with(remote: &Remote, ancestry: &mut Ancestry<'_>, tip: Oid, path: &str, blob: Oid) -> Result<Oid, Failure> {
    let mut first = tip;
    for _ in 0..MAX_STEPS {
        match ancestry.first_parent(first)? {
            Some(parent) if blob_at(&remote.scratch.find_commit(parent)?, path)? == Some(blob) => first = parent,
            _ => break,
        }
    }
    Ok(first)
}

fn marker_path(publication: PublicationId) -> String {
    format!("publications/{publication}.json")
}

fn digest_of(remote: &Remote, blob: Oid) -> Result<Sha256Digest, Failure> {
    Ok(Sha256Digest::of(remote.scratch.find_blob(blob)?.content()))
}

/// The text at the path of the log's checkpoint, if it is one of a size that a checkpoint can have.
fn checkpoint_at(remote: &Remote, commit: &Commit<'_>) -> Result<Option<String>, Failure> {
    let Some(blob) = blob_at(commit, CHECKPOINT_PATH)? else { return Ok(None) };
    let blob = remote.scratch.find_blob(blob)?;
    let content = if blob.size() <= MAX_CHECKPOINT_BYTES { blob.content() } else { &[] };
    Ok(std::str::from_utf8(content).ok().filter(|text| !text.is_empty()).map(str::to_owned))
}

fn blob_at(commit: &Commit<'_>, path: &str) -> Result<Option<Oid>, Failure> {
    match commit.tree()?.get_path(path.as_ref()) {
        Ok(entry) => Ok((entry.kind() == Some(git2::ObjectType::Blob)).then(|| entry.id())),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
