//! Roles of principals and groups in projects.

use pinhole_core::{EnvironmentId, PrincipalId, ProjectId, Result, Role, Subject};

use crate::{
    Tx,
    row::Row,
    value::{int, text, time},
};

/// A role of a principal or a group in a project or in one environment of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whose.
    pub subject: Subject,
    /// Where.
    pub project_id: ProjectId,
    /// Only in this environment, or in the whole project.
    pub environment_id: Option<EnvironmentId>,
    /// What.
    pub role: Role,
}

fn read(row: &Row) -> Result<Grant> {
    let environment = row.text("environment_id")?;
    Ok(Grant {
        subject: row.parse("subject_id")?,
        project_id: row.parse("project_id")?,
        environment_id: if environment.is_empty() { None } else { Some(row.parse("environment_id")?) },
        role: row.parse("role")?,
    })
}

/// The text by which grants are ordered.
fn place_of(grant: &Grant) -> String {
    let environment = grant.environment_id.map(|id| id.to_string()).unwrap_or_default();
    format!("{}/{environment}/{}", grant.subject, grant.role)
}

impl Tx {
    /// Adds a grant; the same one again changes nothing.
    pub async fn insert_grant(&mut self, grant: &Grant) -> Result<()> {
        let now = self.now();
        let Grant { subject, project_id, environment_id, role } = grant;
        let environment = environment_id.map(|id| id.to_string()).unwrap_or_default();
        self.execute(
            "INSERT INTO grants (subject_id, project_id, environment_id, role, created_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            &[text(subject), text(project_id), text(environment), text(role), time(now)],
        )
        .await?;
        Ok(())
    }

    /// Removes a grant; false when there was none.
    pub async fn delete_grant(&mut self, grant: &Grant) -> Result<bool> {
        let Grant { subject, project_id, environment_id, role } = grant;
        let environment = environment_id.map(|id| id.to_string()).unwrap_or_default();
        let changed = self
            .execute(
                "DELETE FROM grants \
                 WHERE subject_id = $1 AND project_id = $2 AND environment_id = $3 AND role = $4",
                &[text(subject), text(project_id), text(environment), text(role)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Every grant in a project of a principal or of a group that it is in, at most 500.
    pub async fn grants_in(&mut self, principal: PrincipalId, project: ProjectId) -> Result<Vec<Grant>> {
        self.fetch_all(
            "SELECT * FROM grants WHERE project_id = $2 AND (subject_id = $1 OR subject_id IN \
             (SELECT group_id FROM group_members WHERE principal_id = $1)) LIMIT 500",
            &[text(principal), text(project)],
            read,
        )
        .await
    }

    /// Every grant in a project, ordered by subject, environment and role, from after the one of `after`.
    pub async fn list_grants(&mut self, project: ProjectId, after: Option<&Grant>, limit: u32) -> Result<Vec<Grant>> {
        let place = after.map_or_else(String::new, place_of);
        self.fetch_all(
            "SELECT * FROM grants WHERE project_id = $1 AND subject_id || '/' || environment_id || '/' || role > $2 \
             ORDER BY subject_id || '/' || environment_id || '/' || role LIMIT $3",
            &[text(project), text(place), int(limit)],
            read,
        )
        .await
    }

    /// Every role that a principal holds anywhere, by itself or in a group.
    pub async fn roles_of(&mut self, principal: PrincipalId) -> Result<Vec<Role>> {
        self.fetch_all(
            "SELECT DISTINCT role FROM grants WHERE subject_id = $1 OR subject_id IN \
             (SELECT group_id FROM group_members WHERE principal_id = $1)",
            &[text(principal)],
            |row| row.parse("role"),
        )
        .await
    }

    /// Whether anybody that is not disabled owns the whole project, by itself or in a group.
    pub async fn has_owner(&mut self, project: ProjectId) -> Result<bool> {
        let found: Option<PrincipalId> = self
            .fetch_optional(
                "SELECT id FROM principals WHERE disabled_at IS NULL AND (id IN (SELECT subject_id FROM grants \
                 WHERE project_id = $1 AND role = 'owner' AND environment_id = '') \
                 OR id IN (SELECT m.principal_id FROM group_members AS m \
                 JOIN grants ON grants.subject_id = m.group_id \
                 WHERE grants.project_id = $1 AND grants.role = 'owner' AND grants.environment_id = '')) LIMIT 1",
                &[text(project)],
                |row| row.parse("id"),
            )
            .await?;
        Ok(found.is_some())
    }

    /// How many users that may sign in hold `role` in a project or in any environment of it, by themselves or in a
    /// group.
    pub async fn count_users_with_role(&mut self, project: ProjectId, role: Role) -> Result<u32> {
        let count = self
            .fetch_optional(
                "SELECT count(*) AS n FROM principals WHERE class = 'user' AND disabled_at IS NULL AND (\
                 id IN (SELECT subject_id FROM grants WHERE project_id = $1 AND role = $2) \
                 OR id IN (SELECT m.principal_id FROM group_members AS m \
                 JOIN grants ON grants.subject_id = m.group_id WHERE grants.project_id = $1 AND grants.role = $2))",
                &[text(project), text(role)],
                |row| row.int("n"),
            )
            .await?;
        Ok(count.unwrap_or(0))
    }
}
