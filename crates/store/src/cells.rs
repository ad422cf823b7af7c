//! Cells: one matrix row of a run, with its lease and attempts.
//!
//! Every write of a worker carries the claim token of its lease and counts only while the lease lasts; the number of
//! changed rows tells whether it did.

use pinhole_core::{
    CellFailure, CellId, ClaimToken, FailedAssertion, Profile, Result, RunId, RunState, Slug, Submission, Timestamp,
};

use crate::{
    Tx,
    row::Row,
    value::{int, json, json_or_null, text, text_or_null, time, time_or_null},
};

/// A cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its id.
    pub id: CellId,
    /// Its run.
    pub run_id: RunId,
    /// Place in the matrix, from 0.
    pub ordinal: u32,
    /// Name of the matrix row, or `default`.
    pub name: Slug,
    /// The device that the page is shown.
    pub profile: Profile,
    /// Its state.
    pub state: RunState,
    /// How often it was claimed.
    pub attempt: u32,
    /// The lease's token, while one is held.
    pub claim_token: Option<ClaimToken>,
    /// When the sweeper acts if nothing else has.
    pub due_at: Timestamp,
    /// Before when it may not be claimed (back-off).
    pub not_before: Timestamp,
    /// How often the registrar has begun on the present submission.
    pub register_tries: u32,
    /// What the worker submitted, until it is registered.
    pub submission: Option<Submission>,
    /// Assertions that did not hold.
    pub failed_assertions: Vec<FailedAssertion>,
    /// Why it failed.
    pub failure: Option<CellFailure>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

/// One attempt of a cell.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// From 1.
    pub attempt: u32,
    /// Who worked on it.
    pub worker: String,
    /// Since when.
    pub started_at: Timestamp,
    /// Until when.
    pub ended_at: Option<Timestamp>,
    /// `submitted`, `failed` or `lost`.
    pub outcome: Option<String>,
    /// Why it failed.
    pub failure: Option<CellFailure>,
}

fn read(row: &Row) -> Result<Cell> {
    Ok(Cell {
        id: row.parse("id")?,
        run_id: row.parse("run_id")?,
        ordinal: row.int("ordinal")?,
        name: row.parse("name")?,
        profile: row.json("profile")?,
        state: row.parse("state")?,
        attempt: row.int("attempt")?,
        claim_token: row.parse_or_null("claim_token")?,
        due_at: row.time("due_at")?,
        not_before: row.time("not_before")?,
        register_tries: row.int("register_tries")?,
        submission: row.json_or_null("submission")?,
        failed_assertions: row.json("failed_assertions")?,
        failure: row.json_or_null("failure")?,
        created_at: row.time("created_at")?,
        finished_at: row.time_or_null("finished_at")?,
    })
}

fn read_attempt(row: &Row) -> Result<Attempt> {
    Ok(Attempt {
        attempt: row.int("attempt")?,
        worker: row.text("worker")?,
        started_at: row.time("started_at")?,
        ended_at: row.time_or_null("ended_at")?,
        outcome: row.text_or_null("outcome")?,
        failure: row.json_or_null("failure")?,
    })
}

