//! Runs. A run is the sum of its cells; its pins never change.

use pinhole_core::{
    BaselinePin, EnvironmentId, Pins, PrincipalId, ProjectId, Result, RunId, RunState, RunVerdict, ScenarioId,
    Timestamp,
};

use crate::{
    Tx,
    row::Row,
    value::{environments, int, int_or_null, json, text, text_or_null, time, time_or_null},
};

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// What it is pinned to.
    pub pins: Pins,
    /// What started it: `user`, `service`, `try`.
    pub trigger: String,
    /// Its state.
    pub state: RunState,
    /// Its verdict, once completed.
    pub verdict: Option<RunVerdict>,
    /// Counts changes of state, from 1.
    pub version: u32,
    /// Who started it.
    pub created_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

fn read(row: &Row) -> Result<Run> {
    Ok(Run {
        id: row.parse("id")?,
        pins: row.json("pins")?,
        trigger: row.text("trigger")?,
        state: row.parse("state")?,
        verdict: row.parse_or_null("verdict")?,
        version: row.int("version")?,
        created_by: row.parse("created_by")?,
        created_at: row.time("created_at")?,
        finished_at: row.time_or_null("finished_at")?,
    })
}

impl Tx {
    /// Adds a run.
    pub async fn insert_run(&mut self, run: &Run) -> Result<()> {
        let pins = &run.pins;
        let (line, revision, environment) = match &pins.baseline {
            BaselinePin::Line { name, revision, environment, .. } => (Some(name), Some(*revision), Some(*environment)),
            BaselinePin::None { .. } | BaselinePin::Receipts { .. } => (None, None, None),
        };
        self.execute(
            "INSERT INTO runs (id, project_id, scenario_id, scenario_digest, environment_id, environment_revision, \
             base_url, line, baseline_revision, baseline_environment, pins, \"trigger\", state, verdict, version, \
             created_by, created_at, finished_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
            &[
                text(run.id),
                text(pins.project),
                text(pins.scenario),
                text(pins.scenario_digest),
                text(pins.environment),
                int(pins.environment_revision),
                text(&pins.base_url),
                text_or_null(line),
                int_or_null(revision),
                text_or_null(environment),
                json(pins)?,
                text(&run.trigger),
                text(run.state),
                text_or_null(run.verdict),
                int(run.version),
                text(run.created_by),
                time(run.created_at),
                time_or_null(run.finished_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The run with this id.
    pub async fn run(&mut self, id: RunId) -> Result<Option<Run>> {
        self.fetch_optional("SELECT * FROM runs WHERE id = $1", &[text(id)], read).await
    }

    /// Runs of a project, newest first, starting before `before`; only in the `visible` environments when they are given.
    pub async fn list_runs(
        &mut self,
        project: ProjectId,
        visible: Option<&[EnvironmentId]>,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<Run>> {
        // UUIDv7 ids sort by time.
        self.fetch_all(
            "SELECT * FROM runs WHERE project_id = $1 AND coalesce($2, '/' || environment_id || '/') LIKE ('%/' || environment_id || '/%') \
             AND ($3 IS NULL OR id < $3) ORDER BY id DESC LIMIT $4",
            &[text(project), environments(visible), text_or_null(before), int(limit)],
            read,
        )
        .await
    }

    /// The newest completed run of a scenario in an environment that captured evidence and whose assertions held.
    pub async fn newest_completed_run(
        &mut self,
        scenario: ScenarioId,
        environment: EnvironmentId,
    ) -> Result<Option<Run>> {
        self.fetch_optional(
            "SELECT * FROM runs WHERE scenario_id = $1 AND environment_id = $2 AND state = 'completed' \
             AND verdict NOT IN ('not_evidence', 'failed_assertion') ORDER BY finished_at DESC, id DESC LIMIT 1",
            &[text(scenario), text(environment)],
            read,
        )
        .await
    }

    /// Moves an unfinished run to what its cells say: running while a cell is queued or running again, else registering.
    pub async fn refresh_run_state(&mut self, id: RunId, state: RunState) -> Result<()> {
        self.execute(
            "UPDATE runs SET state = $2, version = version + 1 WHERE id = $1 AND state <> $2 \
             AND state IN ('queued', 'running', 'registering')",
            &[text(id), text(state)],
        )
        .await?;
        Ok(())
    }

    /// Ends a run; false when it had ended before.
    pub async fn finish_run(&mut self, id: RunId, state: RunState, verdict: Option<RunVerdict>) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute(
                "UPDATE runs SET state = $2, verdict = $3, finished_at = $4, version = version + 1 \
                 WHERE id = $1 AND finished_at IS NULL",
                &[text(id), text(state), text_or_null(verdict), time(now)],
            )
            .await?;
        Ok(changed == 1)
    }
}
