//! The tables of the queue. They must stay apart from ours: both have migrations of their own.

use apalis_postgres::PostgresStorage;
use apalis_sqlite::SqliteStorage;
use pinhole_core::{Error, Result};
use pinhole_store::{Pools, Store};
use sqlx::migrate::MigrateError;

/// How often migrations that met another process's are begun again.
const MAX_AGAIN: u32 = 10;

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
            // As for the store's own: whoever comes second finds what the first made, for each migration anew.
            let mut outcome = migrations.run(pool).await;
            for _ in 0..MAX_AGAIN {
                if !matches!(outcome, Err(MigrateError::Execute(_) | MigrateError::ExecuteMigration(..))) {
                    break;
                }
                outcome = migrations.run(pool).await;
            }
            outcome
        }
        Pools::Postgres(pool) => PostgresStorage::migrations().run(pool).await,
    }
    .map_err(Error::internal)
}
