//! Listing runs, filtered by grant.

use pinhole_contract::{Cursor, ListScenarioRuns, RunList};
use pinhole_core::{Actor, Authority, EnvironmentId, Error, Permission, ProjectId, Result, RunId};

use super::view::view_of;
use crate::{App, unit::Unit};

pub(crate) async fn list(app: &App, actor: &Actor, command: ListScenarioRuns) -> Result<RunList> {
    let before = command.cursor.as_ref().map(|cursor| cursor.as_str().parse::<RunId>()).transpose();
    let before = before.map_err(|_| Error::invalid("cursor", "expected a cursor as an earlier page gave it"))?;
    let command = &command;
    app.read(actor, "list_scenario_runs", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let visible = visible_environments(unit, project.id).await?;
            let limit = command.limit.get();
            let mut found = unit.list_runs(project.id, visible.as_deref(), before, limit + 1).await?;
            let more = found.len() > limit as usize;
            found.truncate(limit as usize);
            let next_cursor = found.last().filter(|_| more).map(|run| Cursor::new(run.id.to_string()));
            let mut runs = Vec::with_capacity(found.len());
            for run in found {
                runs.push(view_of(unit, run).await?);
            }
            Ok(RunList { runs, next_cursor })
        })
    })
    .await
}

/// The environments that the actor's grants show; `None` for all of the project.
pub(crate) async fn visible_environments(unit: &mut Unit, project: ProjectId) -> Result<Option<Vec<EnvironmentId>>> {
    if matches!(unit.actor().authority, Authority::System) {
        return Ok(None);
    }
    let principal = unit.actor().principal;
    let grants = unit.grants_in(principal, project).await?;
    Ok(grants.iter().map(|grant| grant.environment_id).collect())
}
