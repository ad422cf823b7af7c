//! Verification of a published catalog, offline: files against the manifest, the manifest against the signed revision,
//! the revisions against each other, every entry against its receipt, review and decisions, and every statement against
//! the transparency log.
//!
//! Must accept nothing that it does not understand: a file of another kind, another byte form or an unknown member is
//! refused.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{ApprovalId, EntryState, LineName, LineOrigin, PublicationId, Sha256Digest, Slug, canonical_json};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    CatalogEntry, CatalogRevision, Envelope, Predicate as _, PublicationMarker, RevisionCause, Statement, TrustedKeys,
    VerifyError,
    catalog::{
        CATALOG_PATH, FORMAT, Head, MANIFEST_PATH, Manifest, envelope_path, key_ids, marker_path, revision_path,
    },
    entries_digest,
    evidence::Evidence,
    log::{LogReport, is_log_path, verify_published},
};

type Files = BTreeMap<String, Vec<u8>>;

/// What a verified catalog is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CatalogReport {
    /// The project's slug.
    pub project: Slug,
    /// The line.
    pub line: LineName,
    /// The revision's number. Whether a newer one exists cannot be seen from a tree.
    pub revision: u32,
    /// The revision's digest.
    pub digest: Sha256Digest,
    /// The revision that the line was forked from, which its first revision names as the one before. That revision is
    /// in the other line's tree, and only there can it be verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<LineOrigin>,
    /// SHA-256 of `manifest.json`.
    pub manifest_digest: Sha256Digest,
    /// Entries that are active.
    pub active_entries: usize,
    /// Entries of every state.
    pub entries: usize,
    /// Verified receipts, reviews, decisions and revisions.
    pub statements: usize,
    /// Publications that left a marker.
    pub publications: Vec<PublicationId>,
    /// What the tree shows of the transparency log; `None` when that was not looked at.
    #[serde(skip)]
    pub log: Option<LogReport>,
}

/// The kinds of files that a catalog has.
enum Kind {
    Catalog,
    Manifest,
    Baseline,
    Evidence,
    Revision,
    Publication,
    Log,
}

/// Verifies a whole tree, as [`crate::read_tree`] reads it. Names the first thing that is wrong.
pub fn verify_catalog(files: &Files, keys: &TrustedKeys) -> Result<CatalogReport, VerifyError> {
    let report = verify_statements(files, keys)?;
    Ok(CatalogReport { log: Some(verify_published(files, keys)?), ..report })
}

/// Verifies everything of a tree but what it shows of the log: for one that is rendered and not yet published.
pub fn verify_statements(files: &Files, keys: &TrustedKeys) -> Result<CatalogReport, VerifyError> {
    for path in files.keys() {
        kind_of(path).ok_or_else(|| VerifyError::new(path, "this file is no part of a catalog"))?;
    }
    let head: Head = read_canonical(files, CATALOG_PATH)?;
    let manifest: Manifest = read_canonical(files, MANIFEST_PATH)?;
    if head.format != FORMAT || manifest.format != FORMAT {
        return Err(VerifyError::new(CATALOG_PATH, format!("expected format {FORMAT} here and in {MANIFEST_PATH}")));
    }
    check_manifest(files, &manifest, head.revision)?;
    let chain = verify_chain(files, keys, &head)?;
    let entries = read_entries(files)?;
    check_head(files, &head, &chain, &entries)?;
    let evidence = Evidence::read(&head.project, of_kind(files, |kind| matches!(kind, Kind::Evidence)), keys)?;
    for revision in &chain {
        let content = &revision.revision;
        evidence.caused(&content.cause, &entries).map_err(|error| error.within(&revision_path(content.number)))?;
    }
    let forked_from = chain.first().and_then(|first| first.revision.cause.forked_from());
    let own = own_approvals(&chain);
    for entry in &entries {
        // What came with the fork was approved for another line, and all the rest for this one.
        let came_along = forked_from.is_some() && !own.contains(&entry.approval);
        evidence.supports(entry, came_along).map_err(|error| error.within(&entry.key.path()))?;
    }
    Ok(CatalogReport {
        publications: verify_markers(files, &head, &chain)?,
        forked_from,
        manifest_digest: Sha256Digest::of(bytes_of(files, MANIFEST_PATH)?),
        active_entries: entries.iter().filter(|entry| entry.state == EntryState::Active).count(),
        entries: entries.len(),
        statements: evidence.len() + chain.len(),
        project: head.project,
        line: head.line,
        revision: head.revision,
        digest: head.digest,
        log: None,
    })
}

