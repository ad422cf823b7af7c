//! Rows of the job library that vanish while there is work. They are only wake-ups; nothing may rest on them.

use std::{
    fmt::Write as _,
    time::{SystemTime, UNIX_EPOCH},
};

use pinhole_testkit::Engine;

use super::{Stage, psql};
use crate::harness::Setup;

/// Runs that are started at once.
const RUNS: usize = 6;
/// How often rows are deleted, with a twentieth of a second in between on average.
const ROUNDS: usize = 160;

#[tokio::test]
async fn rows_of_the_job_queue_that_vanish_lose_no_run() {
    let setup = Setup { engine: Engine::Postgres, capture_processes: 2, ..Setup::default() };
    let stage = Stage::set(setup).await;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_micros();
    eprintln!("the deleted rows are chosen with the seed {seed}");
    let url = stage.server.database_url().unwrap().to_owned();
    let deleting = tokio::task::spawn_blocking(move || psql(&url, &deletions(seed)));
    let mut runs = Vec::new();
    for index in 0..RUNS {
        runs.push(stage.start(&format!("run-{index}")).await);
    }
    let deleted = deleting.await.unwrap();
    for run in runs {
        stage.ends_right(&run, &["submitted"]).await;
    }
    let count = |what: &str| deleted.lines().filter(|line| *line == what).count();
    // Two workers cannot take six jobs at once, so that at first some wait, and few outlive a second of this.
    assert!(count("Pending") >= 1, "no job was deleted before it was delivered: {deleted}");
    assert!(count("worker") >= 1, "no worker was deleted: {deleted}");
}

/// Statements that delete jobs and workers at random and print what each deleted row was.
fn deletions(seed: u32) -> String {
    let mut statements = format!("SELECT setseed({seed} / 1000000.0);\n");
    for _ in 0..ROUNDS {
        // Jobs hold on to their workers, so these go together.
        let round = "
            BEGIN;
            LOCK TABLE apalis.jobs IN SHARE ROW EXCLUSIVE MODE;
            DELETE FROM apalis.jobs WHERE random() < 0.25 RETURNING status;
            DELETE FROM apalis.workers WHERE random() < 0.1
                AND NOT EXISTS (SELECT FROM apalis.jobs WHERE lock_by = workers.id) RETURNING 'worker';
            COMMIT;
            SELECT pg_sleep(random() * 0.1);";
        writeln!(statements, "{round}").unwrap();
    }
    statements
}
