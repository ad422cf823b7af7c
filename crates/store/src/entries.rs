//! Baseline entries. An entry stands in every revision from `since_revision` to before `until_revision`, so that an old
//! revision reads the same for ever.

use pinhole_core::{
    ApprovalId, BaselineEntryId, BaselineKey, EntryState, EnvironmentId, LineName, ProjectId, ReceiptId, Result,
    ReviewId, Sha256Digest, Timestamp,
};

use crate::{
    Tx,
    row::Row,
    value::{environments, int, int_or_null, json, text, text_or_null, time},
};

/// A baseline entry. Only its state and `until_revision` ever change.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: BaselineEntryId,
    /// Its project.
    pub project_id: ProjectId,
    /// The environment of its key.
    pub environment_id: EnvironmentId,
    /// Its key.
    pub key: BaselineKey,
    /// Its receipt.
    pub receipt_id: ReceiptId,
    /// The approval that it came from.
    pub approval_id: ApprovalId,
    /// The accepting review.
    pub review_id: Option<ReviewId>,
    /// The published document in canonical JSON.
    pub document: String,
    /// SHA-256 of `document`.
    pub sha256: Sha256Digest,
    /// Its state now.
    pub state: EntryState,
    /// The revision that it came with.
    pub since_revision: u32,
    /// The revision that it left with.
    pub until_revision: Option<u32>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Which entries a list shows.
#[derive(Clone, Copy, Debug)]
pub struct EntryFilter<'a> {
    /// Of this project.
    pub project: ProjectId,
    /// Only those in these environments.
    pub visible: Option<&'a [EnvironmentId]>,
    /// Only those of this line.
    pub line: Option<&'a LineName>,
    /// Only those in this environment.
    pub environment: Option<EnvironmentId>,
    /// Only those in this state.
    pub state: Option<EntryState>,
    /// Only those made before this one.
    pub before: Option<BaselineEntryId>,
}

