//! The commits of publications: their one form, and whether those of a clone have it. What changes the catalog on a
//! branch must be such a commit, signed with a trusted commit key; what others commit beside the catalog is theirs.
//!
//! Must not know how Git stores anything: [`History`] gives the objects.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{LineName, PublicationId, Sha256Digest, Slug};

use crate::{
    KeyUse, PublicKey, PublicationMarker, TrustedKeys, VerifyError,
    catalog::{CATALOG_PATH, Head, marker_path},
    jwks::UNKNOWN_KEY,
    sshsig,
    verify::{is_marker, read_canonical},
};

/// Author and committer of every publication. The address is one that can belong to nobody (RFC 2606).
pub const COMMITTER_NAME: &str = "Pinhole";
/// See [`COMMITTER_NAME`].
pub const COMMITTER_EMAIL: &str = "catalog@pinhole.invalid";
/// The trailer that names the publication.
const PUBLICATION_TRAILER: &str = "Publication-Id: ";
/// Greatest number of commits that are looked at.
const MAX_COMMITS: usize = 200_000;
/// Greatest number of times that a catalog is looked at to tell where those of merges come from: some for each commit, and
/// what a branch has whose merges are of old catalogs.
const MAX_STEPS: usize = 20 * MAX_COMMITS;

/// The commits of a clone, by their object ids in hexadecimal. What cannot be read is told as an error, and the clone is
/// then not valid.
pub trait History {
    /// The commit as Git stores it, without the object's header.
    fn commit(&self, id: &str) -> Result<Vec<u8>, VerifyError>;
    /// What the catalog's part of the commit's tree is called: the same for two commits exactly when they hold the same
    /// catalog, and empty when there is none.
    fn catalog(&self, id: &str) -> Result<String, VerifyError>;
    /// A file of the commit's tree.
    fn file(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, VerifyError>;
}

/// What the commits of a verified clone are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryReport {
    /// The commits of publications: of every one that the tree has a marker of, and perhaps of others before.
    pub publications: usize,
    /// Commits of others, none of which changes the catalog.
    pub others: usize,
}

/// The message of a publication's commit, with its trailers.
pub fn commit_message(
    publication: PublicationId,
    project: &Slug,
    line: &LineName,
    revision: u32,
    digest: Sha256Digest,
) -> String {
    format!(
        "Publish catalog {project} {line} {revision}\n\n\
         {PUBLICATION_TRAILER}{publication}\nCatalog-Revision: {revision}\nCatalog-Digest: {digest}\n"
    )
}

/// Verifies the commits from `tip` back to the first ones. `files` is the catalog of the tip, which was verified before.
///
/// # Errors
/// The first commit that changes the catalog and is none of ours, and the first marker whose commit is missing; a branch
/// of more than 200,000 commits, or with merges that take more steps than are taken.
pub fn verify_history(
    history: &impl History,
    tip: &str,
    files: &BTreeMap<String, Vec<u8>>,
    keys: &TrustedKeys,
) -> Result<HistoryReport, VerifyError> {
    let mut walk = Walk::new(history);
    let mut published = BTreeMap::new();
    let mut others = 0;
    let mut seen = BTreeSet::from([tip.to_owned()]);
    let mut open = vec![tip.to_owned()];
    while let Some(id) = open.pop() {
        let at = |error: VerifyError| error.within(&format!("commit {id}"));
        let commit = RawCommit::parse(history.commit(&id)?).map_err(at)?;
        let catalog = history.catalog(&id).map_err(at)?;
        if walk.leaves_alone(&commit, &catalog)? {
            walk.takes_nothing_back(&commit, &catalog).map_err(at)?;
            others += 1;
        } else {
            let marker = publication(history, &id, &commit, keys).map_err(at)?;
            published.insert(marker.publication, marker);
        }
        open.extend(commit.parents.into_iter().filter(|parent| seen.insert(parent.clone())));
        if seen.len() > MAX_COMMITS {
            return Err(VerifyError::new("", format!("the branch has more than {MAX_COMMITS} commits")));
        }
    }
    for path in files.keys().filter(|path| is_marker(path)) {
        let marker: PublicationMarker = read_canonical(files, path)?;
        if published.get(&marker.publication) != Some(&marker) {
            return Err(VerifyError::new(path, "the branch has no commit that made this publication"));
        }
    }
    Ok(HistoryReport { publications: published.len(), others })
}

/// Where the catalogs of a branch's commits come from, each looked for once.
///
/// Every publication has one commit before it, and a merge keeps the newest catalog of those that it merges: so whatever
/// was published before a publication is in one row behind it, and no other commit need be looked at to find it there.
struct Walk<'a, H> {
    history: &'a H,
    /// The commit that brought the catalog which a commit has.
    published_by: BTreeMap<String, String>,
    /// The one before a commit that brought a catalog; none before the first.
    published_before: BTreeMap<String, Option<String>>,
    steps: usize,
}

