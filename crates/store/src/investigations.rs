//! Investigation cases with their queues, episodes and findings.

use pinhole_core::{
    CaseDisposition, CaseId, CaseState, EnvironmentId, EpisodeId, FindingId, FindingText, PrincipalId, ProjectId,
    Reason, Result, RunId, Sha256Digest, Slug, Timestamp, Title,
};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time},
};

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its id.
    pub id: CaseId,
    /// Its project.
    pub project_id: ProjectId,
    /// The environment of its runs.
    pub environment_id: EnvironmentId,
    /// Its queue in that environment.
    pub queue: Slug,
    /// What its episodes have in common.
    pub signature: Sha256Digest,
    /// The same in one line.
    pub summary: Title,
    /// Its state.
    pub state: CaseState,
    /// Counts changes, from 1.
    pub version: u32,
    /// Who works on it.
    pub claimed_by: Option<PrincipalId>,
    /// What it turned out to be.
    pub disposition: Option<CaseDisposition>,
    /// Which case is about the same.
    pub duplicate_of: Option<CaseId>,
    /// Why it was disposed so.
    pub reason: Option<Reason>,
    /// Who disposed it.
    pub disposed_by: Option<PrincipalId>,
    /// Who opened it.
    pub opened_by: PrincipalId,
    /// When.
    pub opened_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// A queue of an environment.
#[derive(Clone, Debug)]
pub struct CaseQueue {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// Its name.
    pub name: Slug,
    /// How many cases wait in it.
    pub waiting: u32,
    /// How many are being worked on.
    pub claimed: u32,
    /// Counts changes, from 1.
    pub version: u32,
}

/// One failure of a case.
#[derive(Clone, Debug)]
pub struct Episode {
    /// Its id.
    pub id: EpisodeId,
    /// Its case.
    pub case_id: CaseId,
    /// The run that failed.
    pub run_id: RunId,
    /// Who added it.
    pub added_by: PrincipalId,
    /// When.
    pub added_at: Timestamp,
}

/// What somebody found out about a case. Never changes.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its id.
    pub id: FindingId,
    /// Its case.
    pub case_id: CaseId,
    /// Whose it is.
    pub author: PrincipalId,
    /// The text.
    pub body: FindingText,
    /// When.
    pub created_at: Timestamp,
}

/// Which cases are listed.
#[derive(Clone, Copy, Debug)]
pub struct CaseFilter<'a> {
    /// Their project.
    pub project: ProjectId,
    /// Only in these environments.
    pub environments: Option<&'a [EnvironmentId]>,
    /// Only in this state.
    pub state: Option<CaseState>,
    /// Only in queues of this name.
    pub queue: Option<&'a Slug>,
    /// From after this one.
    pub after: Option<CaseId>,
}

fn read(row: &Row) -> Result<Case> {
    Ok(Case {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        environment_id: row.parse("environment_id")?,
        queue: row.parse("queue")?,
        signature: row.parse("signature_sha256")?,
        summary: row.parse("summary")?,
        state: row.parse("state")?,
        version: row.int("version")?,
        claimed_by: row.parse_or_null("claimed_by")?,
        disposition: row.parse_or_null("disposition")?,
        duplicate_of: row.parse_or_null("duplicate_of")?,
        reason: row.parse_or_null("reason")?,
        disposed_by: row.parse_or_null("disposed_by")?,
        opened_by: row.parse("opened_by")?,
        opened_at: row.time("opened_at")?,
        updated_at: row.time("updated_at")?,
    })
}

fn read_queue(row: &Row) -> Result<CaseQueue> {
    Ok(CaseQueue {
        environment_id: row.parse("environment_id")?,
        name: row.parse("name")?,
        waiting: row.int("waiting")?,
        claimed: row.int("claimed")?,
        version: row.int("version")?,
    })
}

fn read_episode(row: &Row) -> Result<Episode> {
    Ok(Episode {
        id: row.parse("id")?,
        case_id: row.parse("case_id")?,
        run_id: row.parse("run_id")?,
        added_by: row.parse("added_by")?,
        added_at: row.time("added_at")?,
    })
}

