//! Users and services.

use pinhole_core::{Name, PrincipalClass, PrincipalId, Result, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time, time_or_null},
};

/// A user or a service.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Its id.
    pub id: PrincipalId,
    /// A person or a program.
    pub class: PrincipalClass,
    /// Its publication name; unique.
    pub name: Name,
    /// Since when it administers the installation.
    pub admin_since: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it may not sign in any more.
    pub disabled_at: Option<Timestamp>,
    /// The user who answers for a service.
    pub owner_id: Option<PrincipalId>,
}

fn read(row: &Row) -> Result<Principal> {
    Ok(Principal {
        id: row.parse("id")?,
        class: row.parse("class")?,
        name: row.parse("name")?,
        admin_since: row.time_or_null("admin_since")?,
        created_at: row.time("created_at")?,
        disabled_at: row.time_or_null("disabled_at")?,
        owner_id: row.parse_or_null("owner_id")?,
    })
}

impl Tx {
    /// Adds a principal; `conflict` when the name is taken.
    pub async fn insert_principal(&mut self, principal: &Principal) -> Result<()> {
        let Principal { id, class, name, admin_since, created_at, disabled_at, owner_id } = principal;
        self.execute(
            "INSERT INTO principals (id, class, name, admin_since, created_at, disabled_at, owner_id) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                text(id),
                text(class),
                text(name),
                time_or_null(*admin_since),
                time(*created_at),
                time_or_null(*disabled_at),
                text_or_null(*owner_id),
            ],
        )
        .await?;
        Ok(())
    }

    /// The principal with this id.
    pub async fn principal(&mut self, id: PrincipalId) -> Result<Option<Principal>> {
        self.fetch_optional("SELECT * FROM principals WHERE id = $1", &[text(id)], read).await
    }

    /// The principal with this name.
    pub async fn principal_by_name(&mut self, name: &Name) -> Result<Option<Principal>> {
        self.fetch_optional("SELECT * FROM principals WHERE name = $1", &[text(name)], read).await
    }

    /// Principals in the order of their names, from after `after`.
    pub async fn list_principals(&mut self, after: Option<&Name>, limit: u32) -> Result<Vec<Principal>> {
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.fetch_all(
            "SELECT * FROM principals WHERE name > $1 ORDER BY name LIMIT $2",
            &[text(after), int(limit)],
            read,
        )
        .await
    }

    /// Whether anybody administers the installation who has a way in: a password, an identity or a token, and is not
    /// disabled.
    pub async fn has_administrator(&mut self) -> Result<bool> {
        let query = "SELECT id FROM principals WHERE admin_since IS NOT NULL AND disabled_at IS NULL AND (\
                     id IN (SELECT principal_id FROM passwords) OR id IN (SELECT principal_id FROM identities) \
                     OR EXISTS (SELECT 1 FROM tokens WHERE principal_id = principals.id AND revoked_at IS NULL)) LIMIT 1";
        let found: Option<PrincipalId> = self.fetch_optional(query, &[], |row| row.parse("id")).await?;
        Ok(found.is_some())
    }

    /// Keeps a principal from signing in, or lets it again.
    pub async fn set_principal_disabled(&mut self, id: PrincipalId, disabled_at: Option<Timestamp>) -> Result<()> {
        self.execute("UPDATE principals SET disabled_at = $2 WHERE id = $1", &[text(id), time_or_null(disabled_at)])
            .await?;
        Ok(())
    }

    /// Says who answers for a service.
    pub async fn set_principal_owner(&mut self, id: PrincipalId, owner: PrincipalId) -> Result<()> {
        self.execute("UPDATE principals SET owner_id = $2 WHERE id = $1", &[text(id), text(owner)]).await?;
        Ok(())
    }

    /// Makes a principal an administrator of the installation, or none any more.
    pub async fn set_principal_admin(&mut self, id: PrincipalId, admin_since: Option<Timestamp>) -> Result<()> {
        self.execute("UPDATE principals SET admin_since = $2 WHERE id = $1", &[text(id), time_or_null(admin_since)])
            .await?;
        Ok(())
    }
}
