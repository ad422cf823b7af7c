//! `cancel_scenario_run`: ends every cell that has not ended, whoever works on it. A worker learns of it when its lease is
//! not renewed; what it still submits changes no row.

use pinhole_contract::{CancelScenarioRun, RunView};
use pinhole_core::{Actor, Error, Permission, Result, RunState};
use pinhole_store::{Cell, Run};
use serde_json::json;

use super::view::{authorised, view_of};
use crate::{App, idempotency::expect_version, unit::Unit};

pub(crate) async fn cancel(app: &App, actor: &Actor, command: CancelScenarioRun) -> Result<RunView> {
    app.write(actor, "cancel_scenario_run", move |unit, _| {
        Box::pin(async move {
            let run = authorised(unit, command.run_id, Permission::RunCancel).await?;
            expect_version(command.expected_version, run.version)?;
            if run.state.is_terminal() {
                let message = format!("the run is {}: only one that goes on can be cancelled", run.state);
                return Err(Error::conflict("run_ended", message));
            }
            let cancelled = end_cells(unit, &run).await?;
            unit.conclude_run(run.id).await?;
            let run = unit.run(run.id).await?.ok_or_else(|| Error::internal("a run that went away"))?;
            let detail = json!({ "cells": cancelled, "state": run.state });
            unit.audit(Some(run.pins.project), Some(run.id.to_string()), detail).await?;
            view_of(unit, run).await
        })
    })
    .await
}

/// Ends every cell that has not ended; answers how many they were.
async fn end_cells(unit: &mut Unit, run: &Run) -> Result<u32> {
    let mut ended = 0;
    for cell in unit.cells_of(run.id).await? {
        if cell.state.is_terminal() {
            continue;
        }
        let (before, token) = (cell.state, cell.claim_token);
        let cell = Cell { state: RunState::Cancelled, finished_at: Some(unit.now()), ..cell };
        if !unit.finish_cell(&cell, before).await? {
            return Err(Error::transient("a cell changed beneath its transaction"));
        }
        if let Some(token) = token {
            unit.end_attempt(cell.id, token, "cancelled", None).await?;
        }
        ended += 1;
    }
    Ok(ended)
}
