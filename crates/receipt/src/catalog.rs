//! The published catalog as files: their paths, their content, and the manifest that one signature stands for.
//!
//! ```text
//! catalog.json                    what this tree is
//! manifest.json                   SHA-256 of every other file, except revisions/<this>.dsse.json, publications/ and log/
//! baselines/<env>/<scenario>/<kind>/<checkpoint>@<profile>.json
//! receipts/<ab>/<id>.dsse.json    receipts, reviews and decisions; <ab> are the last two digits of the id, because
//!                                 the first ones are a time and would put everything into one folder
//! revisions/<n>.dsse.json         the signed revisions of the line
//! publications/<id>.json          markers
//! log/…                           what the transparency log says of the statements: see [`crate::log`]
//! ```
//! The statement of this revision signs the manifest's digest, so the manifest cannot list that statement. It does not
//! list markers either, because one revision may be published to several branches that hold different markers; a
//! marker's content follows from its name and from a signed revision, and there is one for each publication that shows
//! the log. Nor does it list the log, which goes on after the revision was signed; proofs and checkpoints hold by themselves.
//!
//! A revision is signed when an approval is consumed and rendered when it is published, perhaps much later. Both go
//! through [`signed_files`], and [`render`] refuses when the two disagree.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{
    ApprovalId, BaselineEntryId, BaselineKey, DecisionId, EntryState, Error, LineName, LogRecordKind, PublicationId,
    ReceiptId, Result, ReviewId, Sha256Digest, Slug, canonical_json, canonical_json_digest,
};
use serde::{Deserialize, Serialize};

use crate::{
    CatalogRevision, Envelope, Predicate as _, RevisionContent, VerifyError,
    log::{is_log_path, kind_at},
};

pub(crate) const CATALOG_PATH: &str = "catalog.json";
pub(crate) const MANIFEST_PATH: &str = "manifest.json";
/// The version of this layout, in `catalog.json` and `manifest.json`.
pub(crate) const FORMAT: u32 = 1;

/// One baseline of a catalog line, as published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogEntry {
    /// The entry.
    pub id: BaselineEntryId,
    /// Where it belongs.
    pub key: BaselineKey,
    /// `active`, `retired` or `invalidated`; superseded entries are not published.
    pub state: EntryState,
    /// SHA-256 of the picture.
    pub capture_digest: Sha256Digest,
    /// SHA-256 over the decoded picture, as the receipt says it.
    pub pixel_digest: Sha256Digest,
    /// The receipt's render digest.
    pub render_digest: Sha256Digest,
    /// The receipt's rules digest.
    pub rules_digest: Sha256Digest,
    /// The receipt that the entry came from.
    pub receipt: ReceiptId,
    /// The accepting review; `None` for entries that hold no picture.
    pub review: Option<ReviewId>,
    /// The approval that was consumed.
    pub approval: ApprovalId,
}

impl CatalogEntry {
    /// SHA-256 over the canonical bytes of this value; an approval item names the entry that it replaces by it.
    pub fn digest(&self) -> Result<Sha256Digest> {
        canonical_json_digest(self)
    }
}

/// The marker that reconciliation looks for on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationMarker {
    /// The publication; names the file.
    pub publication: PublicationId,
    /// The project's slug.
    pub project: Slug,
    /// The catalog line.
    pub line: LineName,
    /// The published revision's number.
    pub revision: u32,
    /// The published revision's digest.
    pub digest: Sha256Digest,
}

impl PublicationMarker {
    /// The marker's path in the tree.
    pub fn path(&self) -> String {
        marker_path(self.publication)
    }
}

