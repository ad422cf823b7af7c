//! The log in a published catalog: its newest checkpoint, and for each publication the proofs of what it was the first to
//! bring onto the branch.
//!
//! ```text
//! log/checkpoint                        the checkpoint of the newest publication, a signed note
//! log/proofs/<publication>-<part>.json  proofs under that publication's checkpoint, which is in it; never changed again
//! ```
//! Every signed statement of the tree has one proof in one of these files, and every publication that has a marker has
//! one file at least, so that no marker can be added or taken away alone. A file also proves that its checkpoint
//! continues the one of the publication before it on the branch, so that whoever kept an earlier checkout can see that
//! nothing was taken back, without asking anybody.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{LogRecordKind, PublicationId, Result, Sha256Digest, canonical_json};
use serde::{Deserialize, Serialize};

use super::{Checkpoint, ConsistencyProof, InclusionProof, log_entry};
use crate::{TrustedKeys, VerifyError, catalog::marker_path, verify::is_marker};

/// Where the newest checkpoint is.
pub const CHECKPOINT_PATH: &str = "log/checkpoint";
/// Proofs in one file; it then has about 2 MB.
const PROOFS_PER_FILE: usize = 1000;
/// The version of these files.
const FORMAT: u32 = 1;

/// What a publication shows of the log.
#[derive(Clone, Debug)]
pub struct PublishedLog {
    /// The publication.
    pub publication: PublicationId,
    /// The checkpoint, a signed note.
    pub checkpoint: String,
    /// That it continues the checkpoint of the publication before it on the branch, if there is one.
    pub continues: Option<ConsistencyProof>,
    /// Proofs under the checkpoint, by the path of the statement in the tree.
    pub proofs: BTreeMap<String, InclusionProof>,
}

/// One file of proofs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofsFile {
    format: u32,
    publication: PublicationId,
    part: u32,
    checkpoint: String,
    continues: Option<ConsistencyProof>,
    proofs: BTreeMap<String, InclusionProof>,
}

/// What a verified tree shows of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogReport {
    /// The newest checkpoint.
    pub checkpoint: Checkpoint,
    /// Roots at the sizes of earlier publications' checkpoints, all continued by the newest one.
    pub roots: BTreeMap<u64, Sha256Digest>,
}

impl PublishedLog {
    /// The files: their paths and bytes. Those of earlier publications stay as they are beside them, but for
    /// [`CHECKPOINT_PATH`].
    pub fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::from([(CHECKPOINT_PATH.to_owned(), self.checkpoint.clone().into_bytes())]);
        let proofs: Vec<_> = self.proofs.iter().collect();
        // There is one at least: a publication brings a revision that the branch did not have.
        for (part, proofs) in (1..).zip(proofs.chunks(PROOFS_PER_FILE)) {
            let file = ProofsFile {
                format: FORMAT,
                publication: self.publication,
                part,
                checkpoint: self.checkpoint.clone(),
                continues: self.continues.clone(),
                proofs: proofs.iter().map(|(path, proof)| ((*path).clone(), (*proof).clone())).collect(),
            };
            files.insert(file.path(), canonical_json(&file)?);
        }
        Ok(files)
    }

    /// The paths that files of an earlier publication prove, with its checkpoint; nothing is verified.
    pub fn proved(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<String>, VerifyError> {
        let mut proved = Vec::new();
        for (path, bytes) in files.iter().filter(|(path, _)| is_proofs_path(path)) {
            proved.extend(read(path, bytes)?.proofs.into_keys());
        }
        Ok(proved)
    }
}

impl ProofsFile {
    fn path(&self) -> String {
        format!("log/proofs/{}-{}.json", self.publication, self.part)
    }
}

/// Whether a path below `log/` has the form of one of these files.
pub(crate) fn is_log_path(path: &str) -> bool {
    path == CHECKPOINT_PATH || is_proofs_path(path)
}

fn is_proofs_path(path: &str) -> bool {
    let name = path.strip_prefix("log/proofs/").and_then(|name| name.strip_suffix(".json"));
    let Some((publication, part)) = name.and_then(|name| name.split_once('-')) else { return false };
    publication.parse::<PublicationId>().is_ok() && part.parse::<u32>().is_ok_and(|number| number.to_string() == part)
}

/// The kind that the statement at a path of the tree has in the log; `None` for files that are no statements.
pub(crate) fn kind_at(path: &str) -> Option<LogRecordKind> {
    if path.starts_with("revisions/") {
        return Some(LogRecordKind::CatalogRevision);
    }
    let name = path.strip_prefix("receipts/")?.rsplit('/').next()?;
    match name.split('_').next()? {
        "rcp" => Some(LogRecordKind::CaptureReceipt),
        "rev" => Some(LogRecordKind::Review),
        "dec" => Some(LogRecordKind::Decision),
        _ => None,
    }
}