/// The manifest lists exactly the files that it must, with their digests.
fn check_manifest(files: &Files, manifest: &Manifest, revision: u32) -> Result<(), VerifyError> {
    let own_statement = revision_path(revision);
    for (path, bytes) in files {
        let unlisted = path == MANIFEST_PATH
            || *path == own_statement
            || matches!(kind_of(path), Some(Kind::Publication | Kind::Log));
        match manifest.files.get(path) {
            None if unlisted => {}
            None => return Err(VerifyError::new(path, "the manifest does not list this file")),
            Some(_) if unlisted => return Err(VerifyError::new(path, "the manifest must not list this file")),
            Some(digest) if *digest == Sha256Digest::of(bytes) => {}
            Some(digest) => return Err(VerifyError::new(path, format!("the manifest says {digest}"))),
        }
    }
    match manifest.files.keys().find(|path| !files.contains_key(*path)) {
        Some(path) => Err(VerifyError::new(path, "the file is missing, but the manifest lists it")),
        None => Ok(()),
    }
}

/// The revisions 1 to the present one: signed, of this line, each naming the one before.
fn verify_chain(files: &Files, keys: &TrustedKeys, head: &Head) -> Result<Vec<CatalogRevision>, VerifyError> {
    let mut chain: Vec<CatalogRevision> = Vec::new();
    // Missing numbers stop the loop early, whatever the head says its number is.
    for number in 1..=head.revision {
        let path = revision_path(number);
        let statement = verified_statement(bytes_of(files, &path)?, keys).map_err(|error| error.within(&path))?;
        let signed = CatalogRevision::from_statement(&statement).map_err(|error| error.within(&path))?;
        let revision = &signed.revision;
        if revision.project != head.project || revision.line != head.line || revision.number != number {
            return Err(VerifyError::new(path, "it is a revision of another project, line or number"));
        }
        let expected = match (chain.last(), &revision.cause) {
            (None, RevisionCause::Forked { digest, .. }) => Some(*digest),
            (None, _) => None,
            (Some(_), RevisionCause::Forked { .. }) => {
                return Err(VerifyError::new(path, "only the first revision of a line can be a fork"));
            }
            (Some(previous), _) => Some(previous.digest),
        };
        if revision.previous_digest != expected {
            return Err(VerifyError::new(path, "its previous digest is not that of the revision before"));
        }
        chain.push(signed);
    }
    let expected = of_kind(files, |kind| matches!(kind, Kind::Revision)).count();
    if chain.is_empty() || chain.len() != expected {
        return Err(VerifyError::new("revisions/", format!("expected exactly the revisions 1 to {}", head.revision)));
    }
    Ok(chain)
}

/// The approvals that became revisions of this line.
fn own_approvals(chain: &[CatalogRevision]) -> BTreeSet<ApprovalId> {
    let consumed = |signed: &CatalogRevision| match signed.revision.cause {
        RevisionCause::Consumed { approval } => Some(approval),
        _ => None,
    };
    chain.iter().filter_map(consumed).collect()
}

/// `catalog.json`, the entries and the signed revision say the same.
fn check_head(
    files: &Files,
    head: &Head,
    chain: &[CatalogRevision],
    entries: &[CatalogEntry],
) -> Result<(), VerifyError> {
    let wrong = |reason: &str| Err(VerifyError::new(CATALOG_PATH, reason));
    let Some(signed) = chain.last() else { return wrong("there is no revision") };
    if signed.manifest_digest != Sha256Digest::of(bytes_of(files, MANIFEST_PATH)?) {
        return Err(VerifyError::new(MANIFEST_PATH, "the signed revision names another manifest"));
    }
    if head.digest != signed.digest || head.previous_digest != signed.revision.previous_digest {
        return wrong("its digests are not those of the signed revision");
    }
    if let Some(entry) = entries.iter().find(|entry| entry.key.line != head.line) {
        return Err(VerifyError::new(entry.key.path(), "the entry is of another line"));
    }
    let actual = entries_digest(entries).map_err(|error| VerifyError::from_error("baselines/", &error))?;
    if actual != signed.revision.entries_digest {
        return Err(VerifyError::new("baselines/", "the signed revision has other entries"));
    }
    let own_statement = revision_path(head.revision);
    if key_ids(files.iter().filter(|(path, _)| **path != own_statement))? != head.key_ids {
        return wrong("its key ids are not those of the listed envelopes");
    }
    Ok(())
}

/// The entries of a tree.
pub(crate) fn read_entries(files: &Files) -> Result<Vec<CatalogEntry>, VerifyError> {
    of_kind(files, |kind| matches!(kind, Kind::Baseline))
        .map(|(path, _)| {
            let entry: CatalogEntry = read_canonical(files, path)?;
            if entry.key.path() != *path {
                return Err(VerifyError::new(path, format!("its key belongs to {}", entry.key.path())));
            }
            if entry.state == EntryState::Superseded {
                return Err(VerifyError::new(path, "a superseded entry is not published"));
            }
            Ok(entry)
        })
        .collect()
}

