//! Making a catalog revision: the line moves on from exactly the head that was read, and the revision is signed together
//! with the manifest of the tree that will be published for it.

use std::collections::BTreeMap;

use pinhole_core::{BaselineKey, Error, LineName, ProjectId, Result, Sha256Digest};
use pinhole_receipt::{
    CatalogEntry, CatalogRevision as Statement, RevisionCause, RevisionContent, entries_digest, manifest,
};
use pinhole_store::CatalogRevision;

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