/// Everything that a published tree is made of.
#[derive(Clone, Debug)]
pub struct CatalogInput {
    /// The revision, as it is or will be signed.
    pub revision: RevisionContent,
    /// The newest entry of every key, in any order.
    pub entries: Vec<CatalogEntry>,
    /// Envelopes of the receipts, reviews and decisions behind every entry that the line ever had, by id.
    pub envelopes: BTreeMap<String, Vec<u8>>,
    /// Envelopes of the revision statements by number: 1 to this one for [`render`]; [`manifest`] needs and reads only
    /// the earlier ones.
    pub revisions: BTreeMap<u32, Vec<u8>>,
    /// The markers that the branch shall hold; [`manifest`] does not read them.
    pub publications: Vec<PublicationMarker>,
    /// The files below `log/` that the branch shall hold; [`manifest`] does not read them.
    pub log: BTreeMap<String, Vec<u8>>,
}

/// A signed statement of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeStatement {
    /// Where it is.
    pub path: String,
    /// What it is in the transparency log.
    pub kind: LogRecordKind,
    /// The id of the receipt, review or decision, or the revision's number.
    pub name: String,
}

impl CatalogInput {
    /// The signed statements that the tree will have.
    pub fn statements(&self) -> Result<Vec<TreeStatement>> {
        let unknown = |id: &str| fault(id, "expected the id of a receipt, review or decision");
        let envelopes = self.envelopes.keys().map(|id| Ok((envelope_path(id).ok_or_else(|| unknown(id))?, id.clone())));
        let revisions = self.revisions.keys().map(|number| Ok((revision_path(*number), number.to_string())));
        let statement = |found: Result<(String, String)>| {
            let (path, name) = found?;
            let kind = kind_at(&path).ok_or_else(|| unknown(&name))?;
            Ok(TreeStatement { path, kind, name })
        };
        envelopes.chain(revisions).map(statement).collect()
    }
}

/// A rendered tree: paths with `/` and the files' bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogTree {
    /// The complete set of files that belong to the catalog.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The content of `catalog.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub(crate) format: u32,
    pub(crate) project: Slug,
    pub(crate) line: LineName,
    pub(crate) revision: u32,
    pub(crate) digest: Sha256Digest,
    pub(crate) previous_digest: Option<Sha256Digest>,
    /// Keys that signed what the manifest lists, sorted: a help for finding them, not a reason to trust them.
    pub(crate) key_ids: BTreeSet<String>,
}

/// The content of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    pub(crate) files: BTreeMap<String, Sha256Digest>,
}

/// SHA-256 over the canonical bytes of the entries, sorted by key. Part of every revision.
pub fn entries_digest(entries: &[CatalogEntry]) -> Result<Sha256Digest> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    canonical_json_digest(&sorted)
}

/// The digest of the manifest that [`render`] will write: what the statement of the revision signs.
pub fn manifest(input: &CatalogInput) -> Result<Sha256Digest> {
    Ok(Sha256Digest::of(&manifest_bytes(&signed_files(input)?)?))
}

/// Writes the tree. The revision's own statement must be in `input.revisions` and must sign exactly this tree.
pub fn render(input: &CatalogInput) -> Result<CatalogTree> {
    let mut files = signed_files(input)?;
    let manifest = manifest_bytes(&files)?;
    let number = input.revision.number;
    let statement = revision_envelope(input, number)?;
    let signed = read_revision(statement).map_err(|error| fault(&revision_path(number), error.to_string()))?;
    if signed.revision != input.revision || signed.manifest_digest != Sha256Digest::of(&manifest) {
        return Err(fault(&revision_path(number), "it signs another tree than this one: entries or envelopes differ"));
    }
    files.insert(revision_path(number), statement.clone());
    files.insert(MANIFEST_PATH.into(), manifest);
    for marker in &input.publications {
        files.insert(marker.path(), canonical_json(marker)?);
    }
    if let Some(path) = input.log.keys().find(|path| !is_log_path(path)) {
        return Err(fault(path, "this is no file of the log"));
    }
    files.extend(input.log.clone());
    Ok(CatalogTree { files })
}

