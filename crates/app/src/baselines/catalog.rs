//! Catalog revisions: reading one, listing them, and what a published tree is made of. The manifest that a revision signs and the
//! tree that is published later both come from [`catalog_input`], so that they cannot disagree.

use std::collections::{BTreeMap, btree_map};

use pinhole_contract::{
    CatalogEntryView, CatalogRevisionList, CatalogRevisionView, Cursor, GetCatalogRevision, ListCatalogRevisions,
    ListedRevisionView, RevisionSelector,
};
use pinhole_core::{
    Actor, BaselineEntryId, BaselineKey, EntryState, EnvironmentId, Error, LineName, Permission, ProjectId, Result,
};
use pinhole_receipt::{
    CatalogEntry, CatalogInput, CatalogRevision as Statement, Envelope, Predicate as _, RevisionCause, RevisionContent,
};
use pinhole_store::{CatalogRevision, Entry, Project};
use serde_json::{Value, json};

use crate::{App, page, runs, unit::Unit};

pub(crate) async fn get_revision(app: &App, actor: &Actor, command: GetCatalogRevision) -> Result<CatalogRevisionView> {
    let after = page::position::<BaselineEntryId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "get_catalog_revision", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let revision = select(unit, project.id, command).await?;
            let visible = runs::visible_environments(unit, project.id).await?;
            let after = match after {
                None => None,
                Some(id) => Some(path_of(unit, &revision, visible.as_deref(), id).await?),
            };
            let cause = shown_cause(unit, visible.as_deref(), &revision).await?;
            let (number, limit) = (revision.revision, page::to_load(command.limit));
            let (line, visible) = (&command.line, visible.as_deref());
            let mut found = unit.entries_at(project.id, line, number, visible, after.as_deref(), limit).await?;
            let next_cursor = page::cut(&mut found, command.limit, |entry| entry.id);
            revision_view(project, revision, cause, (found, next_cursor))
        })
    })
    .await
}

pub(crate) async fn list_revisions(
    app: &App,
    actor: &Actor,
    command: ListCatalogRevisions,
) -> Result<CatalogRevisionList> {
    let before = page::position::<u32>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_catalog_revisions", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let limit = page::to_load(command.limit);
            let mut found = unit.list_catalog_revisions(project.id, &command.line, before, limit).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.revision);
            let visible = runs::visible_environments(unit, project.id).await?;
            let mut revisions = Vec::with_capacity(found.len());
            for revision in found {
                revisions.push(ListedRevisionView {
                    cause: shown_cause(unit, visible.as_deref(), &revision).await?.value,
                    revision: revision.revision,
                    digest: revision.sha256,
                    previous_digest: revision.previous_sha256,
                    created_at: revision.created_at,
                });
            }
            Ok(CatalogRevisionList { revisions, next_cursor })
        })
    })
    .await
}

/// What made a revision, as far as a caller may know.
struct ShownCause {
    value: Value,
    is_whole: bool,
}

/// The cause of a revision for who sees the `visible` environments: of an entry in another one, no more than that one
/// ended.
async fn shown_cause(
    unit: &mut Unit,
    visible: Option<&[EnvironmentId]>,
    revision: &CatalogRevision,
) -> Result<ShownCause> {
    let whole = ShownCause { value: revision.cause.clone(), is_whole: true };
    let Some(visible) = visible else { return Ok(whole) };
    let cause: RevisionCause = serde_json::from_value(revision.cause.clone()).map_err(Error::internal)?;
    let entry = match cause {
        RevisionCause::Retired { entry, .. } | RevisionCause::Invalidated { entry, .. } => entry,
        RevisionCause::Consumed { .. } | RevisionCause::Forked { .. } => return Ok(whole),
    };
    let entry = unit.entry(entry).await?.ok_or_else(|| Error::internal("a revision that ended no entry"))?;
    if visible.contains(&entry.environment_id) {
        return Ok(whole);
    }
    Ok(ShownCause { value: json!({ "kind": revision.cause["kind"] }), is_whole: false })
}

async fn select(unit: &mut Unit, project: ProjectId, command: &GetCatalogRevision) -> Result<CatalogRevision> {
    let number = match command.revision {
        RevisionSelector::Number(number) => number,
        RevisionSelector::Latest(_) => {
            unit.catalog_line(project, &command.line).await?.map_or(0, |line| line.head_revision)
        }
    };
    unit.catalog_revision(project, &command.line, number).await?.ok_or_else(Error::not_found)
}

