//! Baseline entries as they are read: one, or a list of them.

use pinhole_contract::{BaselineList, BaselineView, GetBaseline, ListBaselines};
use pinhole_core::{Actor, BaselineEntryId, Error, Permission, Result};
use pinhole_receipt::CatalogEntry;
use pinhole_store::{Entry, EntryFilter};

use crate::{App, authority::Place, page, runs::visible_environments, unit::Unit};

pub(crate) async fn get(app: &App, actor: &Actor, command: GetBaseline) -> Result<BaselineView> {
    app.read(actor, "get_baseline", move |unit, _| {
        Box::pin(async move { view(authorised(unit, command.entry_id, Permission::Read).await?) })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListBaselines) -> Result<BaselineList> {
    let before = page::position::<BaselineEntryId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_baselines", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let environment = match &command.environment {
                None => None,
                Some(slug) => Some(unit.authorised_environment(project.id, slug, Permission::Read).await?.id),
            };
            let visible = visible_environments(unit, project.id).await?;
            let filter = EntryFilter {
                project: project.id,
                visible: visible.as_deref(),
                line: command.line.as_ref(),
                environment,
                state: command.state,
                before,
            };
            let mut found = unit.list_entries(&filter, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.id);
            Ok(BaselineList { baselines: found.into_iter().map(view).collect::<Result<_>>()?, next_cursor })
        })
    })
    .await
}

/// The entry, if the actor may see it and has `permission` in its environment.
pub(super) async fn authorised(unit: &mut Unit, id: BaselineEntryId, permission: Permission) -> Result<Entry> {
    let entry = unit.entry(id).await?;
    unit.authorised(entry, |entry| Place::environments(entry.project_id, [entry.environment_id]), permission).await
}

/// An entry as views show it.
pub(super) fn view(entry: Entry) -> Result<BaselineView> {
    let document: CatalogEntry = serde_json::from_str(&entry.document).map_err(Error::internal)?;
    Ok(BaselineView {
        id: entry.id,
        key: entry.key,
        state: entry.state,
        digest: entry.sha256,
        capture_digest: document.capture_digest,
        pixel_digest: document.pixel_digest,
        render_digest: document.render_digest,
        rules_digest: document.rules_digest,
        receipt_id: entry.receipt_id,
        review_id: entry.review_id,
        approval_id: entry.approval_id,
        since_revision: entry.since_revision,
        until_revision: entry.until_revision,
        created_at: entry.created_at,
    })
}