/// Verifies what a tree shows of the log: the checkpoints, their continuation, and one proof for each statement.
pub(crate) fn verify(files: &BTreeMap<String, Vec<u8>>, keys: &TrustedKeys) -> Result<LogReport, VerifyError> {
    let note = files.get(CHECKPOINT_PATH).ok_or_else(|| VerifyError::new(CHECKPOINT_PATH, "the file is missing"))?;
    let newest = Checkpoint::verify(note, keys).map_err(|error| error.within(CHECKPOINT_PATH))?;
    let mut continuations = Vec::new();
    let mut roots = BTreeMap::new();
    let mut proved = BTreeMap::new();
    let mut publications = BTreeSet::new();
    let mut is_shown = false;
    for (path, bytes) in files.iter().filter(|(path, _)| is_proofs_path(path)) {
        let file = read(path, bytes)?;
        let wrong = |reason: &str| VerifyError::new(path, reason);
        let checkpoint = Checkpoint::verify(file.checkpoint.as_bytes(), keys).map_err(|error| error.within(path))?;
        if checkpoint.origin != newest.origin {
            return Err(wrong("its checkpoint is of another log"));
        }
        if *roots.entry(checkpoint.size).or_insert(checkpoint.root) != checkpoint.root {
            return Err(wrong("the log had another root at this size: it was forked"));
        }
        publications.insert(marker_path(file.publication));
        is_shown |= file.checkpoint.as_bytes() == note.as_slice();
        for (statement, proof) in file.proofs {
            check_proof(files, &statement, &proof, &checkpoint).map_err(|error| error.within(path))?;
            if proved.insert(statement.clone(), path).is_some() {
                return Err(wrong("it proves what another file proves"));
            }
        }
        if let Some(proof) = file.continues {
            continuations.push((path, checkpoint, proof));
        }
    }
    if let Some(path) = files.keys().find(|path| kind_at(path).is_some() && !proved.contains_key(*path)) {
        return Err(VerifyError::new(path, "there is no proof that the log has it"));
    }
    if !is_shown {
        return Err(VerifyError::new(CHECKPOINT_PATH, "it is the checkpoint of no publication here"));
    }
    check_markers(files, &publications)?;
    check_continuations(&newest, &roots, &continuations)?;
    Ok(LogReport { checkpoint: newest, roots })
}

/// The publications that show the log are those that have a marker.
fn check_markers(files: &BTreeMap<String, Vec<u8>>, publications: &BTreeSet<String>) -> Result<(), VerifyError> {
    if let Some(path) = files.keys().find(|path| is_marker(path) && !publications.contains(*path)) {
        return Err(VerifyError::new(path, "there is no file of proofs of this publication"));
    }
    match publications.iter().find(|path| !files.contains_key(*path)) {
        Some(path) => Err(VerifyError::new(path, "the marker is missing, and here are proofs of its publication")),
        None => Ok(()),
    }
}

fn check_proof(
    files: &BTreeMap<String, Vec<u8>>,
    statement: &str,
    proof: &InclusionProof,
    checkpoint: &Checkpoint,
) -> Result<(), VerifyError> {
    let wrong = |reason: &str| VerifyError::new(statement, reason);
    let (Some(bytes), Some(kind)) = (files.get(statement), kind_at(statement)) else {
        return Err(wrong("there is no such statement"));
    };
    if proof.size != checkpoint.size {
        return Err(wrong("the proof is under another checkpoint"));
    }
    let entry = log_entry(kind, Sha256Digest::of(bytes));
    proof.verify(checkpoint.root, entry).map_err(|error| wrong(error.reason()))
}

/// Every checkpoint is the newest one or is continued up to it, step by step.
fn check_continuations(
    newest: &Checkpoint,
    roots: &BTreeMap<u64, Sha256Digest>,
    continuations: &[(&String, Checkpoint, ConsistencyProof)],
) -> Result<(), VerifyError> {
    if roots.last_key_value() != Some((&newest.size, &newest.root)) {
        return Err(VerifyError::new(CHECKPOINT_PATH, "it is not the checkpoint of the newest publication"));
    }
    for (path, checkpoint, proof) in continuations {
        let wrong = |reason: &str| VerifyError::new(path.as_str(), reason);
        let earlier = roots.get(&proof.first).ok_or_else(|| wrong("it continues a checkpoint that is not here"))?;
        if proof.second != checkpoint.size {
            return Err(wrong("it continues to another checkpoint than its own"));
        }
        proof.verify(*earlier, checkpoint.root).map_err(|error| wrong(error.reason()))?;
    }
    // Each size but the first is the continuation of the one before it: then all are of one log.
    for (earlier, later) in roots.keys().zip(roots.keys().skip(1)) {
        let continued = |proof: &ConsistencyProof| (proof.first, proof.second) == (*earlier, *later);
        if !continuations.iter().any(|(_, _, proof)| continued(proof)) {
            let reason = format!("nothing proves that the log of {later} leaves continues the one of {earlier}");
            return Err(VerifyError::new("log/proofs", reason));
        }
    }
    Ok(())
}

fn read(path: &str, bytes: &[u8]) -> Result<ProofsFile, VerifyError> {
    let wrong = |reason: String| VerifyError::new(path, reason);
    let file: ProofsFile = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    let canonical = canonical_json(&file).map_err(|error| VerifyError::from_error(path, &error))?;
    if canonical != bytes {
        return Err(wrong("the JSON is not in canonical form".into()));
    }
    if file.format != FORMAT || file.path() != path {
        return Err(wrong(format!("expected format {FORMAT} and the publication and part of the name")));
    }
    Ok(file)
}

impl LogReport {
    /// Whether the log here continues an earlier checkpoint, as far as the tree can tell.
    pub fn continues(&self, earlier: &Checkpoint) -> Result<(), VerifyError> {
        let wrong = |reason: String| Err(VerifyError::new("the earlier checkpoint", reason));
        if earlier.origin != self.checkpoint.origin {
            return wrong(format!("it is of the log {}, and here is {}", earlier.origin, self.checkpoint.origin));
        }
        match self.roots.get(&earlier.size) {
            Some(root) if *root == earlier.root => Ok(()),
            Some(_) => wrong(format!("the log here has other entries among the first {}", earlier.size)),
            None if earlier.size > self.checkpoint.size => wrong(format!(
                "it is over {} entries, and the log here has {}: entries were taken back, or this is the older one",
                earlier.size, self.checkpoint.size
            )),
            None => wrong(format!(
                "it is over {} entries, for which this branch holds no proof: name one that was published on it",
                earlier.size
            )),
        }
    }
}
