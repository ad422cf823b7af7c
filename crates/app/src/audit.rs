//! The audit log, read: by the owner of a project its rows, by an administrator every row. Nothing here writes.

use pinhole_contract::{AuditEntryView, AuditList, ListAudit};
use pinhole_core::{Actor, AuditId, Permission, ProjectId, Result};
use pinhole_store::{AuditFilter, AuditRow};

use crate::{App, page, unit::Unit};

pub(crate) async fn list(app: &App, actor: &Actor, command: ListAudit) -> Result<AuditList> {
    let before = page::position::<AuditId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_audit", move |unit, _| {
        Box::pin(async move {
            let filter = AuditFilter {
                project_id: authorised(unit, command).await?,
                principal_id: command.principal_id,
                operation: command.operation.as_ref().map(ToString::to_string),
                object_id: command.object.as_ref().map(ToString::to_string),
                from: command.from,
                to: command.to,
            };
            let mut found = unit.list_audit(&filter, before, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |row| row.id);
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
