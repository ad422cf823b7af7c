//! Scenarios and their immutable revisions.

use pinhole_core::{Blake3Digest, PrincipalId, ProjectId, Result, ScenarioId, Sha256Digest, Slug, Timestamp, Title};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time},
};

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its id.
    pub id: ScenarioId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its name in URLs.
    pub slug: Slug,
    /// The present revision.
    pub head_digest: Blake3Digest,
    /// Counts moves of the head, from 1.
    pub version: u32,
    /// Since when no run may start.
    pub archived_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// One revision of a scenario. Never changes.
#[derive(Clone, Debug)]
pub struct ScenarioRevision {
    /// The scenario.
    pub scenario_id: ScenarioId,
    /// BLAKE3 of `canonical`: the revision's identity.
    pub digest: Blake3Digest,
    /// SHA-256 of `canonical`.
    pub sha256: Sha256Digest,
    /// Its title, as `canonical` has it.
    pub title: Title,
    /// Canonical JSON.
    pub canonical: String,
    /// Where it came from: `editor`, `agent` or `import`.
    pub origin: String,
    /// Who submitted it.
    pub created_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Scenario> {
    Ok(Scenario {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        slug: row.parse("slug")?,
        head_digest: row.parse("head_digest")?,
        version: row.int("version")?,
        archived_at: row.time_or_null("archived_at")?,
        created_at: row.time("created_at")?,
    })
}

fn read_revision(row: &Row) -> Result<ScenarioRevision> {
    Ok(ScenarioRevision {
        scenario_id: row.parse("scenario_id")?,
        digest: row.parse("digest")?,
        sha256: row.parse("sha256")?,
        title: row.parse("title")?,
        canonical: row.text("canonical")?,
        origin: row.text("origin")?,
        created_by: row.parse("created_by")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a scenario; `conflict` when the slug is taken within the project.
    pub async fn insert_scenario(&mut self, scenario: &Scenario) -> Result<()> {
        let Scenario { id, project_id, slug, head_digest, version, archived_at: _, created_at } = scenario;
        self.execute(
            "INSERT INTO scenarios (id, project_id, slug, head_digest, version, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
            &[text(id), text(project_id), text(slug), text(head_digest), int(*version), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// Adds a revision; the same one again changes nothing.
    pub async fn insert_scenario_revision(&mut self, revision: &ScenarioRevision) -> Result<()> {
        let ScenarioRevision { scenario_id, digest, sha256, title, canonical, origin, created_by, created_at } =
            revision;
        self.execute(
            "INSERT INTO scenario_revisions (scenario_id, digest, sha256, title, canonical, origin, created_by, \
             created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (scenario_id, digest) DO NOTHING",
            &[
                text(scenario_id),
                text(digest),
                text(sha256),
                text(title),
                text(canonical),
                text(origin),
                text(created_by),
                time(*created_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// Moves the head to `digest` when the version is still `expected`; false when it was not.
    pub async fn advance_scenario(&mut self, id: ScenarioId, expected: u32, digest: Blake3Digest) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE scenarios SET head_digest = $3, version = version + 1 WHERE id = $1 AND version = $2",
                &[text(id), int(expected), text(digest)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Archives a scenario when the version is still `expected` and it is not archived; false otherwise.
    pub async fn archive_scenario(&mut self, id: ScenarioId, expected: u32) -> Result<bool> {
        let now = self.now();
        let changed = self
            .execute(
                "UPDATE scenarios SET archived_at = $3, version = version + 1 \
                 WHERE id = $1 AND version = $2 AND archived_at IS NULL",
                &[text(id), int(expected), time(now)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Scenarios of a project with the titles of their heads, by slug, `limit` of them after `after`.
    pub async fn list_scenarios(
        &mut self,
        project: ProjectId,
        after: Option<&Slug>,
        limit: u32,
    ) -> Result<Vec<(Scenario, Title)>> {
        self.fetch_all(
            "SELECT scenarios.*, title FROM scenarios JOIN scenario_revisions \
             ON scenario_id = scenarios.id AND digest = head_digest \
             WHERE project_id = $1 AND slug > coalesce($2, '') ORDER BY slug LIMIT $3",
            &[text(project), text_or_null(after), int(limit)],
            |row| Ok((read(row)?, row.parse("title")?)),
        )
        .await
    }

    /// The scenario with this slug in the project.
    pub async fn scenario_by_slug(&mut self, project: ProjectId, slug: &Slug) -> Result<Option<Scenario>> {
        self.fetch_optional(
            "SELECT * FROM scenarios WHERE project_id = $1 AND slug = $2",
            &[text(project), text(slug)],
            read,
        )
        .await
    }

    /// The scenario with this id.
    pub async fn scenario(&mut self, id: ScenarioId) -> Result<Option<Scenario>> {
        self.fetch_optional("SELECT * FROM scenarios WHERE id = $1", &[text(id)], read).await
    }

    /// One revision of a scenario.
    pub async fn scenario_revision(
        &mut self,
        id: ScenarioId,
        digest: Blake3Digest,
    ) -> Result<Option<ScenarioRevision>> {
        self.fetch_optional(
            "SELECT * FROM scenario_revisions WHERE scenario_id = $1 AND digest = $2",
            &[text(id), text(digest)],
            read_revision,
        )
        .await
    }
}
