//! Catalog lines: which there are, where they stand, and which revisions they descend from.

use pinhole_contract::{CatalogLineList, CatalogLineView, GetCatalogLine, ListCatalogLines};
use pinhole_core::{Actor, Error, LineName, LineOrigin, Permission, ProjectId, Result};
use pinhole_receipt::RevisionCause;
use pinhole_store::{CatalogLine, Project};

use super::revision::Head;
use crate::{App, page, unit::Unit};

/// How many forks deep a line may be; each generation is looked through when items are carried.
pub(super) const MAX_GENERATIONS: usize = 50;

pub(crate) async fn get(app: &App, actor: &Actor, command: GetCatalogLine) -> Result<CatalogLineView> {
    let command = &command;
    app.read(actor, "get_catalog_line", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            view(unit, &project, &command.line).await
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListCatalogLines) -> Result<CatalogLineList> {
    let after = page::position::<LineName>(command.cursor.as_ref())?;
    let (command, after) = (&command, after.as_ref());
    app.read(actor, "list_catalog_lines", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let mut found = unit.list_catalog_lines(project.id, after, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.name.clone());
            let mut lines = Vec::with_capacity(found.len());
            for line in found {
                lines.push(view_of(unit, &project, line).await?);
            }
            Ok(CatalogLineList { lines, next_cursor })
        })
    })
    .await
}

/// A line as views show it.
///
/// # Errors
/// `not_found` when it has no revision.
pub(super) async fn view(unit: &mut Unit, project: &Project, line: &LineName) -> Result<CatalogLineView> {
    let line = unit.catalog_line(project.id, line).await?.ok_or_else(Error::not_found)?;
    view_of(unit, project, line).await
}

async fn view_of(unit: &mut Unit, project: &Project, line: CatalogLine) -> Result<CatalogLineView> {
    Ok(CatalogLineView {
        project: project.slug.clone(),
        forked_from: origin(unit, project.id, &line.name).await?,
        line: line.name,
        revision: line.head_revision,
        digest: line.head_sha256.ok_or_else(|| Error::internal("a line without a revision"))?,
        created_at: line.created_at,
        replayed: false,
    })
}

/// The revision that a line was forked from: its own first revision says so.
async fn origin(unit: &mut Unit, project: ProjectId, line: &LineName) -> Result<Option<LineOrigin>> {
    let Some(first) = unit.catalog_revision(project, line, 1).await? else { return Ok(None) };
    let cause: RevisionCause = serde_json::from_value(first.cause).map_err(Error::internal)?;
    Ok(cause.forked_from())
}

/// The line at its head and the revisions that it descends from, the nearest first.
pub(super) async fn lineage(
    unit: &mut Unit,
    project: ProjectId,
    line: &LineName,
    head: &Head,
) -> Result<Vec<(LineName, u32)>> {
    let mut lineage = vec![(line.clone(), head.revision)];
    let mut next = origin(unit, project, line).await?;
    while let Some(LineOrigin { line, revision, .. }) = next {
        if lineage.len() > MAX_GENERATIONS {
            return Err(Error::internal("a line with too many generations"));
        }
        next = origin(unit, project, &line).await?;
        lineage.push((line, revision));
    }
    Ok(lineage)
}