fn verify_markers(files: &Files, head: &Head, chain: &[CatalogRevision]) -> Result<Vec<PublicationId>, VerifyError> {
    let mut publications = Vec::new();
    for (path, _) in of_kind(files, |kind| matches!(kind, Kind::Publication)) {
        let marker: PublicationMarker = read_canonical(files, path)?;
        let published = chain.iter().find(|signed| signed.revision.number == marker.revision);
        let agrees = published.is_some_and(|signed| signed.digest == marker.digest);
        if *path != marker_path(marker.publication) {
            return Err(VerifyError::new(path, "the marker is of another publication than its name"));
        }
        if !agrees || marker.project != head.project || marker.line != head.line {
            return Err(VerifyError::new(path, "the marker names no revision of this line"));
        }
        publications.push(marker.publication);
    }
    Ok(publications)
}

/// Reads and verifies one envelope.
pub(crate) fn verified_statement(bytes: &[u8], keys: &TrustedKeys) -> Result<Statement, VerifyError> {
    crate::verify(&Envelope::from_bytes(bytes)?, keys)
}

/// Whether a path is that of a publication's marker.
pub(crate) fn is_marker(path: &str) -> bool {
    matches!(kind_of(path), Some(Kind::Publication))
}

/// The revisions of a tree whose chain was verified before.
pub(crate) fn read_revisions(files: &Files) -> Result<Vec<CatalogRevision>, VerifyError> {
    let read = |bytes| CatalogRevision::from_statement(&Envelope::from_bytes(bytes)?.statement_unverified()?);
    of_kind(files, |kind| matches!(kind, Kind::Revision))
        .map(|(path, bytes)| read(bytes).map_err(|error: VerifyError| error.within(path)))
        .collect()
}

/// The statements of a tree that no key vouches for but revoked ones: what would have to be signed anew before the tree
/// can be valid again. For telling it when verification has failed; nothing is verified here.
pub fn signed_by_revoked_keys(files: &Files, keys: &TrustedKeys) -> Vec<String> {
    let revoked = |bytes: &[u8]| {
        let signatures = Envelope::from_bytes(bytes).map(|envelope| envelope.signatures).unwrap_or_default();
        signatures.iter().any(|signature| keys.is_revoked(&signature.keyid))
    };
    let statements = of_kind(files, |kind| matches!(kind, Kind::Evidence | Kind::Revision));
    statements.filter(|(_, bytes)| revoked(bytes)).map(|(path, _)| path.clone()).collect()
}

fn kind_of(path: &str) -> Option<Kind> {
    let folder = path.split('/').next()?;
    match folder {
        CATALOG_PATH if path == CATALOG_PATH => Some(Kind::Catalog),
        MANIFEST_PATH if path == MANIFEST_PATH => Some(Kind::Manifest),
        // Whether the name is right is seen when the content is read.
        "baselines" if path.ends_with(".json") => Some(Kind::Baseline),
        "receipts" => {
            let id = path.rsplit('/').next()?.strip_suffix(".dsse.json")?;
            (envelope_path(id)? == path).then_some(Kind::Evidence)
        }
        "revisions" => {
            let number = path.rsplit('/').next()?.strip_suffix(".dsse.json")?.parse().ok()?;
            (revision_path(number) == path).then_some(Kind::Revision)
        }
        "publications" => {
            let id = path.rsplit('/').next()?.strip_suffix(".json")?.parse().ok()?;
            (marker_path(id) == path).then_some(Kind::Publication)
        }
        "log" => is_log_path(path).then_some(Kind::Log),
        _ => None,
    }
}

fn of_kind(files: &Files, wanted: impl Fn(&Kind) -> bool) -> impl Iterator<Item = (&String, &Vec<u8>)> {
    files.iter().filter(move |(path, _)| kind_of(path).is_some_and(|kind| wanted(&kind)))
}

fn bytes_of<'a>(files: &'a Files, path: &str) -> Result<&'a [u8], VerifyError> {
    files.get(path).map(Vec::as_slice).ok_or_else(|| VerifyError::new(path, "the file is missing"))
}

/// Reads a file whose only byte form is canonical JSON.
pub(crate) fn read_canonical<T: Serialize + DeserializeOwned>(files: &Files, path: &str) -> Result<T, VerifyError> {
    let bytes = bytes_of(files, path)?;
    let value: T = serde_json::from_slice(bytes).map_err(|error| VerifyError::new(path, error.to_string()))?;
    let canonical = canonical_json(&value).map_err(|error| VerifyError::from_error(path, &error))?;
    if canonical == bytes { Ok(value) } else { Err(VerifyError::new(path, "the JSON is not in canonical form")) }
}
