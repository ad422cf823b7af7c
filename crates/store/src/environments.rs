//! Environments and their immutable revisions.

use pinhole_core::{EnvironmentId, HostPattern, PrincipalId, ProjectId, Result, Sha256Digest, Slug, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time},
};

/// An environment.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Its id.
    pub id: EnvironmentId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its name in URLs.
    pub slug: Slug,
    /// Number of the latest revision, from 1.
    pub head_revision: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

/// One revision of an environment. Never changes.
#[derive(Clone, Debug)]
pub struct EnvironmentRevision {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// From 1.
    pub revision: u32,
    /// Canonical JSON.
    pub document: String,
    /// SHA-256 of `document`.
    pub sha256: Sha256Digest,
    /// Who made it.
    pub created_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Environment> {
    Ok(Environment {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        slug: row.parse("slug")?,
        head_revision: row.int("head_revision")?,
        created_at: row.time("created_at")?,
    })
}

fn read_revision(row: &Row) -> Result<EnvironmentRevision> {
    Ok(EnvironmentRevision {
        environment_id: row.parse("environment_id")?,
        revision: row.int("revision")?,
        document: row.text("document")?,
        sha256: row.parse("sha256")?,
        created_by: row.parse("created_by")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds an environment; `conflict` when the slug is taken within the project.
    pub async fn insert_environment(&mut self, environment: &Environment) -> Result<()> {
        let Environment { id, project_id, slug, head_revision, created_at } = environment;
        self.execute(
            "INSERT INTO environments (id, project_id, slug, head_revision, created_at) VALUES ($1, $2, $3, $4, $5)",
            &[text(id), text(project_id), text(slug), int(*head_revision), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// Adds a revision.
    pub async fn insert_environment_revision(&mut self, revision: &EnvironmentRevision) -> Result<()> {
        let EnvironmentRevision { environment_id, revision, document, sha256, created_by, created_at } = revision;
        self.execute(
            "INSERT INTO environment_revisions (environment_id, revision, document, sha256, created_by, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
            &[text(environment_id), int(*revision), text(document), text(sha256), text(created_by), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// Moves the head from `expected` to the next revision; false when it was elsewhere.
    pub async fn advance_environment(&mut self, id: EnvironmentId, expected: u32) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE environments SET head_revision = head_revision + 1 WHERE id = $1 AND head_revision = $2",
                &[text(id), int(expected)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// The environment with this slug in the project.
    pub async fn environment_by_slug(&mut self, project: ProjectId, slug: &Slug) -> Result<Option<Environment>> {
        self.fetch_optional(
            "SELECT * FROM environments WHERE project_id = $1 AND slug = $2",
            &[text(project), text(slug)],
            read,
        )
        .await
    }

    /// The environment with this id.
    pub async fn environment(&mut self, id: EnvironmentId) -> Result<Option<Environment>> {
        self.fetch_optional("SELECT * FROM environments WHERE id = $1", &[text(id)], read).await
    }

    /// One revision of an environment.
    pub async fn environment_revision(
        &mut self,
        id: EnvironmentId,
        revision: u32,
    ) -> Result<Option<EnvironmentRevision>> {
        self.fetch_optional(
            "SELECT * FROM environment_revisions WHERE environment_id = $1 AND revision = $2",
            &[text(id), int(revision)],
            read_revision,
        )
        .await
    }

    /// Environments of a project in the order in which they were made, from after `after`; only those in `visible`
    /// when it is given.
    pub async fn list_environments(
        &mut self,
        project: ProjectId,
        visible: Option<&[EnvironmentId]>,
        after: Option<EnvironmentId>,
        limit: u32,
    ) -> Result<Vec<Environment>> {
        // They travel as one text, each between slashes, so that the statement stays fixed.
        let list = visible.map(|ids| ids.iter().map(|id| format!("/{id}/")).collect::<String>());
        self.fetch_all(
            "SELECT * FROM environments WHERE project_id = $1 AND coalesce($2, '/' || id || '/') LIKE ('%/' || id || '/%') \
             AND ($3 IS NULL OR id > $3) ORDER BY id LIMIT $4",
            &[text(project), text_or_null(list), text_or_null(after), int(limit)],
            read,
        )
        .await
    }

    /// Approves a pattern for one revision; again it changes nothing.
    pub async fn approve_host_pattern(
        &mut self,
        id: EnvironmentId,
        revision: u32,
        pattern: &HostPattern,
        by: PrincipalId,
    ) -> Result<()> {
        let now = self.now();
        self.execute(
            "INSERT INTO approved_host_patterns (environment_id, revision, pattern, approved_by, approved_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            &[text(id), int(revision), text(pattern), text(by), time(now)],
        )
        .await?;
        Ok(())
    }

    /// The patterns that were approved for one revision, which holds no more than it asks for.
    pub async fn approved_host_patterns(&mut self, id: EnvironmentId, revision: u32) -> Result<Vec<HostPattern>> {
        self.fetch_all(
            "SELECT pattern FROM approved_host_patterns WHERE environment_id = $1 AND revision = $2 ORDER BY pattern",
            &[text(id), int(revision)],
            |row| row.parse("pattern"),
        )
        .await
    }
}
