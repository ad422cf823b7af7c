//! Migrations: the same file names in `migrations/sqlite` and `migrations/postgres`. An applied file never changes.

use pinhole_core::{Error, Result};
use sqlx::{
    SqlitePool,
    migrate::{MigrateError, Migrator},
};

use crate::{Pools, Store, database_error};

static SQLITE: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("../../migrations/postgres");

impl Store {
    /// Brings the schema to this version; does nothing when it is there.
    ///
    /// # Errors
    /// `conflict` when the database was migrated by a newer version.
    pub async fn migrate(&self) -> Result<()> {
        match self.pools() {
            Pools::Sqlite(pool) => migrate_sqlite(pool).await,
            Pools::Postgres(pool) => POSTGRES.run(pool).await,
        }
        .map_err(|e| match e {
            MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..) => newer_schema().with_source(e),
            other => Error::internal(other),
        })
    }

    /// Says so when the schema is not at this version, which otherwise every statement would in words of its own.
    ///
    /// # Errors
    /// `conflict` when the schema is missing, older or newer.
    pub async fn check_schema(&self) -> Result<()> {
        const APPLIED: &str = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success";
        let (applied, ours) = match self.pools() {
            Pools::Sqlite(pool) => (sqlx::query_scalar::<_, i64>(APPLIED).fetch_one(pool).await, &SQLITE),
            Pools::Postgres(pool) => (sqlx::query_scalar::<_, i64>(APPLIED).fetch_one(pool).await, &POSTGRES),
        };
        let applied = match applied {
            Ok(applied) => applied,
            // No such table: the first migration makes it. Both codes mean it, that of SQLite among others.
            Err(sqlx::Error::Database(error)) if matches!(error.code().as_deref(), Some("42P01" | "1")) => 0,
            Err(error) => return Err(database_error(error)),
        };
        let ours = ours.iter().map(|migration| migration.version).max().unwrap_or(0);
        if applied == ours {
            return Ok(());
        }
        if applied > ours {
            return Err(newer_schema());
        }
        Err(Error::conflict(
            "schema_version",
            format!(
                "the database has schema version {applied} and this program needs {ours}: run `pinhole serve --migrate`"
            ),
        ))
    }
}

/// Without a lock around it, the loser of two that begin at once finds the winner's tables. By then those are committed,
/// and another look has one file less to apply; it can lose once for each file.
async fn migrate_sqlite(pool: &SqlitePool) -> Result<(), MigrateError> {
    let mut outcome = SQLITE.run(pool).await;
    for _ in SQLITE.iter() {
        let lost = matches!(outcome, Err(MigrateError::Execute(_) | MigrateError::ExecuteMigration(..)));
        if !lost {
            break;
        }
        outcome = SQLITE.run(pool).await;
    }
    outcome
}

fn newer_schema() -> Error {
    Error::conflict(
        "newer_schema",
        "the database was migrated by a newer version of Pinhole: run that version or restore a backup",
    )
}
