//! Catalog lines, their revisions and the baseline entries. An entry stands in every revision from `since_revision` to
//! before `until_revision`, so that an old revision reads the same for ever.

use pinhole_core::{
    ApprovalId, BaselineEntryId, BaselineKey, EntryState, EnvironmentId, LineName, PrincipalId, ProjectId, ReceiptId,
    Result, ReviewId, Sha256Digest, Timestamp,
};
use serde_json::Value as Json;

use crate::{
    Tx,
    row::Row,
    value::{int, int_or_null, json, text, text_or_null, time},
};

/// A catalog line.
#[derive(Clone, Debug)]
pub struct CatalogLine {
    /// Its project.
    pub project_id: ProjectId,
    /// Its name.
    pub name: LineName,
    /// Number of the present revision; 0 when there is none.
    pub head_revision: u32,
    /// Digest of the present revision.
    pub head_sha256: Option<Sha256Digest>,
}

/// A catalog revision. Never changes.
#[derive(Clone, Debug)]
pub struct CatalogRevision {
    /// Its project.
    pub project_id: ProjectId,
    /// Its line.
    pub line: LineName,
    /// From 1.
    pub revision: u32,
    /// Digest of the one before.
    pub previous_sha256: Option<Sha256Digest>,
    /// Its digest.
    pub sha256: Sha256Digest,
    /// Digest of the manifest of its published tree.
    pub manifest_sha256: Sha256Digest,
    /// What made it.
    pub cause: Json,
    /// The signed statement, a DSSE envelope in JSON.
    pub envelope: String,
    /// Who made it.
    pub created_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
}

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

fn read_line(row: &Row) -> Result<CatalogLine> {
    Ok(CatalogLine {
        project_id: row.parse("project_id")?,
        name: row.parse("name")?,
        head_revision: row.int("head_revision")?,
        head_sha256: row.parse_or_null("head_sha256")?,
    })
}

fn read_revision(row: &Row) -> Result<CatalogRevision> {
    Ok(CatalogRevision {
        project_id: row.parse("project_id")?,
        line: row.parse("line")?,
        revision: row.int("revision")?,
        previous_sha256: row.parse_or_null("previous_sha256")?,
        sha256: row.parse("sha256")?,
        manifest_sha256: row.parse("manifest_sha256")?,
        cause: row.json("cause")?,
        envelope: row.text("envelope")?,
        created_by: row.parse("created_by")?,
        created_at: row.time("created_at")?,
    })
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
    /// The line with this name.
    pub async fn catalog_line(&mut self, project: ProjectId, name: &LineName) -> Result<Option<CatalogLine>> {
        self.fetch_optional(
            "SELECT * FROM catalog_lines WHERE project_id = $1 AND name = $2",
            &[text(project), text(name)],
            read_line,
        )
        .await
    }

    /// Moves a line from revision `expected` to the next, which has `digest`; false when it was elsewhere. A line that
    /// does not exist is at 0.
    pub async fn advance_catalog_line(
        &mut self,
        project: ProjectId,
        name: &LineName,
        expected: u32,
        digest: Sha256Digest,
    ) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute(
                "INSERT INTO catalog_lines (project_id, name, head_revision, head_sha256, created_at) \
                 SELECT $1, $2, $3 + 1, $4, $5 \
                 WHERE $3 = 0 OR EXISTS (SELECT 1 FROM catalog_lines WHERE project_id = $1 AND name = $2) \
                 ON CONFLICT (project_id, name) DO UPDATE \
                 SET head_revision = excluded.head_revision, head_sha256 = excluded.head_sha256 \
                 WHERE catalog_lines.head_revision = $3",
                &[text(project), text(name), int(expected), text(digest), time(now)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Adds a revision.
    pub async fn insert_catalog_revision(&mut self, revision: &CatalogRevision) -> Result<()> {
        self.execute(
            "INSERT INTO catalog_revisions (project_id, line, revision, previous_sha256, sha256, manifest_sha256, \
             cause, envelope, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            &[
                text(revision.project_id),
                text(&revision.line),
                int(revision.revision),
                text_or_null(revision.previous_sha256),
                text(revision.sha256),
                text(revision.manifest_sha256),
                json(&revision.cause)?,
                text(&revision.envelope),
                text(revision.created_by),
                time(revision.created_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// One revision of a line.
    pub async fn catalog_revision(
        &mut self,
        project: ProjectId,
        line: &LineName,
        revision: u32,
    ) -> Result<Option<CatalogRevision>> {
        self.fetch_optional(
            "SELECT * FROM catalog_revisions WHERE project_id = $1 AND line = $2 AND revision = $3",
            &[text(project), text(line), int(revision)],
            read_revision,
        )
        .await
    }

    /// Revisions of a line up to `revision`, in order.
    pub async fn catalog_revisions_to(
        &mut self,
        project: ProjectId,
        line: &LineName,
        revision: u32,
    ) -> Result<Vec<CatalogRevision>> {
        self.fetch_all(
            "SELECT * FROM catalog_revisions WHERE project_id = $1 AND line = $2 AND revision <= $3 ORDER BY revision",
            &[text(project), text(line), int(revision)],
            read_revision,
        )
        .await
    }

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

    /// The entries of a line as they stood in `revision`, by path, `limit` of them after `after`.
    pub async fn entries_at(
        &mut self,
        project: ProjectId,
        line: &LineName,
        revision: u32,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Entry>> {
        self.fetch_all(
            "SELECT * FROM baseline_entries WHERE project_id = $1 AND line = $2 \
             AND since_revision <= $3 AND (until_revision IS NULL OR until_revision > $3) \
             AND key_path > coalesce($4, '') ORDER BY key_path LIMIT $5",
            &[text(project), text(line), int(revision), text_or_null(after), int(limit)],
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

    /// The signed receipts, reviews and decisions behind every entry that a line ever had up to `revision`: each with
    /// its id, once.
    pub async fn envelopes_to(
        &mut self,
        project: ProjectId,
        line: &LineName,
        revision: u32,
    ) -> Result<Vec<(String, String)>> {
        self.fetch_all(
            "WITH entries AS (SELECT receipt_id, review_id, approval_id FROM baseline_entries \
             WHERE project_id = $1 AND line = $2 AND since_revision <= $3) \
             SELECT id, envelope FROM receipts WHERE id IN (SELECT receipt_id FROM entries) \
             UNION ALL SELECT id, envelope FROM reviews WHERE id IN (SELECT review_id FROM entries) \
             UNION ALL SELECT id, envelope FROM decisions WHERE approval_id IN (SELECT approval_id FROM entries)",
            &[text(project), text(line), int(revision)],
            |row| Ok((row.text("id")?, row.text("envelope")?)),
        )
        .await
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
}