fn read_finding(row: &Row) -> Result<Finding> {
    Ok(Finding {
        id: row.parse("id")?,
        case_id: row.parse("case_id")?,
        author: row.parse("author")?,
        body: row.parse("body")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a case; `conflict` when one with its signature is not disposed.
    pub async fn insert_case(&mut self, case: &Case) -> Result<()> {
        self.execute(
            "INSERT INTO cases (id, project_id, environment_id, queue, signature_sha256, summary, state, version, \
             claimed_by, disposition, duplicate_of, reason, disposed_by, opened_by, opened_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            &[
                text(case.id),
                text(case.project_id),
                text(case.environment_id),
                text(&case.queue),
                text(case.signature),
                text(&case.summary),
                text(case.state),
                int(case.version),
                text_or_null(case.claimed_by),
                text_or_null(case.disposition),
                text_or_null(case.duplicate_of),
                text_or_null(case.reason.as_ref()),
                text_or_null(case.disposed_by),
                text(case.opened_by),
                time(case.opened_at),
                time(case.updated_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// Stores a changed case when its version is still `expected`; false when it was not.
    pub async fn save_case(&mut self, expected: u32, case: &Case) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE cases SET state = $3, version = $4, claimed_by = $5, disposition = $6, duplicate_of = $7, \
                 reason = $8, disposed_by = $9, updated_at = $10 WHERE id = $1 AND version = $2",
                &[
                    text(case.id),
                    int(expected),
                    text(case.state),
                    int(case.version),
                    text_or_null(case.claimed_by),
                    text_or_null(case.disposition),
                    text_or_null(case.duplicate_of),
                    text_or_null(case.reason.as_ref()),
                    text_or_null(case.disposed_by),
                    time(case.updated_at),
                ],
            )
            .await?;
        Ok(changed == 1)
    }

    /// The case with this id.
    pub async fn case(&mut self, id: CaseId) -> Result<Option<Case>> {
        self.fetch_optional("SELECT * FROM cases WHERE id = $1", &[text(id)], read).await
    }

    /// The case with this signature that is not disposed.
    pub async fn undisposed_case(
        &mut self,
        environment: EnvironmentId,
        signature: Sha256Digest,
    ) -> Result<Option<Case>> {
        self.fetch_optional(
            "SELECT * FROM cases WHERE environment_id = $1 AND signature_sha256 = $2 AND state <> 'disposed'",
            &[text(environment), text(signature)],
            read,
        )
        .await
    }

    /// Cases, the longest open first.
    pub async fn list_cases(&mut self, filter: CaseFilter<'_>, limit: u32) -> Result<Vec<Case>> {
        let CaseFilter { project, environments, state, queue, after } = filter;
        // As for runs: the environments travel as one text, so that the statement stays fixed.
        let list = environments.map(|ids| ids.iter().map(|id| format!("/{id}/")).collect::<String>());
        self.fetch_all(
            "SELECT * FROM cases WHERE project_id = $1 \
             AND coalesce($2, '/' || environment_id || '/') LIKE ('%/' || environment_id || '/%') \
             AND state = coalesce($3, state) AND queue = coalesce($4, queue) AND ($5 IS NULL OR id > $5) \
             ORDER BY id LIMIT $6",
            &[
                text(project),
                text_or_null(list),
                text_or_null(state),
                text_or_null(queue),
                text_or_null(after),
                int(limit),
            ],
            read,
        )
        .await
    }

    /// The queue of this name; `None` before it had its first case.
    pub async fn case_queue(&mut self, environment: EnvironmentId, name: &Slug) -> Result<Option<CaseQueue>> {
        self.fetch_optional(
            "SELECT * FROM investigation_queues WHERE environment_id = $1 AND name = $2",
            &[text(environment), text(name)],
            read_queue,
        )
        .await
    }

    /// Stores a queue whose version is one more than before, or adds it when that is 1; false when another transaction
    /// was first.
    pub async fn save_case_queue(&mut self, queue: &CaseQueue) -> Result<bool> {
        let CaseQueue { environment_id, name, waiting, claimed, version } = queue;
        let changed = self
            .execute(
                "INSERT INTO investigation_queues (environment_id, name, waiting, claimed, version) \
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (environment_id, name) DO UPDATE SET waiting = $3, \
                 claimed = $4, version = $5 WHERE investigation_queues.version = $5 - 1",
                &[text(environment_id), text(name), int(*waiting), int(*claimed), int(*version)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Adds an episode; `conflict` when its run is one of the case.
    pub async fn insert_episode(&mut self, episode: &Episode) -> Result<()> {
        let Episode { id, case_id, run_id, added_by, added_at } = episode;
        self.execute(
            "INSERT INTO episodes (id, case_id, run_id, added_by, added_at) VALUES ($1, $2, $3, $4, $5)",
            &[text(id), text(case_id), text(run_id), text(added_by), time(*added_at)],
        )
        .await?;
        Ok(())
    }

    /// The episode of a run in a case.
    pub async fn episode_of(&mut self, case: CaseId, run: RunId) -> Result<Option<Episode>> {
        self.fetch_optional(
            "SELECT * FROM episodes WHERE case_id = $1 AND run_id = $2",
            &[text(case), text(run)],
            read_episode,
        )
        .await
    }

    /// The newest episodes of a case, newest first.
    pub async fn episodes_of(&mut self, case: CaseId, limit: u32) -> Result<Vec<Episode>> {
        self.fetch_all(
            "SELECT * FROM episodes WHERE case_id = $1 ORDER BY id DESC LIMIT $2",
            &[text(case), int(limit)],
            read_episode,
        )
        .await
    }

    /// How many episodes and findings a case has.
    pub async fn count_of_case(&mut self, case: CaseId) -> Result<(u32, u32)> {
        let counts = self
            .fetch_optional(
                "SELECT (SELECT count(*) FROM episodes WHERE case_id = $1) AS episodes, \
                 (SELECT count(*) FROM findings WHERE case_id = $1) AS findings",
                &[text(case)],
                |row| Ok((row.int("episodes")?, row.int("findings")?)),
            )
            .await?;
        Ok(counts.unwrap_or_default())
    }

    /// Adds a finding.
    pub async fn insert_finding(&mut self, finding: &Finding) -> Result<()> {
        let Finding { id, case_id, author, body, created_at } = finding;
        self.execute(
            "INSERT INTO findings (id, case_id, author, body, created_at) VALUES ($1, $2, $3, $4, $5)",
            &[text(id), text(case_id), text(author), text(body), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// Findings of a case, oldest first, from after `after`.
    pub async fn findings_of(&mut self, case: CaseId, after: Option<FindingId>, limit: u32) -> Result<Vec<Finding>> {
        self.fetch_all(
            "SELECT * FROM findings WHERE case_id = $1 AND ($2 IS NULL OR id > $2) ORDER BY id LIMIT $3",
            &[text(case), text_or_null(after), int(limit)],
            read_finding,
        )
        .await
    }
}
