//! Publications of catalog revisions and their attempts. An attempt belongs to one expected head; a worker's own
//! retries stay within it.

use pinhole_core::{
    ClaimToken, LineName, LogRecordKind, PrincipalId, ProjectId, PublicationId, PublicationState, RemoteId, Result,
    Timestamp,
};
use serde_json::Value as Json;

use crate::{
    Tx,
    row::Row,
    value::{int, int_or_null, json, text, text_or_null, time, time_or_null},
};

/// A publication.
#[derive(Clone, Debug)]
pub struct Publication {
    /// Its id.
    pub id: PublicationId,
    /// Its project.
    pub project_id: ProjectId,
    /// The catalog line.
    pub line: LineName,
    /// The catalog revision.
    pub revision: u32,
    /// Where to.
    pub remote_id: RemoteId,
    /// The branch, without `refs/heads/`.
    pub branch: LineName,
    /// Its state.
    pub state: PublicationState,
    /// Counts changes of the state.
    pub version: u32,
    /// The present attempt, from 1.
    pub attempt: u32,
    /// The token of the worker that has it.
    pub claim_token: Option<ClaimToken>,
    /// When its lease ends, or when the sweeper is to queue its job again.
    pub due_at: Timestamp,
    /// How often a worker has taken it within the attempt.
    pub tries: u32,
    /// What a person needs to know about the state.
    pub detail: Option<String>,
    /// The signed receipt, a DSSE envelope in JSON.
    pub receipt: Option<String>,
    /// The attempt whose files below `log/` the branch holds, once it is published.
    pub log_attempt: Option<u32>,
    /// Who asked for it.
    pub created_by: PrincipalId,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

/// One attempt of a publication.
#[derive(Clone, Debug)]
pub struct PublicationAttempt {
    /// The publication.
    pub publication_id: PublicationId,
    /// From 1.
    pub attempt: u32,
    /// Where the caller had seen the branch, as the contract writes it.
    pub expected_head: Json,
    /// Where the remote was when it was asked for; `None` for attempts of earlier versions.
    pub remote_url: Option<String>,
    /// The commit that ours stands on.
    pub base_commit: Option<String>,
    /// Our commit; stored before it is pushed.
    pub commit_id: Option<String>,
    /// The commit's armoured signature; it is part of what the commit's id is of.
    pub commit_signature: Option<String>,
    /// The state that it ended in.
    pub outcome: Option<String>,
    /// Why.
    pub detail: Option<String>,
    /// When a worker first took it; until then, when it was asked for.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

fn read(row: &Row) -> Result<Publication> {
    Ok(Publication {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        line: row.parse("line")?,
        revision: row.int("revision")?,
        remote_id: row.parse("remote_id")?,
        branch: row.parse("branch")?,
        state: row.parse("state")?,
        version: row.int("version")?,
        attempt: row.int("attempt")?,
        claim_token: row.parse_or_null("claim_token")?,
        due_at: row.time("due_at")?,
        tries: row.int("tries")?,
        detail: row.text_or_null("detail")?,
        receipt: row.text_or_null("receipt")?,
        log_attempt: row.int_or_null("log_attempt")?,
        created_by: row.parse("created_by")?,
        created_at: row.time("created_at")?,
        finished_at: row.time_or_null("finished_at")?,
    })
}

fn read_attempt(row: &Row) -> Result<PublicationAttempt> {
    Ok(PublicationAttempt {
        publication_id: row.parse("publication_id")?,
        attempt: row.int("attempt")?,
        expected_head: row.json("expected_head")?,
        remote_url: row.text_or_null("remote_url")?,
        base_commit: row.text_or_null("base_commit")?,
        commit_id: row.text_or_null("commit_id")?,
        commit_signature: row.text_or_null("commit_signature")?,
        outcome: row.text_or_null("outcome")?,
        detail: row.text_or_null("detail")?,
        started_at: row.time("started_at")?,
        ended_at: row.time_or_null("ended_at")?,
    })
}

impl Tx {
    /// Adds a publication.
    pub async fn insert_publication(&mut self, publication: &Publication) -> Result<()> {
        self.execute(
            "INSERT INTO publications (id, project_id, line, revision, remote_id, branch, state, version, attempt, \
             due_at, tries, created_by, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            &[
                text(publication.id),
                text(publication.project_id),
                text(&publication.line),
                int(publication.revision),
                text(publication.remote_id),
                text(&publication.branch),
                text(publication.state),
                int(publication.version),
                int(publication.attempt),
                time(publication.due_at),
                int(publication.tries),
                text(publication.created_by),
                time(publication.created_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The publication with this id.
    pub async fn publication(&mut self, id: PublicationId) -> Result<Option<Publication>> {
        self.fetch_optional("SELECT * FROM publications WHERE id = $1", &[text(id)], read).await
    }

    /// Publications of a project, newest first.
    pub async fn list_publications(
        &mut self,
        project: ProjectId,
        before: Option<PublicationId>,
        limit: u32,
    ) -> Result<Vec<Publication>> {
        self.fetch_all(
            "SELECT * FROM publications WHERE project_id = $1 AND ($2 IS NULL OR id < $2) ORDER BY id DESC LIMIT $3",
            &[text(project), text_or_null(before), int(limit)],
            read,
        )
        .await
    }

    /// The one publication of a revision to a branch.
    pub async fn publication_of(
        &mut self,
        project: ProjectId,
        line: &LineName,
        revision: u32,
        remote: RemoteId,
        branch: &LineName,
    ) -> Result<Option<Publication>> {
        self.fetch_optional(
            "SELECT * FROM publications \
             WHERE project_id = $1 AND line = $2 AND revision = $3 AND remote_id = $4 AND branch = $5",
            &[text(project), text(line), int(revision), text(remote), text(branch)],
            read,
        )
        .await
    }

    /// Writes everything of `after` that may change, if state, attempt and claim are still those of `before`; false
    /// when they are not.
    pub async fn save_publication(&mut self, before: &Publication, after: &Publication) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE publications SET state = $5, version = $6, attempt = $7, claim_token = $8, due_at = $9, \
                 tries = $10, detail = $11, receipt = $12, finished_at = $13, log_attempt = $15 \
                 WHERE id = $1 AND state = $2 AND attempt = $3 AND coalesce(claim_token, '') = $4 AND due_at = $14",
                &[
                    text(before.id),
                    text(before.state),
                    int(before.attempt),
                    text(before.claim_token.map(|token| token.to_string()).unwrap_or_default()),
                    text(after.state),
                    int(after.version),
                    int(after.attempt),
                    text_or_null(after.claim_token),
                    time(after.due_at),
                    int(after.tries),
                    text_or_null(after.detail.as_ref()),
                    text_or_null(after.receipt.as_ref()),
                    time_or_null(after.finished_at),
                    time(before.due_at),
                    int_or_null(after.log_attempt),
                ],
            )
            .await?;
        if changed != 1 {
            return Ok(false);
        }
        if let (None, Some(receipt)) = (&before.receipt, &after.receipt) {
            self.enter_into_log(LogRecordKind::PublicationReceipt, after.id, receipt.as_bytes()).await?;
        }
        Ok(true)
    }

    /// A publication of another project or line that has, or may get, its catalog onto the branch.
    pub async fn other_catalog_on_branch(
        &mut self,
        remote: RemoteId,
        branch: &LineName,
        project: ProjectId,
        line: &LineName,
    ) -> Result<Option<Publication>> {
        self.fetch_optional(
            "SELECT * FROM publications WHERE remote_id = $1 AND branch = $2 AND (project_id <> $3 OR line <> $4) \
             AND state NOT IN ('conflict', 'rejected', 'failed') ORDER BY id LIMIT 1",
            &[text(remote), text(branch), text(project), text(line)],
            read,
        )
        .await
    }

    /// What was published to a branch until `until`, oldest first.
    pub async fn published_to_branch(
        &mut self,
        remote: RemoteId,
        branch: &LineName,
        until: Timestamp,
    ) -> Result<Vec<Publication>> {
        self.fetch_all(
            "SELECT * FROM publications WHERE remote_id = $1 AND branch = $2 AND state = 'published' \
             AND finished_at <= $3 ORDER BY revision, id",
            &[text(remote), text(branch), time(until)],
            read,
        )
        .await
    }

    /// The oldest unfinished publication of an earlier revision of the line to the same branch that may be on it already:
    /// one of its attempts has made a commit.
    pub async fn unsure_publication_before(&mut self, publication: &Publication) -> Result<Option<Publication>> {
        self.fetch_optional(
            "SELECT * FROM publications WHERE project_id = $1 AND line = $2 AND remote_id = $3 AND branch = $4 \
             AND revision < $5 AND state IN ('queued', 'committing', 'pushing', 'verifying') \
             AND EXISTS (SELECT 1 FROM publication_attempts \
             WHERE publication_id = publications.id AND commit_id IS NOT NULL) ORDER BY revision LIMIT 1",
            &[
                text(publication.project_id),
                text(&publication.line),
                text(publication.remote_id),
                text(&publication.branch),
                int(publication.revision),
            ],
            read,
        )
        .await
    }

    /// Queued publications of a branch, the earliest revisions first, at most 100.
    pub async fn queued_publications(&mut self, remote: RemoteId, branch: &LineName) -> Result<Vec<Publication>> {
        self.fetch_all(
            "SELECT * FROM publications WHERE remote_id = $1 AND branch = $2 AND state = 'queued' \
             ORDER BY revision, id LIMIT 100",
            &[text(remote), text(branch)],
            read,
        )
        .await
    }

    /// Unfinished publications whose time has come, the longest waiting first, at most 100.
    pub async fn due_publications(&mut self) -> Result<Vec<Publication>> {
        let now = self.now();
        self.fetch_all(
            "SELECT * FROM publications WHERE state IN ('queued', 'committing', 'pushing', 'verifying') \
             AND due_at < $1 ORDER BY due_at LIMIT 100",
            &[time(now)],
            read,
        )
        .await
    }

    /// Adds an attempt.
    pub async fn insert_publication_attempt(&mut self, attempt: &PublicationAttempt) -> Result<()> {
        self.execute(
            "INSERT INTO publication_attempts (publication_id, attempt, expected_head, started_at, remote_url) \
             VALUES ($1, $2, $3, $4, $5)",
            &[
                text(attempt.publication_id),
                int(attempt.attempt),
                json(&attempt.expected_head)?,
                time(attempt.started_at),
                text_or_null(attempt.remote_url.as_ref()),
            ],
        )
        .await?;
        Ok(())
    }

    /// The newest attempts of a publication, at most `limit`, in order.
    pub async fn newest_publication_attempts(
        &mut self,
        id: PublicationId,
        limit: u32,
    ) -> Result<Vec<PublicationAttempt>> {
        self.fetch_all(
            "SELECT * FROM (SELECT * FROM publication_attempts WHERE publication_id = $1 \
             ORDER BY attempt DESC LIMIT $2) AS newest ORDER BY attempt",
            &[text(id), int(limit)],
            read_attempt,
        )
        .await
    }

    /// Every attempt of a publication in order.
    pub async fn publication_attempts(&mut self, id: PublicationId) -> Result<Vec<PublicationAttempt>> {
        self.fetch_all(
            "SELECT * FROM publication_attempts WHERE publication_id = $1 ORDER BY attempt",
            &[text(id)],
            read_attempt,
        )
        .await
    }

    /// Writes everything of an attempt that may change.
    pub async fn save_publication_attempt(&mut self, attempt: &PublicationAttempt) -> Result<()> {
        self.execute(
            "UPDATE publication_attempts SET base_commit = $3, commit_id = $4, outcome = $5, detail = $6, \
             started_at = $7, ended_at = $8, commit_signature = $9 WHERE publication_id = $1 AND attempt = $2",
            &[
                text(attempt.publication_id),
                int(attempt.attempt),
                text_or_null(attempt.base_commit.as_ref()),
                text_or_null(attempt.commit_id.as_ref()),
                text_or_null(attempt.outcome.as_ref()),
                text_or_null(attempt.detail.as_ref()),
                time(attempt.started_at),
                time_or_null(attempt.ended_at),
                text_or_null(attempt.commit_signature.as_ref()),
            ],
        )
        .await?;
        Ok(())
    }
}
