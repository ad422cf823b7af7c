//! Connections and transactions over both databases. A [`Tx`] that is dropped without `commit` changes nothing.

use std::{str::FromStr, sync::Arc, time::Duration};

use pinhole_core::{Clock, Error, Result, Timestamp};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Encode, PgConnection, PgPool, Postgres, Row as _, Sqlite, SqliteConnection,
    SqlitePool, Transaction, Type,
    postgres::{PgConnectOptions, PgPoolOptions},
    query::Query,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{row::Row, value::Value};

/// How long a connection is waited for before the caller is told to try again.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a PostgreSQL transaction may wait for its process between two statements.
const IDLE_IN_TRANSACTION: &str = "10s";

/// A database: SQLite for one machine, PostgreSQL beyond.
#[derive(Clone)]
pub struct Store {
    backend: Backend,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
enum Backend {
    /// One writer connection with a fair queue, and readers apart.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
    },
    Postgres(PgPool),
}

/// The pools, for the job queue that shares them.
pub enum Pools<'a> {
    /// The writer pool.
    Sqlite(&'a SqlitePool),
    /// The pool.
    Postgres(&'a PgPool),
}

/// The connection of a transaction, for the job queue that enqueues within it.
pub enum Connection<'a> {
    /// SQLite.
    Sqlite(&'a mut SqliteConnection),
    /// PostgreSQL.
    Postgres(&'a mut PgConnection),
}

impl Store {
    /// Opens the database at `url`: `sqlite:PATH` (created when missing) or `postgres://…`.
    ///
    /// `clock` gives `tx.now()` on SQLite; PostgreSQL uses its own time.
    ///
    /// # Errors
    /// `invalid_arguments` for another scheme, `provider_unavailable` when the database cannot be reached.
    pub async fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        let unreachable = |e: sqlx::Error| {
            Error::unavailable("database", "the database cannot be opened: check its URL and that it runs")
                .with_source(e)
        };
        let backend = if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url)
                .map_err(|e| Error::invalid("database_url", "expected sqlite:PATH").with_source(e))?
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .foreign_keys(true)
                .busy_timeout(ACQUIRE_TIMEOUT)
                .disable_statement_logging();
            let pool =
                |connections| SqlitePoolOptions::new().max_connections(connections).acquire_timeout(ACQUIRE_TIMEOUT);
            let writer = pool(1).connect_with(options.clone()).await.map_err(unreachable)?;
            let readers = pool(4).connect_lazy_with(options.pragma("query_only", "on"));
            Backend::Sqlite { writer, readers }
        } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let options = PgConnectOptions::from_str(url)
                .map_err(|e| Error::invalid("database_url", "expected postgres://USER@HOST/DATABASE").with_source(e))?
                // A process that was stopped within a transaction would otherwise keep its locks for ever.
                .options([("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION)])
                .disable_statement_logging();
            let pool = PgPoolOptions::new()
                .max_connections(16)
                .acquire_timeout(ACQUIRE_TIMEOUT)
                .after_release(|connection, _| Box::pin(is_between_transactions(connection)));
            Backend::Postgres(pool.connect_with(options).await.map_err(unreachable)?)
        } else {
            return Err(Error::invalid("database_url", "expected sqlite:PATH or postgres://…"));
        };
        Ok(Self { backend, clock })
    }

    /// The pools, for `pinhole-jobs` alone.
    pub fn pools(&self) -> Pools<'_> {
        match &self.backend {
            Backend::Sqlite { writer, .. } => Pools::Sqlite(writer),
            Backend::Postgres(pool) => Pools::Postgres(pool),
        }
    }

    /// Begins a transaction that may write: immediate on SQLite, serializable on PostgreSQL.
    pub async fn begin_write(&self) -> Result<Tx> {
        match &self.backend {
            Backend::Sqlite { writer, .. } => self.begin_sqlite(writer, "BEGIN IMMEDIATE").await,
            Backend::Postgres(pool) => begin_postgres(pool, "BEGIN ISOLATION LEVEL SERIALIZABLE").await,
        }
    }

    /// Begins the transaction of the transparency log's sequencer: immediate on SQLite; on PostgreSQL read committed, where
    /// [`Tx::lock_log`] keeps others out. A serializable one would read what every writer inserts, and so make them fail.
    pub async fn begin_sequencing(&self) -> Result<Tx> {
        match &self.backend {
            Backend::Sqlite { writer, .. } => self.begin_sqlite(writer, "BEGIN IMMEDIATE").await,
            Backend::Postgres(pool) => begin_postgres(pool, "BEGIN ISOLATION LEVEL READ COMMITTED").await,
        }
    }

    /// Begins a transaction that sees one snapshot and writes nothing.
    pub async fn begin_read(&self) -> Result<Tx> {
        match &self.backend {
            Backend::Sqlite { readers, .. } => self.begin_sqlite(readers, "BEGIN DEFERRED").await,
            Backend::Postgres(pool) => begin_postgres(pool, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await,
        }
    }

    /// Closes every connection; later calls fail.
    pub async fn close(&self) {
        match &self.backend {
            Backend::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Backend::Postgres(pool) => pool.close().await,
        }
    }

    async fn begin_sqlite(&self, pool: &SqlitePool, begin: &'static str) -> Result<Tx> {
        let transaction = pool.begin_with(begin).await.map_err(database_error)?;
        Ok(Tx { inner: Inner::Sqlite(transaction), now: self.clock.now() })
    }
}

/// Whether a connection that nobody uses any more may be used again; otherwise the pool closes it.
///
/// A caller that goes away while it waits for its BEGIN, as one whose time is up does, leaves a transaction behind that
/// the driver does not know of. What the next caller did without a transaction of its own would be lost with it.
async fn is_between_transactions(connection: &mut PgConnection) -> sqlx::Result<bool> {
    // Outside of a transaction, a statement alone is one. Only the simple protocol starts both at the same instant.
    let alone = sqlx::raw_sql("SELECT transaction_timestamp() = statement_timestamp()").fetch_one(connection).await?;
    alone.try_get(0)
}

async fn begin_postgres(pool: &PgPool, begin: &'static str) -> Result<Tx> {
    let mut transaction = pool.begin_with(begin).await.map_err(database_error)?;
    let micros: i64 = sqlx::query_scalar("SELECT (extract(epoch FROM now()) * 1000000)::bigint")
        .fetch_one(&mut *transaction)
        .await
        .map_err(database_error)?;
    Ok(Tx { inner: Inner::Postgres(transaction), now: Timestamp::from_micros(micros) })
}

/// One transaction: the only way to read or write rows.
pub struct Tx {
    inner: Inner,
    now: Timestamp,
}

enum Inner {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// A statement with its values, for the database `DB`.
fn bound<'q, DB>(sql: &'static str, values: &'q [Value]) -> Query<'q, DB, DB::Arguments>
where
    DB: sqlx::Database,
    Option<&'q str>: Encode<'q, DB> + Type<DB>,
    Option<i64>: Encode<'q, DB> + Type<DB>,
{
    values.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, value| match value {
        Value::Text(text) => query.bind(text.as_deref()),
        Value::Int(int) => query.bind(*int),
    })
}

/// Tells a listener which statement runs, without its values: that two calls did the same can be seen by it.
fn trace(sql: &'static str) {
    tracing::trace!(target: "pinhole_store::sql", statement = sql);
}

/// Runs one statement with its values on either database; `$body` sees the bound query and the connection.
macro_rules! run {
    ($tx:expr, $sql:expr, $values:expr, |$query:ident, $connection:ident| $body:expr) => {{
        trace($sql);
        match &mut $tx.inner {
            Inner::Sqlite(transaction) => {
                let ($query, $connection) = (bound::<Sqlite>($sql, $values), &mut **transaction);
                $body
            }
            Inner::Postgres(transaction) => {
                let ($query, $connection) = (bound::<Postgres>($sql, $values), &mut **transaction);
                $body
            }
        }
    }};
}

impl Tx {
    /// The time of this transaction: the database's on PostgreSQL, the clock's on SQLite.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Makes the changes durable.
    pub async fn commit(self) -> Result<()> {
        match self.inner {
            Inner::Sqlite(transaction) => transaction.commit().await,
            Inner::Postgres(transaction) => transaction.commit().await,
        }
        .map_err(database_error)
    }

    /// The connection, for `pinhole-jobs` alone.
    pub fn connection(&mut self) -> Connection<'_> {
        match &mut self.inner {
            Inner::Sqlite(transaction) => Connection::Sqlite(transaction),
            Inner::Postgres(transaction) => Connection::Postgres(transaction),
        }
    }

    /// Runs a statement and tells how many rows it changed.
    pub(crate) async fn execute(&mut self, sql: &'static str, values: &[Value]) -> Result<u64> {
        run!(self, sql, values, |query, connection| query.execute(connection).await.map(|done| done.rows_affected()))
            .map_err(database_error)
    }

    /// Runs a query of at most one row.
    pub(crate) async fn fetch_optional<T>(
        &mut self,
        sql: &'static str,
        values: &[Value],
        read: fn(&Row) -> Result<T>,
    ) -> Result<Option<T>> {
        let row = run!(self, sql, values, |query, connection| query
            .fetch_optional(connection)
            .await
            .map(|row| row.map(Row::from)))
        .map_err(database_error)?;
        row.as_ref().map(read).transpose()
    }

    /// Runs a query whose SQL bounds the number of its rows.
    pub(crate) async fn fetch_all<T>(
        &mut self,
        sql: &'static str,
        values: &[Value],
        read: fn(&Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let rows: Vec<Row> = run!(self, sql, values, |query, connection| query
            .fetch_all(connection)
            .await
            .map(|rows| rows.into_iter().map(Row::from).collect()))
        .map_err(database_error)?;
        rows.iter().map(read).collect()
    }
}

/// Tells a failure that a second run may not meet from one that it will.
pub fn database_error(error: sqlx::Error) -> Error {
    let code = error.as_database_error().and_then(|e| e.code()).unwrap_or_default();
    // PostgreSQL: serialization_failure, deadlock_detected. SQLite: BUSY, BUSY_SNAPSHOT, LOCKED.
    if matches!(&*code, "40001" | "40P01" | "5" | "517" | "6") || matches!(error, sqlx::Error::PoolTimedOut) {
        return Error::transient(error);
    }
    if error.as_database_error().is_some_and(|e| e.is_unique_violation()) {
        return Error::conflict("exists", "an object with this name exists: choose another name").with_source(error);
    }
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolClosed => {
            Error::unavailable("database", "the database is not reachable: try again, or see that it runs")
                .with_source(error)
        }
        other => Error::internal(other),
    }
}
