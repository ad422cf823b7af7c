//! Groups of principals.

use pinhole_core::{GroupId, Name, PrincipalId, Result, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, text, time},
};

/// A group of principals.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its id.
    pub id: GroupId,
    /// Its name; unique.
    pub name: Name,
    /// Counts changes of its members.
    pub version: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Group> {
    Ok(Group {
        id: row.parse("id")?,
        name: row.parse("name")?,
        version: row.int("version")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a group; `conflict` when the name is taken.
    pub async fn insert_group(&mut self, group: &Group) -> Result<()> {
        let Group { id, name, version, created_at } = group;
        self.execute(
            "INSERT INTO groups (id, name, version, created_at) VALUES ($1, $2, $3, $4)",
            &[text(id), text(name), int(*version), time(*created_at)],
        )
        .await?;
        Ok(())
    }

    /// The group with this id.
    pub async fn group(&mut self, id: GroupId) -> Result<Option<Group>> {
        self.fetch_optional("SELECT * FROM groups WHERE id = $1", &[text(id)], read).await
    }

    /// The group with this name.
    pub async fn group_by_name(&mut self, name: &Name) -> Result<Option<Group>> {
        self.fetch_optional("SELECT * FROM groups WHERE name = $1", &[text(name)], read).await
    }

    /// Groups in the order of their names, from after `after`.
    pub async fn list_groups(&mut self, after: Option<&Name>, limit: u32) -> Result<Vec<Group>> {
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.fetch_all("SELECT * FROM groups WHERE name > $1 ORDER BY name LIMIT $2", &[text(after), int(limit)], read)
            .await
    }

    /// Replaces the members of a group and counts its version up.
    pub async fn put_group_members(&mut self, id: GroupId, members: &[PrincipalId]) -> Result<()> {
        self.execute("DELETE FROM group_members WHERE group_id = $1", &[text(id)]).await?;
        for member in members {
            self.insert_member(id, *member).await?;
        }
        self.count_group_version_up(id).await
    }

    /// Adds a member and counts the group's version up; false, and nothing changed, when it was one.
    pub async fn add_group_member(&mut self, id: GroupId, member: PrincipalId) -> Result<bool> {
        let is_new = self.insert_member(id, member).await?;
        if is_new {
            self.count_group_version_up(id).await?;
        }
        Ok(is_new)
    }

    /// Removes a member and counts the group's version up; false, and nothing changed, when it was none.
    pub async fn remove_group_member(&mut self, id: GroupId, member: PrincipalId) -> Result<bool> {
        let changed = self
            .execute("DELETE FROM group_members WHERE group_id = $1 AND principal_id = $2", &[text(id), text(member)])
            .await?;
        if changed == 1 {
            self.count_group_version_up(id).await?;
        }
        Ok(changed == 1)
    }

    async fn insert_member(&mut self, id: GroupId, member: PrincipalId) -> Result<bool> {
        let changed = self
            .execute(
                "INSERT INTO group_members (group_id, principal_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                &[text(id), text(member)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Whoever saw the members before does not replace them by what they saw.
    async fn count_group_version_up(&mut self, id: GroupId) -> Result<()> {
        self.execute("UPDATE groups SET version = version + 1 WHERE id = $1", &[text(id)]).await?;
        Ok(())
    }

    /// The members of a group, at most 1000.
    pub async fn group_members(&mut self, id: GroupId) -> Result<Vec<PrincipalId>> {
        self.fetch_all(
            "SELECT principal_id FROM group_members WHERE group_id = $1 ORDER BY principal_id LIMIT 1000",
            &[text(id)],
            |row| row.parse("principal_id"),
        )
        .await
    }

    /// The groups that a principal is in, in the order of their names, at most 200.
    pub async fn groups_of(&mut self, principal: PrincipalId) -> Result<Vec<Group>> {
        self.fetch_all(
            "SELECT groups.* FROM groups JOIN group_members ON group_members.group_id = groups.id \
             WHERE group_members.principal_id = $1 ORDER BY groups.name LIMIT 200",
            &[text(principal)],
            read,
        )
        .await
    }
}
