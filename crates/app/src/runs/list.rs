//! Listing runs, filtered by grant.

use pinhole_contract::{ListScenarioRuns, RunList};
use pinhole_core::{Actor, Authority, EnvironmentId, Permission, ProjectId, Result, RunId};

use super::view::view_of;
use crate::{App, page, unit::Unit};

pub(crate) async fn list(app: &App, actor: &Actor, command: ListScenarioRuns) -> Result<RunList> {
    let before = page::position::<RunId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_scenario_runs", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let visible = visible_environments(unit, project.id).await?;
            let limit = page::to_load(command.limit);
            let mut found = unit.list_runs(project.id, visible.as_deref(), before, limit).await?;
            let next_cursor = page::cut(&mut found, command.limit, |run| run.id);
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
    let grants = unit.own_grants(project).await?;
    Ok(grants.iter().map(|grant| grant.environment_id).collect())
}