impl Tx {
    /// Adds a cell.
    pub async fn insert_cell(&mut self, cell: &Cell) -> Result<()> {
        self.execute(
            "INSERT INTO cells (id, run_id, ordinal, name, profile, state, attempt, due_at, not_before, \
             register_tries, failed_assertions, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            &[
                text(cell.id),
                text(cell.run_id),
                int(cell.ordinal),
                text(&cell.name),
                json(&cell.profile)?,
                text(cell.state),
                int(cell.attempt),
                time(cell.due_at),
                time(cell.not_before),
                int(cell.register_tries),
                json(&cell.failed_assertions)?,
                time(cell.created_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The cell with this id.
    pub async fn cell(&mut self, id: CellId) -> Result<Option<Cell>> {
        self.fetch_optional("SELECT * FROM cells WHERE id = $1", &[text(id)], read).await
    }

    /// The cells of a run in order; a scenario bounds their number.
    pub async fn cells_of(&mut self, run: RunId) -> Result<Vec<Cell>> {
        self.fetch_all("SELECT * FROM cells WHERE run_id = $1 ORDER BY ordinal", &[text(run)], read).await
    }

    /// Takes a queued cell until `lease_until`; `None` when it is not to be had.
    pub async fn claim_cell(
        &mut self,
        id: CellId,
        token: ClaimToken,
        worker: &str,
        lease_until: Timestamp,
    ) -> Result<Option<Cell>> {
        let now = self.now();
        let cell = self
            .fetch_optional(
                "UPDATE cells SET state = 'running', attempt = attempt + 1, claim_token = $2, worker = $3, \
                 due_at = $4 WHERE id = $1 AND state = 'queued' AND not_before <= $5 RETURNING *",
                &[text(id), text(token), text(worker), time(lease_until), time(now)],
                read,
            )
            .await?;
        let Some(cell) = cell else { return Ok(None) };
        self.execute(
            "INSERT INTO cell_attempts (cell_id, attempt, claim_token, worker, started_at) VALUES ($1, $2, $3, $4, $5)",
            &[text(id), int(cell.attempt), text(token), text(worker), time(now)],
        )
        .await?;
        Ok(Some(cell))
    }

    /// Prolongs a lease that still lasts; false when it is lost.
    pub async fn renew_cell(&mut self, id: CellId, token: ClaimToken, lease_until: Timestamp) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute(
                "UPDATE cells SET due_at = $3 \
                 WHERE id = $1 AND claim_token = $2 AND state = 'running' AND due_at >= $4",
                &[text(id), text(token), time(lease_until), time(now)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Hands a submission to the registrar under a lease that still lasts; false when it is lost.
    pub async fn submit_cell(
        &mut self,
        id: CellId,
        token: ClaimToken,
        submission: &Submission,
        due_at: Timestamp,
    ) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute(
                "UPDATE cells SET state = 'registering', submission = $3, register_tries = 0, due_at = $4 \
                 WHERE id = $1 AND claim_token = $2 AND state = 'running' AND due_at >= $5",
                &[text(id), text(token), json(submission)?, time(due_at), time(now)],
            )
            .await?;
        if changed == 1 {
            self.end_attempt(id, token, "submitted", submission.failure.as_ref()).await?;
        }
        Ok(changed == 1)
    }

    /// Takes a running cell from whoever held it and queues it again; false when `token` no longer holds it.
    pub async fn requeue_cell(
        &mut self,
        id: CellId,
        token: ClaimToken,
        not_before: Timestamp,
        outcome: &str,
        failure: Option<&CellFailure>,
    ) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE cells SET state = 'queued', claim_token = NULL, worker = NULL, submission = NULL, \
                 not_before = $3, due_at = $3 WHERE id = $1 AND claim_token = $2 AND state IN ('running', 'registering')",
                &[text(id), text(token), time(not_before)],
            )
            .await?;
        if changed == 1 {
            self.end_attempt(id, token, outcome, failure).await?;
        }
        Ok(changed == 1)
    }

    /// Begins a registration of the attempt; `None` when the cell is not being registered.
    pub async fn begin_registration(&mut self, id: CellId, attempt: u32, due_at: Timestamp) -> Result<Option<Cell>> {
        self.fetch_optional(
            "UPDATE cells SET register_tries = register_tries + 1, due_at = $3 \
             WHERE id = $1 AND attempt = $2 AND state = 'registering' RETURNING *",
            &[text(id), int(attempt), time(due_at)],
            read,
        )
        .await
    }

    /// Ends a cell from `expected`; false when it was in another state or attempt.
    pub async fn finish_cell(&mut self, cell: &Cell, expected: RunState) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE cells SET state = $4, claim_token = NULL, submission = NULL, failed_assertions = $5, \
                 failure = $6, finished_at = $7 WHERE id = $1 AND attempt = $2 AND state = $3",
                &[
                    text(cell.id),
                    int(cell.attempt),
                    text(expected),
                    text(cell.state),
                    json(&cell.failed_assertions)?,
                    json_or_null(cell.failure.as_ref())?,
                    time_or_null(cell.finished_at),
                ],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Unfinished cells whose time has come, the longest waiting first, at most 100.
    pub async fn due_cells(&mut self) -> Result<Vec<Cell>> {
        let now = self.now();
        self.fetch_all(
            "SELECT * FROM cells WHERE state IN ('queued', 'running', 'registering') AND due_at < $1 \
             ORDER BY due_at LIMIT 100",
            &[time(now)],
            read,
        )
        .await
    }

    /// Says when the sweeper is to look at a cell again, unless something else changed it.
    pub async fn postpone_cell(&mut self, cell: &Cell, due_at: Timestamp) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE cells SET due_at = $3 WHERE id = $1 AND due_at = $2 AND state = $4",
                &[text(cell.id), time(cell.due_at), time(due_at), text(cell.state)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Every attempt of a cell in order.
    pub async fn attempts_of(&mut self, id: CellId) -> Result<Vec<Attempt>> {
        self.fetch_all("SELECT * FROM cell_attempts WHERE cell_id = $1 ORDER BY attempt", &[text(id)], read_attempt)
            .await
    }

    /// Ends the attempt that `token` began, if it has not ended.
    pub async fn end_attempt(
        &mut self,
        id: CellId,
        token: ClaimToken,
        outcome: &str,
        failure: Option<&CellFailure>,
    ) -> Result<()> {
        let now = self.now();
        self.execute(
            "UPDATE cell_attempts SET ended_at = $3, outcome = $4, failure = $5 \
             WHERE cell_id = $1 AND claim_token = $2 AND ended_at IS NULL",
            &[text(id), text(token), time(now), text_or_null(Some(outcome)), json_or_null(failure)?],
        )
        .await?;
        Ok(())
    }
}
