//! A migrated database, jobs in it, and runners over it.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use pinhole_core::{CellId, Result, SystemClock};
use pinhole_jobs::{CaptureJob, RunnerSettings, WakeSender, enqueue, migrate, run};
use pinhole_store::{Pools, Store};
use pinhole_testkit::{Database, Engine, wait_until};
use sqlx::AssertSqlSafe;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// A poll interval that never helps within a test.
pub(crate) const NEVER: Duration = Duration::from_secs(86_400);

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

pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) wake: WakeSender,
    pub(crate) database: Database,
}

impl Fixture {
    pub(crate) async fn new(engine: Engine) -> Self {
        let database = tokio::task::spawn_blocking(move || Database::on(engine)).await.unwrap();
        let store = Store::open(database.url(), Arc::new(SystemClock)).await.unwrap();
        store.migrate().await.unwrap();
        migrate(&store).await.unwrap();
        Self { store, wake: WakeSender::new(), database }
    }

    pub(crate) fn settings(&self) -> RunnerSettings {
        RunnerSettings { poll: NEVER, wake: Some(self.wake.receiver()), ..RunnerSettings::default() }
    }

    pub(crate) fn settings_for(&self, concurrency: usize) -> RunnerSettings {
        RunnerSettings { concurrency: NonZeroUsize::new(concurrency).unwrap(), ..self.settings() }
    }

    /// Queues jobs in one transaction and wakes the runners.
    pub(crate) async fn push(&self, jobs: impl IntoIterator<Item = u128>) {
        let mut tx = self.store.begin_write().await.unwrap();
        for number in jobs {
            enqueue(&mut tx, &job(number), Duration::ZERO).await.unwrap();
        }
        tx.commit().await.unwrap();
        self.wake.wake();
    }

    /// Runs a statement in which `{jobs}` and `{workers}` are the tables of apalis.
    pub(crate) async fn execute(&self, sql: &str) -> sqlx::Result<u64> {
        match self.store.pools() {
            Pools::Sqlite(pool) => sqlx::raw_sql(AssertSqlSafe(named(sql, "Jobs", "Workers")))
                .execute(pool)
                .await
                .map(|done| done.rows_affected()),
            Pools::Postgres(pool) => sqlx::raw_sql(AssertSqlSafe(named(sql, "apalis.jobs", "apalis.workers")))
                .execute(pool)
                .await
                .map(|done| done.rows_affected()),
        }
    }

    /// A number that a query gives, with tables named as for [`Self::execute`].
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        match self.store.pools() {
            Pools::Sqlite(pool) => {
                sqlx::query_scalar(AssertSqlSafe(named(sql, "Jobs", "Workers"))).fetch_one(pool).await.unwrap()
            }
            Pools::Postgres(pool) => {
                let sql = named(sql, "apalis.jobs", "apalis.workers");
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await.unwrap()
            }
        }
    }

    /// Waits until so many rows have this status.
    pub(crate) async fn wait_for_rows(&self, status: &str, rows: i64) {
        let query = format!("SELECT count(*) FROM {{jobs}} WHERE status = '{status}'");
        wait_until(DEADLINE, &format!("{rows} rows that are {status}"), async || self.number(&query).await == rows)
            .await;
    }
}

fn named(sql: &str, jobs: &str, workers: &str) -> String {
    sql.replace("{jobs}", jobs).replace("{workers}", workers)
}

pub(crate) fn job(number: u128) -> CaptureJob {
    CaptureJob { cell: format!("cel_{number:032x}").parse::<CellId>().unwrap() }
}

pub(crate) fn number_of(job: &CaptureJob) -> u128 {
    u128::from_str_radix(job.cell.to_string().strip_prefix("cel_").unwrap(), 16).unwrap()
}

/// A runner in a task of its own.
pub(crate) struct Running {
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<()>,
}

impl Running {
    pub(crate) fn start<F, Fut>(store: &Store, settings: RunnerSettings, handler: F) -> Self
    where
        F: Fn(u128) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let (store, stopped) = (store.clone(), stop.clone());
        let task = tokio::spawn(async move {
            run(&store, settings, stopped, move |job: CaptureJob| handler(number_of(&job))).await;
        });
        Self { stop, task }
    }

    pub(crate) async fn finish(self) {
        self.stop.cancel();
        tokio::time::timeout(DEADLINE, self.task).await.expect("the runner stops").unwrap();
    }
}
