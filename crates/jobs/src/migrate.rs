//! The tables of the queue. They must stay apart from ours: both have migrations of their own.

use apalis_postgres::PostgresStorage;
use apalis_sqlite::SqliteStorage;
use pinhole_core::{Error, Result};
use pinhole_store::{Pools, Store};
use sqlx::migrate::MigrateError;

/// Brings the tables of the queue to this version; does nothing when they are there.
///
/// On PostgreSQL they are in a schema `apalis`, with the record of what was applied. The user has to own the database
/// or be allowed to create the extensions hstore and pgcrypto, which every owner is since version 13.
///
/// # Errors
/// `internal` when a migration fails.
pub async fn migrate(store: &Store) -> Result<()> {
    match store.pools() {
        Pools::Sqlite(pool) => {
            // `SqliteStorage::setup` would switch off syncing, and would use the table in which our migrations are.
            let mut migrations = SqliteStorage::migrations();
            migrations.dangerous_set_table_name("_apalis_migrations");
            match migrations.run(pool).await {
                // As for the store's own: whoever comes second finds the tables of the first, and nothing left to do.
                Err(MigrateError::ExecuteMigration(..)) => migrations.run(pool).await,
                outcome => outcome,
            }
        }
        Pools::Postgres(pool) => PostgresStorage::migrations().run(pool).await,
    }
    .map_err(Error::internal)
}
