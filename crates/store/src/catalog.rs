//! Catalog lines and their revisions.

use pinhole_core::{LineName, LogRecordKind, PrincipalId, ProjectId, Result, Sha256Digest, Timestamp};
use serde_json::Value as Json;

use crate::{
    Tx,
    log::revision_record_id,
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
    /// When it was made.
    pub created_at: Timestamp,
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

fn read_line(row: &Row) -> Result<CatalogLine> {
    Ok(CatalogLine {
        project_id: row.parse("project_id")?,
        name: row.parse("name")?,
        head_revision: row.int("head_revision")?,
        head_sha256: row.parse_or_null("head_sha256")?,
        created_at: row.time("created_at")?,
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

    /// Lines of a project in the order of their names, `limit` of them after `after`.
    pub async fn list_catalog_lines(
        &mut self,
        project: ProjectId,
        after: Option<&LineName>,
        limit: u32,
    ) -> Result<Vec<CatalogLine>> {
        self.fetch_all(
            "SELECT * FROM catalog_lines WHERE project_id = $1 AND name > coalesce($2, '') ORDER BY name LIMIT $3",
            &[text(project), text_or_null(after), int(limit)],
            read_line,
        )
        .await
    }

    /// How many lines a project has.
    pub async fn count_catalog_lines(&mut self, project: ProjectId) -> Result<u32> {
        let query = "SELECT count(*) AS n FROM catalog_lines WHERE project_id = $1";
        let count = self.fetch_optional(query, &[text(project)], |row| row.int("n")).await?;
        Ok(count.unwrap_or(0))
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

    /// Revisions of a line, newest first, `limit` of them before `before`.
    pub async fn list_catalog_revisions(
        &mut self,
        project: ProjectId,
        line: &LineName,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Vec<CatalogRevision>> {
        self.fetch_all(
            "SELECT * FROM catalog_revisions WHERE project_id = $1 AND line = $2 \
             AND ($3 IS NULL OR revision < $3) ORDER BY revision DESC LIMIT $4",
            &[text(project), text(line), int_or_null(before), int(limit)],
            read_revision,
        )
        .await
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
        let id = revision_record_id(revision.project_id, &revision.line, revision.revision);
        self.enter_into_log(LogRecordKind::CatalogRevision, id, revision.envelope.as_bytes()).await
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

    /// The revision with this digest; the digest is over project, line and number too.
    pub async fn catalog_revision_by_digest(&mut self, digest: Sha256Digest) -> Result<Option<CatalogRevision>> {
        self.fetch_optional("SELECT * FROM catalog_revisions WHERE sha256 = $1", &[text(digest)], read_revision).await
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

    /// The signed receipts, reviews and decisions behind every entry that a line ever had up to `revision`, and behind
    /// those that were retired or invalidated by then: each with its id, once.
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
             UNION ALL SELECT id, envelope FROM decisions WHERE approval_id IN (SELECT approval_id FROM entries \
             UNION SELECT id FROM approvals WHERE project_id = $1 AND line = $2 AND consumed_revision <= $3)",
            &[text(project), text(line), int(revision)],
            |row| Ok((row.text("id")?, row.text("envelope")?)),
        )
        .await
    }
}
