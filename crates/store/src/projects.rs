//! Projects.

use pinhole_core::{PrincipalId, ProjectId, Result, Slug, Timestamp, Title};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time},
};

/// A project.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Its name in URLs.
    pub slug: Slug,
    /// Its name for people.
    pub title: Title,
    /// Who made it.
    pub created_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Project> {
    Ok(Project {
        id: row.parse("id")?,
        slug: row.parse("slug")?,
        title: row.parse("title")?,
        created_by: row.parse("created_by")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a project; `conflict` when the slug is taken.
    pub async fn insert_project(&mut self, project: &Project) -> Result<()> {
        let Project { id, slug, title, created_by, created_at } = project;
        self.execute(
            "INSERT INTO projects (id, slug, title, created_by, created_at) VALUES ($1, $2, $3, $4, $5)",
            &[text(id), text(slug), text(title), text(created_by), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// The project with this slug.
    pub async fn project_by_slug(&mut self, slug: &Slug) -> Result<Option<Project>> {
        self.fetch_optional("SELECT * FROM projects WHERE slug = $1", &[text(slug)], read).await
    }

    /// The project with this id.
    pub async fn project(&mut self, id: ProjectId) -> Result<Option<Project>> {
        self.fetch_optional("SELECT * FROM projects WHERE id = $1", &[text(id)], read).await
    }

    /// Projects in which a principal, or a group that it is in, holds any role, in the order in which they were made,
    /// from after `after`.
    pub async fn list_projects(
        &mut self,
        principal: PrincipalId,
        after: Option<ProjectId>,
        limit: u32,
    ) -> Result<Vec<Project>> {
        self.fetch_all(
            "SELECT * FROM projects WHERE ($2 IS NULL OR id > $2) AND id IN (SELECT project_id FROM grants \
             WHERE subject_id = $1 OR subject_id IN (SELECT group_id FROM group_members WHERE principal_id = $1)) \
             ORDER BY id LIMIT $3",
            &[text(principal), text_or_null(after), int(limit)],
            read,
        )
        .await
    }
}