/// The path behind which a page starts. A cursor is an entry's id, because a path can be longer than a cursor.
async fn path_of(
    unit: &mut Unit,
    revision: &CatalogRevision,
    visible: Option<&[EnvironmentId]>,
    id: BaselineEntryId,
) -> Result<String> {
    let entry = unit.entry(id).await?;
    let entry = entry.filter(|entry| {
        let is_visible = visible.is_none_or(|ids| ids.contains(&entry.environment_id));
        is_visible && entry.project_id == revision.project_id && entry.key.line == revision.line
    });
    entry.map(|entry| entry.key.path()).ok_or_else(page::bad_cursor)
}

fn revision_view(
    project: Project,
    revision: CatalogRevision,
    cause: ShownCause,
    (entries, next_cursor): (Vec<Entry>, Option<Cursor>),
) -> Result<CatalogRevisionView> {
    let envelope = if cause.is_whole { serde_json::from_str(&revision.envelope) } else { Ok(Value::Null) };
    Ok(CatalogRevisionView {
        project: project.slug,
        line: revision.line,
        revision: revision.revision,
        digest: revision.sha256,
        previous_digest: revision.previous_sha256,
        cause: cause.value,
        envelope: envelope.map_err(Error::internal)?,
        created_at: revision.created_at,
        entries: entries.into_iter().map(entry_view).collect(),
        next_cursor,
    })
}

fn entry_view(entry: Entry) -> CatalogEntryView {
    CatalogEntryView {
        id: entry.id,
        key: entry.key,
        digest: entry.sha256,
        receipt_id: entry.receipt_id,
        approval_id: entry.approval_id,
        state: entry.state,
        since_revision: entry.since_revision,
    }
}

/// What the tree of a stored revision is made of, without markers: everything as it stood in that revision, whatever
/// came later.
///
/// # Errors
/// `not_found` when the line has no such revision.
pub(crate) async fn catalog_input(
    unit: &mut Unit,
    project: ProjectId,
    line: &LineName,
    revision: u32,
) -> Result<CatalogInput> {
    let stored = unit.catalog_revision(project, line, revision).await?.ok_or_else(Error::not_found)?;
    let envelope = Envelope::from_bytes(stored.envelope.as_bytes()).map_err(Error::internal)?;
    let statement = envelope.statement_unverified().and_then(|statement| Statement::from_statement(&statement));
    assemble(unit, project, statement.map_err(Error::internal)?.revision).await
}

/// What the tree of `revision` is made of. Its entries must be in the database; its own statement need not be there yet.
pub(super) async fn assemble(unit: &mut Unit, project: ProjectId, revision: RevisionContent) -> Result<CatalogInput> {
    let (line, number) = (&revision.line, revision.number);
    let entries = published_entries(unit, project, line, number).await?.into_values().collect();
    let envelopes = unit.envelopes_to(project, line, number).await?;
    let revisions = unit.catalog_revisions_to(project, line, number).await?;
    Ok(CatalogInput {
        entries,
        envelopes: envelopes.into_iter().map(|(id, envelope)| (id, envelope.into_bytes())).collect(),
        revisions: revisions.into_iter().map(|stored| (stored.revision, stored.envelope.into_bytes())).collect(),
        publications: Vec::new(),
        log: BTreeMap::new(),
        revision,
    })
}

/// The newest entry of every key as it stood in `revision`: active, retired or invalidated.
pub(super) async fn published_entries(
    unit: &mut Unit,
    project: ProjectId,
    line: &LineName,
    revision: u32,
) -> Result<BTreeMap<BaselineKey, CatalogEntry>> {
    let mut newest: BTreeMap<BaselineKey, Entry> = BTreeMap::new();
    for entry in unit.entries_to(project, line, revision).await? {
        match newest.entry(entry.key.clone()) {
            btree_map::Entry::Vacant(place) => {
                place.insert(entry);
            }
            btree_map::Entry::Occupied(mut place) if place.get().since_revision < entry.since_revision => {
                place.insert(entry);
            }
            btree_map::Entry::Occupied(_) => {}
        }
    }
    newest.into_iter().map(|(key, entry)| Ok((key, published(&entry, revision)?))).collect()
}

/// An entry's document with the state that it had in `revision`.
fn published(entry: &Entry, revision: u32) -> Result<CatalogEntry> {
    let document: CatalogEntry = serde_json::from_str(&entry.document).map_err(Error::internal)?;
    let ended = entry.until_revision.is_some_and(|until| until <= revision);
    Ok(CatalogEntry { state: if ended { entry.state } else { EntryState::Active }, ..document })
}
