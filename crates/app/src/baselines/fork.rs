//! `fork_catalog_line`: a line begins with the active entries of an exact revision of another. Its first revision names
//! that one as the one before, so that the chain goes on across lines; nothing is approved anew, and nothing of the
//! other line changes.

use std::collections::BTreeMap;

use pinhole_contract::{CatalogLineView, ForkCatalogLine};
use pinhole_core::{Actor, BaselineEntryId, EnvironmentId, Error, LineName, Permission, ProjectId, Result};
use pinhole_receipt::{CatalogEntry, RevisionCause};
use pinhole_store::CatalogRevision;
use serde_json::json;

use super::{
    line::{MAX_GENERATIONS, lineage, view},
    revision::{self, Head},
};
use crate::{App, idempotency::Keyed, unit::Unit};

/// How many lines a project may have.
const MAX_LINES: u32 = 1000;

pub(crate) async fn fork(app: &App, actor: &Actor, command: ForkCatalogLine) -> Result<CatalogLineView> {
    let command = &command;
    app.write(actor, "fork_catalog_line", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::LineWrite).await?;
            let source = unit.catalog_revision(project.id, &command.from, command.revision).await?;
            let source = source.ok_or_else(Error::not_found)?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(_) => {
                    return Ok(CatalogLineView { replayed: true, ..view(unit, &project, &command.line).await? });
                }
            };
            check(unit, project.id, command, &source).await?;
            let made = begin_line(unit, &source, &command.line).await?;
            unit.remember(call, &command.line).await?;
            record(unit, &made).await?;
            view(unit, &project, &command.line).await
        })
    })
    .await
}

async fn check(unit: &mut Unit, project: ProjectId, command: &ForkCatalogLine, source: &CatalogRevision) -> Result<()> {
    let line = &command.line;
    // `main` is there from the beginning, with or without a revision.
    if *line == LineName::default() || unit.catalog_line(project, line).await?.is_some() {
        return Err(Error::conflict("exists", format!("there is a line {line}: choose another name")));
    }
    if unit.count_catalog_lines(project).await? >= MAX_LINES {
        return Err(Error::conflict("too_many_lines", format!("the project has {MAX_LINES} lines: that is the most")));
    }
    let head = Head::of(unit, project, &source.line).await?;
    if lineage(unit, project, &source.line, &head).await?.len() >= MAX_GENERATIONS {
        let message = format!("the line {} is {MAX_GENERATIONS} forks deep: fork another one", source.line);
        return Err(Error::conflict("too_many_generations", message));
    }
    Ok(())
}

/// Writes the entries and the signed first revision.
async fn begin_line(unit: &mut Unit, source: &CatalogRevision, line: &LineName) -> Result<CatalogRevision> {
    let project = source.project_id;
    let entries = carried_along(unit, source, line).await?;
    let documents: BTreeMap<_, _> = entries.iter().map(|(_, entry)| (entry.key.clone(), entry.clone())).collect();
    let (from, digest) = (source.line.clone(), source.sha256);
    let cause = RevisionCause::Forked { line: from, revision: source.revision, digest };
    let head = Head::forked(digest);
    let content = revision::begin(unit, project, line, &head, &documents, cause).await?;
    for (environment, entry) in entries {
        revision::insert_entry(unit, (project, environment), entry, content.number).await?;
    }
    revision::end(unit, project, content).await
}

/// The entries that stand in `source`, as entries of `line`: with the same evidence and approvals.
async fn carried_along(
    unit: &mut Unit,
    source: &CatalogRevision,
    line: &LineName,
) -> Result<Vec<(EnvironmentId, CatalogEntry)>> {
    let CatalogRevision { project_id, line: from, revision, .. } = source;
    let found = unit.entries_at(*project_id, from, *revision, None, None, u32::MAX).await?;
    let mut entries = Vec::with_capacity(found.len());
    for entry in found {
        let mut document: CatalogEntry = serde_json::from_str(&entry.document).map_err(Error::internal)?;
        document.id = BaselineEntryId::from_uuid(unit.uuid());
        document.key.line = line.clone();
        entries.push((entry.environment_id, document));
    }
    Ok(entries)
}

async fn record(unit: &mut Unit, made: &CatalogRevision) -> Result<()> {
    let detail = json!({
        "line": made.line, "revision": made.revision, "digest": made.sha256, "cause": made.cause,
    });
    unit.audit_with_event("catalog.revision", made.project_id, &made.line, detail).await
}
