//! A migrated database, a clock and ids for one test, and what the tests compare with.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use pinhole_core::{Code, Error, Timestamp};
use pinhole_store::{Pools, Store, Tx};
use pinhole_testkit::{Database, Engine, FakeClock, SeededIds};
use sqlx::AssertSqlSafe;

/// Makes a test for each engine out of each function.
macro_rules! on_both_engines {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(pinhole_testkit::Engine::Sqlite).await })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(pinhole_testkit::Engine::Postgres).await })*
        }
    };
}
pub(crate) use on_both_engines;

/// A new id of the given kind.
macro_rules! id {
    ($fixture:expr, $kind:ident) => {
        pinhole_core::$kind::from_uuid(pinhole_core::Ids::uuid(&$fixture.ids))
    };
}
pub(crate) use id;

/// Migrated PostgreSQL databases that no test uses now: to make and to drop one takes longer than most tests do. They
/// go with the cluster when the process ends.
static IDLE: Mutex<Vec<Database>> = Mutex::new(Vec::new());

/// Empties every table; the foreign keys look away meanwhile.
const EMPTY: &str = "DO $$ DECLARE name text; BEGIN \
    PERFORM set_config('session_replication_role', 'replica', true); \
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations' LOOP \
    EXECUTE format('DELETE FROM %I', name); END LOOP; END $$";

pub(crate) struct Fixture {
    pub(crate) store: Store,
    /// What `tx.now()` shows on SQLite; PostgreSQL has its own.
    pub(crate) clock: FakeClock,
    /// Use [`id!`].
    pub(crate) ids: SeededIds,
    database: Option<Database>,
    /// Whether another test may have the database afterwards.
    is_shared: bool,
}

impl Fixture {
    /// A database with the schema and no rows.
    pub(crate) async fn new(engine: Engine) -> Self {
        let idle = if engine == Engine::Postgres { IDLE.lock().unwrap().pop() } else { None };
        let mut fixture = match idle {
            Some(database) => {
                let fixture = Self::over(database).await;
                fixture.execute(EMPTY).await;
                fixture
            }
            None => {
                let fixture = Self::unmigrated(engine).await;
                fixture.store.migrate().await.unwrap();
                fixture
            }
        };
        fixture.is_shared = engine == Engine::Postgres;
        fixture
    }

    /// An empty database that no other test sees.
    pub(crate) async fn unmigrated(engine: Engine) -> Self {
        Self::over(tokio::task::spawn_blocking(move || Database::on(engine)).await.unwrap()).await
    }

    async fn over(database: Database) -> Self {
        let clock = FakeClock::default();
        let store = Store::open(database.url(), Arc::new(clock.clone())).await.unwrap();
        Self { store, clock, ids: SeededIds::default(), database: Some(database), is_shared: false }
    }

    /// The address of the database.
    pub(crate) fn url(&self) -> &str {
        self.database.as_ref().map(Database::url).unwrap_or_default()
    }

    /// A transaction that may write.
    pub(crate) async fn write(&self) -> Tx {
        self.store.begin_write().await.unwrap()
    }

    /// A transaction that may not.
    pub(crate) async fn read(&self) -> Tx {
        self.store.begin_read().await.unwrap()
    }

    /// Runs a statement outside every method of the store.
    pub(crate) async fn execute(&self, sql: &str) {
        match self.store.pools() {
            Pools::Sqlite(pool) => drop(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(pool).await.unwrap()),
            Pools::Postgres(pool) => drop(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(pool).await.unwrap()),
        }
    }

    /// The texts in the first column of a query's rows.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        match self.store.pools() {
            Pools::Sqlite(pool) => sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(pool).await.unwrap(),
            Pools::Postgres(pool) => sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(pool).await.unwrap(),
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if self.is_shared {
            IDLE.lock().unwrap().extend(self.database.take());
        }
    }
}

/// An instant that no clock of a test shows, `micros` after a fixed one.
pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_123_456 + micros)
}

/// That two rows hold the same. The store's rows are plain values, so that what they print is all that they hold.
#[track_caller]
pub(crate) fn assert_same<T: Debug>(found: T, expected: T) {
    assert_eq!(format!("{found:#?}"), format!("{expected:#?}"));
}

/// That the row is taken.
#[track_caller]
pub(crate) fn assert_exists<T>(result: Result<T, Error>) {
    let error = result.err().expect("the row is taken");
    assert_eq!((error.code(), error.reason()), (Code::Conflict, Some("exists")), "{error:?}");
    assert!(!error.is_transient());
}