fn read_entry(row: &Row) -> Result<Entry> {
    Ok(Entry {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        environment_id: row.parse("environment_id")?,
        key: row.json("baseline_key")?,
        receipt_id: row.parse("receipt_id")?,
        approval_id: row.parse("approval_id")?,
        review_id: row.parse_or_null("review_id")?,
        document: row.text("document")?,
        sha256: row.parse("sha256")?,
        state: row.parse("state")?,
        since_revision: row.int("since_revision")?,
        until_revision: row.int_or_null("until_revision")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds an entry.
    pub async fn insert_entry(&mut self, entry: &Entry) -> Result<()> {
        self.execute(
            "INSERT INTO baseline_entries (id, project_id, environment_id, line, key_path, baseline_key, receipt_id, \
             approval_id, review_id, document, sha256, state, since_revision, until_revision, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            &[
                text(entry.id),
                text(entry.project_id),
                text(entry.environment_id),
                text(&entry.key.line),
                text(entry.key.path()),
                json(&entry.key)?,
                text(entry.receipt_id),
                text(entry.approval_id),
                text_or_null(entry.review_id),
                text(&entry.document),
                text(entry.sha256),
                text(entry.state),
                int(entry.since_revision),
                int_or_null(entry.until_revision),
                time(entry.created_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// Takes the active entry of a key out of the line as of `revision`; false when it has none.
    pub async fn end_active_entry(
        &mut self,
        project: ProjectId,
        key: &BaselineKey,
        state: EntryState,
        revision: u32,
    ) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE baseline_entries SET state = $4, until_revision = $5 \
                 WHERE project_id = $1 AND line = $2 AND key_path = $3 AND state = 'active'",
                &[text(project), text(&key.line), text(key.path()), text(state), int(revision)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// The active entry of a key.
    pub async fn active_entry(&mut self, project: ProjectId, key: &BaselineKey) -> Result<Option<Entry>> {
        self.fetch_optional(
            "SELECT * FROM baseline_entries \
             WHERE project_id = $1 AND line = $2 AND key_path = $3 AND state = 'active'",
            &[text(project), text(&key.line), text(key.path())],
            read_entry,
        )
        .await
    }

    /// Whether an entry of a key was ended by a revision that was made after `at`.
    pub async fn entry_ended_after(&mut self, project: ProjectId, key: &BaselineKey, at: Timestamp) -> Result<bool> {
        let found = self
            .fetch_optional(
                "SELECT baseline_entries.id FROM baseline_entries JOIN catalog_revisions \
                 ON catalog_revisions.project_id = baseline_entries.project_id \
                 AND catalog_revisions.line = baseline_entries.line \
                 AND catalog_revisions.revision = baseline_entries.until_revision \
                 WHERE baseline_entries.project_id = $1 AND baseline_entries.line = $2 \
                 AND baseline_entries.key_path = $3 AND catalog_revisions.created_at > $4 LIMIT 1",
                &[text(project), text(&key.line), text(key.path()), time(at)],
                |row| row.text("id"),
            )
            .await?;
        Ok(found.is_some())
    }

    /// The entry of a key as it stood in `revision`.
    pub async fn entry_at(&mut self, project: ProjectId, key: &BaselineKey, revision: u32) -> Result<Option<Entry>> {
        self.fetch_optional(
            "SELECT * FROM baseline_entries WHERE project_id = $1 AND line = $2 AND key_path = $3 \
             AND since_revision <= $4 AND (until_revision IS NULL OR until_revision > $4)",
            &[text(project), text(&key.line), text(key.path()), int(revision)],
            read_entry,
        )
        .await
    }

    /// The entries of a line as they stood in `revision`, only those in the `visible` environments when they are given,
    /// by path, `limit` of them after `after`.
    pub async fn entries_at(
        &mut self,
        project: ProjectId,
        line: &LineName,
        revision: u32,
        visible: Option<&[EnvironmentId]>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Entry>> {
        self.fetch_all(
            "SELECT * FROM baseline_entries WHERE project_id = $1 AND line = $2 \
             AND since_revision <= $3 AND (until_revision IS NULL OR until_revision > $3) \
             AND key_path > coalesce($4, '') \
             AND coalesce($6, '/' || environment_id || '/') LIKE ('%/' || environment_id || '/%') \
             ORDER BY key_path LIMIT $5",
            &[text(project), text(line), int(revision), text_or_null(after), int(limit), environments(visible)],
            read_entry,
        )
        .await
    }

    /// How many entries a line has in `revision`.
    pub async fn count_entries_at(&mut self, project: ProjectId, line: &LineName, revision: u32) -> Result<u32> {
        let count = self
            .fetch_optional(
                "SELECT count(*) AS n FROM baseline_entries WHERE project_id = $1 AND line = $2 \
                 AND since_revision <= $3 AND (until_revision IS NULL OR until_revision > $3)",
                &[text(project), text(line), int(revision)],
                |row| row.int("n"),
            )
            .await?;
        Ok(count.unwrap_or(0))
    }

    /// The entry with this id.
    pub async fn entry(&mut self, id: BaselineEntryId) -> Result<Option<Entry>> {
        self.fetch_optional("SELECT * FROM baseline_entries WHERE id = $1", &[text(id)], read_entry).await
    }

    /// Every entry that a line ever had up to `revision`, in order of their ids; what a published tree is made of.
    pub async fn entries_to(&mut self, project: ProjectId, line: &LineName, revision: u32) -> Result<Vec<Entry>> {
        self.fetch_all(
            "SELECT * FROM baseline_entries WHERE project_id = $1 AND line = $2 AND since_revision <= $3 ORDER BY id",
            &[text(project), text(line), int(revision)],
            read_entry,
        )
        .await
    }

    /// Active entries of `line` whose key has no active entry of the same receipt on `other`, by path, at most `limit`.
    pub async fn entries_missing_on(
        &mut self,
        project: ProjectId,
        line: &LineName,
        other: &LineName,
        limit: u32,
    ) -> Result<Vec<Entry>> {
        self.fetch_all(
            "SELECT * FROM baseline_entries AS own WHERE project_id = $1 AND line = $2 AND state = 'active' \
             AND NOT EXISTS (SELECT 1 FROM baseline_entries AS theirs WHERE theirs.project_id = $1 \
             AND theirs.line = $3 AND theirs.key_path = own.key_path AND theirs.state = 'active' \
             AND theirs.receipt_id = own.receipt_id) ORDER BY key_path LIMIT $4",
            &[text(project), text(line), text(other), int(limit)],
            read_entry,
        )
        .await
    }

    /// Whether a line has an active entry at this path of a published tree.
    pub async fn is_active_path(&mut self, project: ProjectId, line: &LineName, path: &str) -> Result<bool> {
        let found = self
            .fetch_optional(
                "SELECT id FROM baseline_entries \
                 WHERE project_id = $1 AND line = $2 AND key_path = $3 AND state = 'active'",
                &[text(project), text(line), text(path)],
                |row| row.text("id"),
            )
            .await?;
        Ok(found.is_some())
    }

    /// Paths of the active entries of `line` that `other` has had up to `revision`: with the same receipt from the same
    /// approval.
    pub async fn active_paths_known_to(
        &mut self,
        project: ProjectId,
        line: &LineName,
        other: &LineName,
        revision: u32,
    ) -> Result<Vec<String>> {
        self.fetch_all(
            "SELECT key_path FROM baseline_entries AS own WHERE project_id = $1 AND line = $2 AND state = 'active' \
             AND EXISTS (SELECT 1 FROM baseline_entries AS theirs WHERE theirs.project_id = $1 \
             AND theirs.line = $3 AND theirs.key_path = own.key_path AND theirs.since_revision <= $4 \
             AND theirs.receipt_id = own.receipt_id AND theirs.approval_id = own.approval_id) ORDER BY key_path",
            &[text(project), text(line), text(other), int(revision)],
            |row| row.text("key_path"),
        )
        .await
    }

    /// Paths that a line has had and no longer had in `revision`, each with the revision that its last entry left with.
    pub async fn ended_paths(
        &mut self,
        project: ProjectId,
        line: &LineName,
        revision: u32,
    ) -> Result<Vec<(String, u32)>> {
        self.fetch_all(
            "SELECT key_path, until_revision FROM baseline_entries AS own WHERE project_id = $1 AND line = $2 \
             AND until_revision <= $3 AND NOT EXISTS (SELECT 1 FROM baseline_entries AS later \
             WHERE later.project_id = $1 AND later.line = $2 AND later.key_path = own.key_path \
             AND later.since_revision > own.since_revision AND later.since_revision <= $3) ORDER BY key_path",
            &[text(project), text(line), int(revision)],
            |row| Ok((row.text("key_path")?, row.int("until_revision")?)),
        )
        .await
    }

    /// Entries of a project, newest first.
    pub async fn list_entries(&mut self, filter: &EntryFilter<'_>, limit: u32) -> Result<Vec<Entry>> {
        self.fetch_all(
            "SELECT * FROM baseline_entries WHERE project_id = $1 \
             AND coalesce($2, '/' || environment_id || '/') LIKE ('%/' || environment_id || '/%') \
             AND line = coalesce($3, line) AND environment_id = coalesce($4, environment_id) \
             AND state = coalesce($5, state) AND ($6 IS NULL OR id < $6) ORDER BY id DESC LIMIT $7",
            &[
                text(filter.project),
                environments(filter.visible),
                text_or_null(filter.line),
                text_or_null(filter.environment),
                text_or_null(filter.state),
                text_or_null(filter.before),
                int(limit),
            ],
            read_entry,
        )
        .await
    }
}
