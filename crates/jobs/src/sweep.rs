//! Removing what is over. apalis keeps finished rows for ever. It must not touch a row that may still be delivered.

use pinhole_core::Result;
use pinhole_store::{Pools, Store, database_error};

/// Rows that one statement deletes at most; between statements others get their turn at the writer.
const BATCH: i64 = 500;
/// Statements for each table in one sweep at most.
const MAX_BATCHES: usize = 20;

/// Finished jobs an hour after their end; nobody asks for their result.
const SQLITE_JOBS: &str = "DELETE FROM Jobs WHERE rowid IN (SELECT rowid FROM Jobs \
    WHERE status IN ('Done', 'Failed', 'Killed') AND done_at < CAST(strftime('%s', 'now') AS INTEGER) - 3600 LIMIT $1)";
const POSTGRES_JOBS: &str = "DELETE FROM apalis.jobs WHERE id IN (SELECT id FROM apalis.jobs \
    WHERE status IN ('Done', 'Failed', 'Killed') AND done_at < now() - interval '1 hour' LIMIT $1)";

/// Workers that have been silent for an hour and that no job refers to.
const SQLITE_WORKERS: &str = "DELETE FROM Workers WHERE rowid IN (SELECT w.rowid FROM Workers w \
    WHERE w.last_seen < CAST(strftime('%s', 'now') AS INTEGER) - 3600 \
    AND NOT EXISTS (SELECT 1 FROM Jobs j WHERE j.lock_by = w.id) LIMIT $1)";
const POSTGRES_WORKERS: &str = "DELETE FROM apalis.workers WHERE id IN (SELECT w.id FROM apalis.workers w \
    WHERE w.last_seen < now() - interval '1 hour' \
    AND NOT EXISTS (SELECT 1 FROM apalis.jobs j WHERE j.lock_by = w.id) LIMIT $1)";

/// Deletes jobs that ended more than an hour ago and workers that are gone; tells how many rows. Call it every few
/// minutes; one call deletes at most 10,000 rows of each kind.
///
/// # Errors
/// `provider_unavailable` when the database is busy or away; what was deleted stays deleted.
pub async fn sweep_finished(store: &Store) -> Result<u64> {
    let (jobs, workers) = match store.pools() {
        Pools::Sqlite(_) => (SQLITE_JOBS, SQLITE_WORKERS),
        Pools::Postgres(_) => (POSTGRES_JOBS, POSTGRES_WORKERS),
    };
    // Jobs first: they hold on to their workers.
    Ok(delete(store, jobs).await? + delete(store, workers).await?)
}

async fn delete(store: &Store, statement: &'static str) -> Result<u64> {
    let mut deleted = 0;
    for _ in 0..MAX_BATCHES {
        let batch = match store.pools() {
            Pools::Sqlite(pool) => {
                sqlx::query(statement).bind(BATCH).execute(pool).await.map(|done| done.rows_affected())
            }
            Pools::Postgres(pool) => {
                sqlx::query(statement).bind(BATCH).execute(pool).await.map(|done| done.rows_affected())
            }
        }
        .map_err(database_error)?;
        deleted += batch;
        if batch < BATCH.unsigned_abs() {
            break;
        }
    }
    Ok(deleted)
}
