//! Secrets of environments, sealed. What a secret is in the clear, this crate never sees.

use pinhole_core::{EnvironmentId, PrincipalId, Result, SecretName, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time},
};

/// A secret of an environment at its present version.
#[derive(Clone, Debug)]
pub struct EnvironmentSecret {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// Its name.
    pub name: SecretName,
    /// Counts changes, from 1; it goes on after a deletion.
    pub version: u32,
    /// The sealed value; `None` once it is deleted.
    pub sealed: Option<String>,
    /// Who put or deleted it.
    pub changed_by: PrincipalId,
    /// When.
    pub changed_at: Timestamp,
}

fn read(row: &Row) -> Result<EnvironmentSecret> {
    Ok(EnvironmentSecret {
        environment_id: row.parse("environment_id")?,
        name: row.parse("name")?,
        version: row.int("version")?,
        sealed: row.text_or_null("sealed")?,
        changed_by: row.parse("changed_by")?,
        changed_at: row.time("changed_at")?,
    })
}

impl Tx {
    /// Adds a secret, or replaces the version before.
    pub async fn put_environment_secret(&mut self, secret: &EnvironmentSecret) -> Result<()> {
        let EnvironmentSecret { environment_id, name, version, sealed, changed_by, changed_at } = secret;
        self.execute(
            "INSERT INTO environment_secrets (environment_id, name, version, sealed, changed_by, changed_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (environment_id, name) DO UPDATE SET \
             version = excluded.version, sealed = excluded.sealed, changed_by = excluded.changed_by, \
             changed_at = excluded.changed_at",
            &[
                text(environment_id),
                text(name),
                int(*version),
                text_or_null(sealed.as_deref()),
                text(changed_by),
                time(*changed_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The secret of this name, deleted or not.
    pub async fn environment_secret(
        &mut self,
        environment: EnvironmentId,
        name: &SecretName,
    ) -> Result<Option<EnvironmentSecret>> {
        self.fetch_optional(
            "SELECT * FROM environment_secrets WHERE environment_id = $1 AND name = $2",
            &[text(environment), text(name)],
            read,
        )
        .await
    }

    /// Every secret of an environment that was not deleted, by name.
    pub async fn list_environment_secrets(&mut self, environment: EnvironmentId) -> Result<Vec<EnvironmentSecret>> {
        let sql = "SELECT * FROM environment_secrets WHERE environment_id = $1 AND sealed IS NOT NULL ORDER BY name";
        self.fetch_all(sql, &[text(environment)], read).await
    }

    /// How many names of secrets an environment has ever had.
    pub async fn count_environment_secrets(&mut self, environment: EnvironmentId) -> Result<u32> {
        let sql = "SELECT count(*) AS n FROM environment_secrets WHERE environment_id = $1";
        let count = self.fetch_optional(sql, &[text(environment)], |row| row.int("n")).await?;
        Ok(count.unwrap_or(0))
    }

    /// At most `limit` secrets whose sealed text does not begin with `prefix`, which holds neither `%` nor `_`.
    pub async fn secrets_sealed_otherwise(&mut self, prefix: &str, limit: u32) -> Result<Vec<EnvironmentSecret>> {
        self.fetch_all(
            "SELECT * FROM environment_secrets WHERE sealed IS NOT NULL AND sealed NOT LIKE $1 || '%' \
             ORDER BY environment_id, name LIMIT $2",
            &[text(prefix), int(limit)],
            read,
        )
        .await
    }

    /// Stores the same version sealed anew.
    pub async fn reseal_environment_secret(
        &mut self,
        environment: EnvironmentId,
        name: &SecretName,
        sealed: &str,
    ) -> Result<()> {
        self.execute(
            "UPDATE environment_secrets SET sealed = $3 WHERE environment_id = $1 AND name = $2",
            &[text(environment), text(name), text(sealed)],
        )
        .await?;
        Ok(())
    }

    /// Whether any secret is stored, of an environment, a webhook or a remote, which only the key that sealed it opens.
    pub async fn has_sealed_secrets(&mut self) -> Result<bool> {
        let sql = "SELECT 1 AS one FROM environment_secrets WHERE sealed IS NOT NULL \
                   UNION ALL SELECT 1 AS one FROM remotes WHERE credential IS NOT NULL \
                   UNION ALL SELECT 1 AS one FROM automations WHERE secrets IS NOT NULL AND deleted_at IS NULL LIMIT 1";
        Ok(self.fetch_optional(sql, &[], |_| Ok(())).await?.is_some())
    }
}
