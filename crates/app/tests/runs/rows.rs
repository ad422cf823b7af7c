//! Looking at rows from outside of the application, and letting time pass for them.

use std::{collections::BTreeMap, process::Command, time::Duration};

use pinhole_testkit::Engine;

use crate::support::Bench;

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

/// Every table that admission or a worker's work writes to; the last is the job library's own.
const TABLES: [&str; 11] = [
    "runs",
    "cells",
    "cell_attempts",
    "artifacts",
    "receipts",
    "checkpoint_results",
    "run_results",
    "audit",
    "events",
    "idempotency_keys",
    "{jobs}",
];

/// Rows by table; the jobs are under `{jobs}`.
pub(crate) type Counts = BTreeMap<String, i64>;

impl Bench {
    /// What a statement prints: a line for each row, columns with `|` between. `{jobs}` is the table of jobs.
    #[track_caller]
    pub(crate) fn sql(&self, statement: &str) -> String {
        let url = self.database.url();
        let mut shell = match self.database.engine() {
            Engine::Sqlite => {
                let path = url.strip_prefix("sqlite://").and_then(|rest| rest.strip_suffix("?mode=rwc")).unwrap();
                let mut shell = Command::new("sqlite3");
                shell
                    .args(["-batch", "-bail", "-cmd", ".timeout 10000", path])
                    .arg(statement.replace("{jobs}", "Jobs"));
                shell
            }
            Engine::Postgres => {
                let mut shell = Command::new("psql");
                let options = ["--no-psqlrc", "--set=ON_ERROR_STOP=1", "-qAtc"];
                shell.args(options).arg(statement.replace("{jobs}", "apalis.jobs")).arg(url);
                shell
            }
        };
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// How many rows each table has.
    pub(crate) fn counts(&self) -> Counts {
        let found = self.sql(&count_query());
        let counts: Vec<i64> = found.trim().split('|').map(|count| count.parse().unwrap()).collect();
        assert_eq!(counts.len(), TABLES.len());
        TABLES.iter().map(ToString::to_string).zip(counts).collect()
    }

    /// How many rows each table has more than it had; tables without more are left out.
    pub(crate) fn more_than(&self, before: &Counts) -> Vec<(String, i64)> {
        let more = self.counts().into_iter().map(|(table, count)| (table.clone(), count - before[&table]));
        more.filter(|(_, more)| *more != 0).collect()
    }

    /// Everything in the rows that a worker's work is written to, and how many other rows there are.
    pub(crate) fn work(&self) -> String {
        let tables = ["runs", "cells", "cell_attempts", "artifacts", "receipts", "checkpoint_results"];
        let dump: String = tables.iter().map(|table| format!("SELECT * FROM {table} ORDER BY 1, 2; ")).collect();
        self.sql(&(dump + &count_query()))
    }

    /// Lets so much time pass for every cell. PostgreSQL's clock cannot be moved, so there the past is.
    pub(crate) fn pass(&self, time: Duration) {
        if self.database.engine() == Engine::Sqlite {
            self.clock.advance(time);
            return;
        }
        let micros = time.as_micros();
        self.sql(&format!(
            "UPDATE cells SET due_at = due_at - {micros}, not_before = not_before - {micros}, \
             created_at = created_at - {micros}; \
             UPDATE cell_attempts SET started_at = started_at - {micros}, ended_at = ended_at - {micros}"
        ));
    }

    /// Removes every job, as a queue that loses its rows does, and says how many there were.
    pub(crate) fn lose_jobs(&self) -> i64 {
        let jobs = self.jobs();
        self.sql("DELETE FROM {jobs}");
        jobs
    }

    /// How many jobs are queued.
    pub(crate) fn jobs(&self) -> i64 {
        self.sql("SELECT count(*) FROM {jobs}").trim().parse().unwrap()
    }
}

/// A query of one row with the number of rows of each table.
fn count_query() -> String {
    let queries: Vec<_> = TABLES.iter().map(|table| format!("(SELECT count(*) FROM {table})")).collect();
    format!("SELECT {}", queries.join(", "))
}
