//! The audit log, read: by the owner of a project its rows, by an administrator every row. Nothing here writes.

use pinhole_contract::{AuditEntryView, AuditList, Cursor, ListAudit};
use pinhole_core::{Actor, AuditId, Error, Permission, ProjectId, Result};
use pinhole_store::{AuditFilter, AuditRow};

use crate::{App, page, unit::Unit};

/// The longest operation or object that is looked for, in bytes.
const MAX_TEXT: usize = 100;

pub(crate) async fn list(app: &App, actor: &Actor, command: ListAudit) -> Result<AuditList> {
    for (field, text) in [("operation", &command.operation), ("object", &command.object)] {
        if text.as_ref().is_some_and(|text| text.is_empty() || text.len() > MAX_TEXT) {
            return Err(Error::invalid(field, format!("expected 1 to {MAX_TEXT} bytes")));
        }
    }
    let before = page::position::<AuditId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_audit", move |unit, _| {
        Box::pin(async move {
            let filter = AuditFilter {
                project_id: authorised(unit, command).await?,
                principal_id: command.principal_id,
                operation: command.operation.clone(),
                object_id: command.object.clone(),
                from: command.from,
                to: command.to,
            };
            let mut found = unit.list_audit(&filter, before, page::to_load(command.limit)).await?;
            let more = page::cut(&mut found, command.limit);
            let next_cursor = found.last().filter(|_| more).map(|row| Cursor::new(row.id.to_string()));
            Ok(AuditList { entries: found.into_iter().map(entry_view).collect(), next_cursor })
        })
    })
    .await
}

/// The project whose rows the actor may see; `None` for all rows.
async fn authorised(unit: &mut Unit, command: &ListAudit) -> Result<Option<ProjectId>> {
    let Some(slug) = &command.project else { return unit.authorise_admin().await.map(|()| None) };
    unit.administered_project(slug, Permission::AuditRead).await.map(|project| Some(project.id))
}

fn entry_view(row: AuditRow) -> AuditEntryView {
    let AuditRow { id, at, principal_id, operation, project_id, object_id, request_id, detail } = row;
    AuditEntryView { id, at, principal_id, operation, project_id, object: object_id, request_id, detail }
}