/// Every file that the manifest lists.
fn signed_files(input: &CatalogInput) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in &input.entries {
        check_entry(input, entry)?;
        if files.insert(entry.key.path(), canonical_json(entry)?).is_some() {
            return Err(fault(&entry.key.path(), "two entries have this key"));
        }
    }
    if entries_digest(&input.entries)? != input.revision.entries_digest {
        return Err(fault(CATALOG_PATH, "the revision has another entries digest than the entries"));
    }
    for (id, envelope) in &input.envelopes {
        let path = envelope_path(id).ok_or_else(|| fault(id, "expected the id of a receipt, review or decision"))?;
        files.insert(path, envelope.clone());
    }
    for number in 1..input.revision.number {
        files.insert(revision_path(number), revision_envelope(input, number)?.clone());
    }
    let head = Head {
        format: FORMAT,
        project: input.revision.project.clone(),
        line: input.revision.line.clone(),
        revision: input.revision.number,
        digest: input.revision.digest()?,
        previous_digest: input.revision.previous_digest,
        key_ids: key_ids(files.iter()).map_err(|error| fault(error.path(), error.reason()))?,
    };
    files.insert(CATALOG_PATH.into(), canonical_json(&head)?);
    Ok(files)
}

fn check_entry(input: &CatalogInput, entry: &CatalogEntry) -> Result<()> {
    let path = entry.key.path();
    if entry.key.line != input.revision.line {
        return Err(fault(&path, "the entry is of another line"));
    }
    if entry.state == EntryState::Superseded {
        return Err(fault(&path, "a superseded entry is not published"));
    }
    let review = entry.review.map(|review| review.to_string());
    for id in std::iter::once(entry.receipt.to_string()).chain(review) {
        if !input.envelopes.contains_key(&id) {
            return Err(fault(&path, format!("the envelope of {id} is missing")));
        }
    }
    Ok(())
}

fn manifest_bytes(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>> {
    let files = files.iter().map(|(path, bytes)| (path.clone(), Sha256Digest::of(bytes))).collect();
    canonical_json(&Manifest { format: FORMAT, files })
}

/// The ids of the keys that signed the envelopes among `files` (path and bytes).
pub(crate) fn key_ids<'a>(
    files: impl Iterator<Item = (&'a String, &'a Vec<u8>)>,
) -> Result<BTreeSet<String>, VerifyError> {
    let mut ids = BTreeSet::new();
    for (path, bytes) in files.filter(|(path, _)| path.ends_with(".dsse.json")) {
        let envelope = Envelope::from_bytes(bytes).map_err(|error| error.within(path))?;
        ids.extend(envelope.signatures.into_iter().map(|signature| signature.keyid));
    }
    Ok(ids)
}

fn read_revision(envelope: &[u8]) -> Result<CatalogRevision, VerifyError> {
    CatalogRevision::from_statement(&Envelope::from_bytes(envelope)?.statement_unverified()?)
}

fn revision_envelope(input: &CatalogInput, number: u32) -> Result<&Vec<u8>> {
    input.revisions.get(&number).ok_or_else(|| fault(&revision_path(number), "the revision's statement is missing"))
}

/// `receipts/<ab>/<id>.dsse.json`, for the id of a receipt, a review or a decision.
pub(crate) fn envelope_path(id: &str) -> Option<String> {
    let known = id.parse::<ReceiptId>().is_ok() || id.parse::<ReviewId>().is_ok() || id.parse::<DecisionId>().is_ok();
    let shard = id.get(id.len().checked_sub(2)?..)?;
    known.then(|| format!("receipts/{shard}/{id}.dsse.json"))
}

pub(crate) fn revision_path(number: u32) -> String {
    format!("revisions/{number}.dsse.json")
}

pub(crate) fn marker_path(publication: PublicationId) -> String {
    format!("publications/{publication}.json")
}

/// What is rendered comes from our own rows: when it is wrong, that is a fault of ours.
fn fault(path: &str, reason: impl Into<String>) -> Error {
    Error::internal(VerifyError::new(path, reason))
}
