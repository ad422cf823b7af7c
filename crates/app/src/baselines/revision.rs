//! Making a catalog revision: the line moves on from exactly the head that was read, and the revision is signed together
//! with the manifest of the tree that will be published for it.

use std::collections::BTreeMap;

use pinhole_core::{BaselineKey, EnvironmentId, Error, LineName, ProjectId, Result, Sha256Digest, canonical_json};
use pinhole_receipt::{
    CatalogEntry, CatalogRevision as Statement, RevisionCause, RevisionContent, entries_digest, manifest,
};
use pinhole_store::{CatalogRevision, Entry};

use super::catalog::assemble;
use crate::unit::Unit;

/// Where a line stands.
pub(super) struct Head {
    /// Its present revision; 0 when it has none.
    pub(super) revision: u32,
    digest: Option<Sha256Digest>,
}

impl Head {
    /// Where `line` stands now.
    pub(super) async fn of(unit: &mut Unit, project: ProjectId, line: &LineName) -> Result<Self> {
        let found = unit.catalog_line(project, line).await?;
        Ok(Self {
            revision: found.as_ref().map_or(0, |line| line.head_revision),
            digest: found.and_then(|line| line.head_sha256),
        })
    }

    /// Before the first revision of a line that is forked from the revision with this digest: that one takes the place
    /// of the one before.
    pub(super) const fn forked(digest: Sha256Digest) -> Self {
        Self { revision: 0, digest: Some(digest) }
    }

    /// The present revision's digest.
    ///
    /// # Errors
    /// `internal` when the line has no revision.
    pub(super) fn digest(&self) -> Result<Sha256Digest> {
        self.digest.ok_or_else(|| Error::internal("a line without a revision"))
    }

    /// The number of the revision that comes next.
    pub(super) fn next(&self) -> u32 {
        self.revision + 1
    }
}

/// Moves the line to a revision in which every key has the entry of `entries`. To be done before all other writes of a
/// change, so that of two transactions the later one waits here and then starts anew. The caller writes what changes in
/// the entries, and then calls [`end`].
pub(super) async fn begin(
    unit: &mut Unit,
    project: ProjectId,
    line: &LineName,
    head: &Head,
    entries: &BTreeMap<BaselineKey, CatalogEntry>,
    cause: RevisionCause,
) -> Result<RevisionContent> {
    let slug = unit.project(project).await?.ok_or_else(|| Error::internal("a line without its project"))?.slug;
    let entries: Vec<_> = entries.values().cloned().collect();
    let content = RevisionContent {
        project: slug,
        line: line.clone(),
        number: head.next(),
        previous_digest: head.digest,
        entries_digest: entries_digest(&entries)?,
        cause,
        created_at: unit.now(),
    };
    if !unit.advance_catalog_line(project, line, head.revision, content.digest()?).await? {
        return Err(Error::transient("a catalog line moved beneath its transaction"));
    }
    Ok(content)
}

/// Signs and stores the revision, when all of its entries are written.
pub(super) async fn end(unit: &mut Unit, project: ProjectId, content: RevisionContent) -> Result<CatalogRevision> {
    let input = assemble(unit, project, content).await?;
    let manifest_sha256 = manifest(&input)?;
    let statement = Statement::new(input.revision, manifest_sha256)?;
    let envelope = unit.signed(&statement)?;
    let RevisionContent { line, number, previous_digest, cause, created_at, .. } = statement.revision;
    let revision = CatalogRevision {
        project_id: project,
        line,
        revision: number,
        previous_sha256: previous_digest,
        sha256: statement.digest,
        manifest_sha256,
        cause: serde_json::to_value(cause).map_err(Error::internal)?,
        envelope,
        created_by: unit.actor().principal,
        created_at,
    };
    unit.insert_catalog_revision(&revision).await?;
    Ok(revision)
}

/// Adds an entry of the environment as of revision `number`.
pub(super) async fn insert_entry(
    unit: &mut Unit,
    (project, environment): (ProjectId, EnvironmentId),
    document: CatalogEntry,
    number: u32,
) -> Result<()> {
    let bytes = canonical_json(&document)?;
    let entry = Entry {
        id: document.id,
        project_id: project,
        environment_id: environment,
        key: document.key,
        receipt_id: document.receipt,
        approval_id: document.approval,
        review_id: document.review,
        sha256: Sha256Digest::of(&bytes),
        document: String::from_utf8(bytes).map_err(Error::internal)?,
        state: document.state,
        since_revision: number,
        until_revision: None,
        created_at: unit.now(),
    };
    unit.insert_entry(&entry).await
}