impl<'a, H: History> Walk<'a, H> {
    fn new(history: &'a H) -> Self {
        Self { history, published_by: BTreeMap::new(), published_before: BTreeMap::new(), steps: 0 }
    }

    fn step(&mut self) -> Result<(), VerifyError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let reason = format!(
                "the branch has so many merges that {MAX_STEPS} steps do not tell which catalogs they keep: publish the \
                 line to a new branch, and merge less into it"
            );
            return Err(VerifyError::new("", reason));
        }
        Ok(())
    }

    /// The catalog of a commit's parent.
    fn catalog(&mut self, parent: &str) -> Result<String, VerifyError> {
        self.step()?;
        self.history.catalog(parent).map_err(|error| error.within(&format!("commit {parent}")))
    }

    /// Whether a commit has the catalog of one of its parents; the first commit of a branch, none.
    fn leaves_alone(&mut self, commit: &RawCommit, catalog: &str) -> Result<bool, VerifyError> {
        for parent in &commit.parents {
            if self.catalog(parent)? == catalog {
                return Ok(true);
            }
        }
        Ok(commit.parents.is_empty() && catalog.is_empty())
    }

    /// Whether a merge has the newest catalog of those that it merges: what the others have was published before that
    /// one.
    fn takes_nothing_back(&mut self, merge: &RawCommit, catalog: &str) -> Result<(), VerifyError> {
        if merge.parents.len() < 2 {
            return Ok(());
        }
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for parent in &merge.parents {
            let of_parent = self.catalog(parent)?;
            if of_parent == catalog {
                kept.push(self.published_by(parent)?);
            } else if !of_parent.is_empty() {
                dropped.push(self.published_by(parent)?);
            }
        }
        // Each once: most parents show what others show.
        let (kept, dropped) = (BTreeSet::from_iter(kept), BTreeSet::from_iter(dropped));
        for published in dropped {
            let mut is_before = false;
            for newest in &kept {
                is_before = is_before || self.is_before(&published, newest)?;
            }
            if !is_before {
                let reason = format!("it merges the catalog of commit {published} and takes it back");
                return Err(VerifyError::new("", reason));
            }
        }
        Ok(())
    }

    /// The commit that brought the catalog which `id` has.
    fn published_by(&mut self, id: &str) -> Result<String, VerifyError> {
        let mut passed = Vec::new();
        let mut id = id.to_owned();
        let found = loop {
            if let Some(known) = self.published_by.get(&id) {
                break known.clone();
            }
            let (commit, catalog) = (RawCommit::parse(self.history.commit(&id)?)?, self.catalog(&id)?);
            passed.push(id.clone());
            let mut same = None;
            for parent in commit.parents {
                if self.catalog(&parent)? == catalog {
                    same = Some(parent);
                    break;
                }
            }
            match same {
                Some(parent) => id = parent,
                None => break id,
            }
        };
        self.published_by.extend(passed.into_iter().map(|id| (id, found.clone())));
        Ok(found)
    }

    /// The commit that brought the catalog before the one that `id` brought.
    fn published_before(&mut self, id: &str) -> Result<Option<String>, VerifyError> {
        if let Some(known) = self.published_before.get(id) {
            return Ok(known.clone());
        }
        let commit = RawCommit::parse(self.history.commit(id)?)?;
        let before = commit.parents.first().map(|parent| self.published_by(parent)).transpose()?;
        self.published_before.insert(id.to_owned(), before.clone());
        Ok(before)
    }

    /// Whether `wanted` is `newest` or comes before it; both brought a catalog.
    fn is_before(&mut self, wanted: &str, newest: &str) -> Result<bool, VerifyError> {
        let mut at = Some(newest.to_owned());
        while let Some(id) = at {
            if id == wanted {
                return Ok(true);
            }
            self.step()?;
            at = self.published_before(&id)?;
        }
        Ok(false)
    }
}

/// The marker of the publication whose commit this is, in every byte.
fn publication(
    history: &impl History,
    id: &str,
    commit: &RawCommit,
    keys: &TrustedKeys,
) -> Result<PublicationMarker, VerifyError> {
    let wrong = |path: &str, reason: &str| VerifyError::new(path, reason);
    let Some(signature) = &commit.signature else {
        return Err(wrong("", "it changes the catalog and is not signed"));
    };
    let signature = sshsig::read(signature)?;
    let key = PublicKey::from_bytes(signature.public_key).key_id;
    let message = sshsig::signed(&commit.content);
    match keys.check(&key, KeyUse::Commit, &message, &signature.signature) {
        None => return Err(wrong("signature", &format!("it is by key {key}, {UNKNOWN_KEY}"))),
        Some(checked) => checked.map_err(|reason| wrong("signature", &reason))?,
    }
    let text = std::str::from_utf8(&commit.content).map_err(|_| wrong("", "it is not UTF-8"))?;
    let (_, message) = text.split_once("\n\n").ok_or_else(|| wrong("", "it has no message"))?;
    let named = message.lines().find_map(|line| line.strip_prefix(PUBLICATION_TRAILER));
    let named: PublicationId =
        named.and_then(|named| named.parse().ok()).ok_or_else(|| wrong("Publication-Id", "the trailer is missing"))?;
    let marker = marker_at(history, id, named)?;
    check_trailers(message, &marker)?;
    let expected = commit_message(named, &marker.project, &marker.line, marker.revision, marker.digest);
    if message != expected {
        return Err(wrong("message", "it is not the message of this publication"));
    }
    check_form(commit, text, message)?;
    Ok(marker)
}

