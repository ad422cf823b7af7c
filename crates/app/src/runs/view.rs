//! Reading one run.

use pinhole_contract::{AttemptView, CellView, GetScenarioRun, RunView};
use pinhole_core::{Actor, Error, Permission, Result, RunId};
use pinhole_store::{Attempt, Run};
use uuid::Uuid;

use crate::{App, authority::Place, unit::Unit};

pub(crate) async fn get(app: &App, actor: &Actor, command: GetScenarioRun) -> Result<RunView> {
    app.read(actor, "get_scenario_run", move |unit, _| {
        Box::pin(async move {
            let run = authorised(unit, command.run_id, Permission::Read).await?;
            view_of(unit, run).await
        })
    })
    .await
}

/// The run, if the actor may see it and has `permission` in its environment.
pub(crate) async fn authorised(unit: &mut Unit, id: RunId, permission: Permission) -> Result<Run> {
    let run = unit.run(id).await?;
    unit.authorised(run, |run| Place::environments(run.pins.project, [run.pins.environment]), permission).await
}

/// What belongs to a run, if the actor may see it and has `permission` in the run's environment.
pub(crate) async fn authorised_part<T>(
    unit: &mut Unit,
    found: Option<T>,
    run_of: impl FnOnce(&T) -> RunId,
    permission: Permission,
) -> Result<(Run, T)> {
    let id = found.as_ref().map_or_else(|| RunId::from_uuid(Uuid::nil()), run_of);
    let run = authorised(unit, id, permission).await?;
    Ok((run, found.ok_or_else(Error::not_found)?))
}

/// The run with its cells and their attempts.
pub(crate) async fn view_of(unit: &mut Unit, run: Run) -> Result<RunView> {
    let mut cells = Vec::new();
    for cell in unit.cells_of(run.id).await? {
        let attempts = unit.attempts_of(cell.id).await?.into_iter().map(attempt).collect();
        cells.push(CellView {
            id: cell.id,
            name: cell.name,
            profile: cell.profile,
            state: cell.state,
            failure: cell.failure,
            failed_assertions: cell.failed_assertions,
            attempts,
        });
    }
    Ok(RunView {
        id: run.id,
        state: run.state,
        verdict: run.verdict,
        version: run.version,
        pins: run.pins,
        cells,
        trigger: run.trigger,
        created_by: run.created_by,
        created_at: run.created_at,
        finished_at: run.finished_at,
        replayed: false,
    })
}

fn attempt(attempt: Attempt) -> AttemptView {
    let Attempt { attempt, worker, started_at, ended_at, outcome, failure } = attempt;
    AttemptView { attempt, worker, started_at, ended_at, outcome, failure }
}
