//! Migrations: the same file names in `migrations/sqlite` and `migrations/postgres`. An applied file never changes.

use pinhole_core::{Error, Result};
use sqlx::migrate::{MigrateError, Migrator};

use crate::{Pools, Store};

static SQLITE: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("../../migrations/postgres");

impl Store {
    /// Brings the schema to this version; does nothing when it is there.
    ///
    /// # Errors
    /// `conflict` when the database was migrated by a newer version.
    pub async fn migrate(&self) -> Result<()> {
        match self.pools() {
            Pools::Sqlite(pool) => SQLITE.run(pool).await,
            Pools::Postgres(pool) => POSTGRES.run(pool).await,
        }
        .map_err(|e| match e {
            MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..) => Error::conflict(
                "newer_schema",
                "the database was migrated by a newer version of Pinhole: run that version or restore a backup",
            )
            .with_source(e),
            other => Error::internal(other),
        })
    }
}