/// The marker of `publication` in the commit's own tree, which must be of the revision that the tree is.
fn marker_at(history: &impl History, id: &str, publication: PublicationId) -> Result<PublicationMarker, VerifyError> {
    let path = marker_path(publication);
    let mut files = BTreeMap::new();
    for path in [path.as_str(), CATALOG_PATH] {
        if let Some(bytes) = history.file(id, path)? {
            files.insert(path.to_owned(), bytes);
        }
    }
    let marker: PublicationMarker = read_canonical(&files, &path)?;
    let head: Head = read_canonical(&files, CATALOG_PATH)?;
    if marker.publication != publication {
        return Err(VerifyError::new(path, "the marker is of another publication than its name"));
    }
    let is_of = (&head.project, &head.line, head.revision, head.digest);
    if is_of != (&marker.project, &marker.line, marker.revision, marker.digest) {
        return Err(VerifyError::new(path, "the marker is of another revision than the tree"));
    }
    Ok(marker)
}

fn check_trailers(message: &str, marker: &PublicationMarker) -> Result<(), VerifyError> {
    for (name, expected) in
        [("Catalog-Revision", marker.revision.to_string()), ("Catalog-Digest", marker.digest.to_string())]
    {
        let values: Vec<_> = message.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect();
        if values != [expected.as_str()] {
            return Err(VerifyError::new(name, format!("the trailer is not {expected}, as the tree's marker says")));
        }
    }
    Ok(())
}

/// Author, committer and dates are as ours, and nothing else is in the commit.
fn check_form(commit: &RawCommit, text: &str, message: &str) -> Result<(), VerifyError> {
    let wrong = |reason: &str| VerifyError::new("form", reason);
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let (Some(tree), Some(author)) = (line("tree"), line("author")) else { return Err(wrong("it has no author")) };
    let at_s = author.strip_prefix(&format!("{COMMITTER_NAME} <{COMMITTER_EMAIL}> "));
    let at_s: Option<i64> = at_s.and_then(|at| at.strip_suffix(" +0000")?.parse().ok());
    let at_s = at_s.ok_or_else(|| wrong("author and date are not those of a publication"))?;
    let person = format!("{COMMITTER_NAME} <{COMMITTER_EMAIL}> {at_s} +0000");
    let mut expected = format!("tree {tree}\n");
    if commit.parents.len() > 1 {
        return Err(wrong("a publication has one commit before it at most"));
    }
    for parent in &commit.parents {
        expected.push_str(&format!("parent {parent}\n"));
    }
    expected.push_str(&format!("author {person}\ncommitter {person}\n"));
    let signature = commit.signature.as_deref().unwrap_or_default().replace('\n', "\n ");
    let whole = format!("{expected}gpgsig {signature}\n\n{message}");
    if text == format!("{expected}\n{message}") && commit.bytes == whole.as_bytes() {
        Ok(())
    } else {
        Err(wrong("it says more than a publication's commit does, or names another committer or date"))
    }
}

/// A commit taken apart.
struct RawCommit {
    bytes: Vec<u8>,
    parents: Vec<String>,
    /// Everything but the signature: what is signed.
    content: Vec<u8>,
    signature: Option<String>,
}

impl RawCommit {
    fn parse(bytes: Vec<u8>) -> Result<Self, VerifyError> {
        let mut parents = Vec::new();
        let mut content = Vec::new();
        let mut signature: Option<Vec<u8>> = None;
        let mut within = false;
        let mut rest = bytes.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end + 1);
            if line == b"\n" {
                break;
            }
            rest = after;
            let continued = if within { line.strip_prefix(b" ") } else { None };
            if let (Some(more), Some(signature)) = (continued, &mut signature) {
                signature.extend_from_slice(more);
                continue;
            }
            within = line.starts_with(b"gpgsig ") && signature.is_none();
            if within {
                signature = line.strip_prefix(b"gpgsig ").map(<[u8]>::to_vec);
                continue;
            }
            if let Some(parent) = line.strip_prefix(b"parent ") {
                let parent = std::str::from_utf8(parent).map_err(|_| VerifyError::new("", "this is no commit"))?;
                parents.push(parent.trim_end_matches('\n').to_owned());
            }
            content.extend_from_slice(line);
        }
        content.extend_from_slice(rest);
        let text = |signature: Vec<u8>| {
            let text = String::from_utf8(signature).map_err(|_| VerifyError::new("signature", "it is not UTF-8"))?;
            Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
        };
        Ok(Self { parents, content, signature: signature.map(text).transpose()?, bytes })
    }
}

#[cfg(test)]
mod tests;
