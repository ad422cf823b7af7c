//! Artifacts: rows about bytes that the server has hashed and stored itself.

use pinhole_core::{ArtifactRef, CellId, ProjectId, Result, RunId, Slug, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time},
};

/// An artifact.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// Its id, kind, size and digests.
    pub reference: ArtifactRef,
    /// Its project.
    pub project_id: ProjectId,
    /// Its run.
    pub run_id: RunId,
    /// Its cell.
    pub cell_id: CellId,
    /// The attempt that it came from.
    pub attempt: u32,
    /// The checkpoint that it belongs to, if to one.
    pub checkpoint: Option<Slug>,
    /// When it was registered.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Artifact> {
    Ok(Artifact {
        reference: ArtifactRef {
            id: row.parse("id")?,
            kind: row.parse("kind")?,
            size_bytes: row.int("size_bytes")?,
            sha256: row.parse("sha256")?,
            blake3: row.parse("blake3")?,
        },
        project_id: row.parse("project_id")?,
        run_id: row.parse("run_id")?,
        cell_id: row.parse("cell_id")?,
        attempt: row.int("attempt")?,
        checkpoint: row.parse_or_null("checkpoint")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds an artifact.
    pub async fn insert_artifact(&mut self, artifact: &Artifact) -> Result<()> {
        let Artifact { reference, project_id, run_id, cell_id, attempt, checkpoint, created_at } = artifact;
        let size = i64::try_from(reference.size_bytes).map_err(pinhole_core::Error::internal)?;
        self.execute(
            "INSERT INTO artifacts (id, project_id, run_id, cell_id, attempt, kind, checkpoint, size_bytes, sha256, \
             blake3, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            &[
                text(reference.id),
                text(project_id),
                text(run_id),
                text(cell_id),
                int(*attempt),
                text(reference.kind),
                text_or_null(checkpoint.as_ref()),
                int(size),
                text(reference.sha256),
                text(reference.blake3),
                time(*created_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The artifact with this id.
    pub async fn artifact(&mut self, id: pinhole_core::ArtifactId) -> Result<Option<Artifact>> {
        self.fetch_optional("SELECT * FROM artifacts WHERE id = $1", &[text(id)], read).await
    }

    /// The artifacts of a run in the order of their registration, at most 5000 (a scenario bounds them below that).
    pub async fn artifacts_of(&mut self, run: RunId) -> Result<Vec<Artifact>> {
        self.fetch_all("SELECT * FROM artifacts WHERE run_id = $1 ORDER BY id LIMIT 5000", &[text(run)], read).await
    }
}
