//! A registration that is asked for often, interrupted, or cannot reach its storage is recorded once or ends.

use std::{collections::BTreeSet, fs, path::PathBuf, time::Duration};

use futures::future::join_all;
use pinhole_app::{Claim, Settings};
use pinhole_core::Role;
use pinhole_receipt::RunResult;
use pinhole_testkit::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    pictures::file,
    rows::on_both_engines,
    statements::signed,
    support::{Bench, SCENARIO},
    worker::{TWO_CELLS, cell, order},
};

on_both_engines! {
    a_submission_is_recorded_once
    what_a_registrar_that_died_began_is_done_once
    tries_at_the_same_time_are_not_tries_that_failed
    storage_that_is_away_is_waited_for
    the_sixth_try_gives_up
    nothing_stays_in_staging
    cells_that_end_at_once_end_their_run_once
    a_run_waits_for_its_slow_cell_however_often_the_other_is_registered
    captures_of_one_instant_are_kept_apart
}

/// More than a registration may take.
const TRY: Duration = Duration::from_secs(61);

/// A submitted cell, and where its objects are.
struct Submitted {
    bench: Bench,
    run: Value,
    claim: Claim,
    directory: PathBuf,
}

impl Submitted {
    async fn on(engine: Engine) -> Self {
        let blobs = TempDir::with_prefix("pinhole-blobs-").unwrap();
        let directory = blobs.path().to_owned();
        let bench = Bench::keeping(engine, Settings::default(), blobs).await;
        let maker = bench.service("builder", &[Role::Operator]).await;
        let run = bench.keyed(&maker, "start_scenario_run", order(SCENARIO)).await.unwrap();
        let claim = bench.claim(&run, 0).await;
        let submission = bench.shoot(&claim, &file(1)).await;
        assert!(bench.app.submit(&claim.lease, &submission).await.unwrap());
        bench.lose_jobs();
        Self { bench, run, claim, directory }
    }

    async fn register(&self) -> pinhole_core::Result<()> {
        self.bench.app.register(self.claim.lease.cell, self.claim.lease.attempt).await
    }

    /// Puts a file where the server's own objects go, or takes it away.
    fn storage(&self, there: bool) {
        let objects = self.directory.join("blobs");
        if there { fs::remove_file(objects).unwrap() } else { fs::write(objects, "in the way").unwrap() }
    }

    /// That there are the rows of one registration.
    async fn is_recorded_once(&self) {
        let counts = self.bench.counts();
        let rows = ["artifacts", "receipts", "checkpoint_results", "run_results"].map(|table| counts[table]);
        assert_eq!(rows, [2, 2, 2, 1]);
        let seen = self.bench.run(&self.run["id"]).await;
        assert_eq!((&seen["state"], &seen["verdict"]), (&json!("completed"), &json!("needs_baseline")));
        let mut tx = self.bench.app.store().begin_read().await.unwrap();
        let audit = tx.audit_of(self.run["cells"][0]["id"].as_str().unwrap()).await.unwrap();
        assert_eq!(audit.iter().filter(|row| row.operation == "register_cell").count(), 1);
        let finished = tx.pending_events().await.unwrap().into_iter().filter(|event| event.kind == "run.finished");
        assert_eq!(finished.count(), 1);
    }
}

async fn a_submission_is_recorded_once(engine: Engine) {
    let submitted = Submitted::on(engine).await;
    for outcome in join_all((0..10).map(|_| submitted.register())).await {
        // PostgreSQL may tell one of many to come again; that is for its sweeper.
        assert!(outcome.is_ok() || outcome.as_ref().is_err_and(|error| error.reason() == Some("busy")), "{outcome:?}");
    }
    submitted.register().await.unwrap();
    submitted.register().await.unwrap();
    submitted.is_recorded_once().await;
}

async fn what_a_registrar_that_died_began_is_done_once(engine: Engine) {
    let submitted = Submitted::on(engine).await;
    submitted.begin().await;
    let bench = &submitted.bench;
    assert_eq!((bench.app.sweep().await.unwrap(), bench.jobs()), (0, 0), "it may still be at work");
    bench.pass(TRY);
    assert_eq!((bench.app.sweep().await.unwrap(), bench.jobs()), (1, 1));
    submitted.register().await.unwrap();
    submitted.is_recorded_once().await;
    bench.pass(TRY);
    assert_eq!(bench.app.sweep().await.unwrap(), 0);
}

impl Submitted {
    /// What a registrar does that dies right after it began.
    async fn begin(&self) {
        let mut tx = self.bench.app.store().begin_write().await.unwrap();
        let due = tx.now().plus(Duration::from_secs(60));
        let begun = tx.begin_registration(self.claim.lease.cell, self.claim.lease.attempt, due).await.unwrap();
        assert!(begun.is_some());
        tx.commit().await.unwrap();
    }
}

async fn tries_at_the_same_time_are_not_tries_that_failed(engine: Engine) {
    let submitted = Submitted::on(engine).await;
    for _ in 0..10 {
        submitted.begin().await;
    }
    submitted.register().await.unwrap();
    submitted.is_recorded_once().await;
}

async fn storage_that_is_away_is_waited_for(engine: Engine) {
    let submitted = Submitted::on(engine).await;
    submitted.storage(false);
    let before = submitted.bench.counts();
    let error = submitted.register().await.unwrap_err();
    assert_eq!((error.code().as_str(), error.reason()), ("provider_unavailable", Some("storage")));
    assert_eq!(submitted.bench.counts(), before);
    let seen = submitted.bench.run(&submitted.run["id"]).await;
    assert_eq!((&seen["state"], &seen["verdict"]), (&json!("registering"), &json!(null)));
    submitted.storage(true);
    submitted.bench.pass(TRY);
    assert_eq!((submitted.bench.app.sweep().await.unwrap(), submitted.bench.jobs()), (1, 1));
    submitted.register().await.unwrap();
    submitted.is_recorded_once().await;
}

async fn the_sixth_try_gives_up(engine: Engine) {
    let submitted = Submitted::on(engine).await;
    let bench = &submitted.bench;
    submitted.storage(false);
    for _ in 1..=5 {
        assert!(submitted.register().await.is_err());
        bench.pass(TRY);
        assert_eq!(bench.app.sweep().await.unwrap(), 1);
    }
    submitted.register().await.unwrap();
    let seen = bench.run(&submitted.run["id"]).await;
    assert_eq!((&seen["state"], &seen["verdict"]), (&json!("failed"), &json!(null)));
    let failure = &seen["cells"][0]["failure"];
    assert_eq!(failure["reason"], "registration_refused");
    assert!(failure["message"].as_str().unwrap().contains("5 times"), "{failure}");
    let result = bench.result(&submitted.run["id"]).await;
    let statement: RunResult = signed(bench, &result["statement"]);
    assert_eq!((json!(statement.state), statement.receipts.len()), (json!("failed"), 0));
    let counts = bench.counts();
    assert_eq!(["artifacts", "receipts", "checkpoint_results"].map(|table| counts[table]), [0, 0, 0]);
    bench.pass(TRY);
    assert_eq!(bench.app.sweep().await.unwrap(), 0);
}

async fn nothing_stays_in_staging(engine: Engine) {
    let submitted = Submitted::on(engine).await;
    let lease = submitted.claim.lease;
    let folder = submitted.directory.join("staging").join(lease.cell.to_string()).join(lease.token.to_string());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    submitted.register().await.unwrap();
    assert!(!folder.exists());
}

/// A matrix of five rows.
const FIVE_CELLS: &str = "schema: pinhole.scenario.v1\ntitle: Five\nmatrix: [ { name: a }, { name: b }, { name: c }, { name: d }, { name: e } ]\nsteps:\n  - navigate: /\n  - capture: { name: home }\n";

async fn cells_that_end_at_once_end_their_run_once(engine: Engine) {
    let bench = Bench::on(engine).await;
    let maker = bench.service("builder", &[Role::Operator]).await;
    bench.scenario("five", FIVE_CELLS).await;
    let run = bench.keyed(&maker, "start_scenario_run", order("five")).await.unwrap();
    let mut leases = Vec::new();
    for index in 0..5 {
        let claim = bench.claim(&run, index).await;
        let submission = bench.shoot(&claim, &file(1)).await;
        assert!(bench.app.submit(&claim.lease, &submission).await.unwrap());
        leases.push(claim.lease);
    }
    let registrations = leases.iter().map(|lease| bench.app.register(lease.cell, lease.attempt));
    for (outcome, lease) in join_all(registrations).await.into_iter().zip(&leases) {
        // One that PostgreSQL told to come again does so.
        if outcome.is_err_and(|error| error.reason() == Some("busy")) {
            bench.app.register(lease.cell, lease.attempt).await.unwrap();
        }
    }
    let result = bench.result(&run["id"]).await;
    assert_eq!((&result["state"], &result["verdict"]), (&json!("completed"), &json!("needs_baseline")));
    let statement: RunResult = signed(&bench, &result["statement"]);
    assert_eq!(statement.receipts.len(), 5);
    let names: Vec<_> = result["checkpoints"].as_array().unwrap().iter().map(|found| &found["profile"]).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    assert_eq!(bench.counts()["run_results"], 1);
}

async fn a_run_waits_for_its_slow_cell_however_often_the_other_is_registered(engine: Engine) {
    let bench = Bench::on(engine).await;
    let maker = bench.service("builder", &[Role::Operator]).await;
    bench.scenario("two", TWO_CELLS).await;
    let run = bench.keyed(&maker, "start_scenario_run", order("two")).await.unwrap();
    let (slow, quick) = (bench.claim(&run, 0).await, bench.claim(&run, 1).await);
    let submission = bench.shoot(&quick, &file(1)).await;
    assert!(bench.app.submit(&quick.lease, &submission).await.unwrap());
    assert!(!bench.app.submit(&quick.lease, &submission).await.unwrap(), "what was handed in is handed in once");
    for _ in 0..3 {
        bench.app.register(quick.lease.cell, quick.lease.attempt).await.unwrap();
        // Nobody declared the slow one done: registering it is no end of it, and neither is a look at the run.
        bench.app.register(slow.lease.cell, slow.lease.attempt).await.unwrap();
        let seen = bench.run(&run["id"]).await;
        let states = [&seen["state"], &seen["cells"][0]["state"], &seen["cells"][1]["state"], &seen["verdict"]];
        assert_eq!(states, [&json!("running"), &json!("running"), &json!("completed"), &json!(null)]);
    }
    assert_eq!(bench.counts()["run_results"], 0);
    // It has staged a part by now, which counts for nothing before the whole is handed in.
    let submission = bench.shoot(&slow, &file(2)).await;
    bench.app.register(slow.lease.cell, slow.lease.attempt).await.unwrap();
    assert_eq!(bench.run(&run["id"]).await["cells"][0]["state"], "running");
    bench.hand_in(&slow.lease, &submission).await;
    for index in [0, 1, 0, 1] {
        bench.app.register(cell(&run, index), 1).await.unwrap();
    }
    let result = bench.result(&run["id"]).await;
    assert_eq!((&result["state"], &result["verdict"]), (&json!("completed"), &json!("needs_baseline")));
    assert_eq!(result["checkpoints"].as_array().unwrap().len(), 2);
    assert_eq!(bench.counts()["run_results"], 1);
}

/// On SQLite no time passes at all: whatever was named by the time would be the same.
async fn captures_of_one_instant_are_kept_apart(engine: Engine) {
    let bench = Bench::on(engine).await;
    let maker = bench.service("builder", &[Role::Operator]).await;
    bench.scenario("five", FIVE_CELLS).await;
    let runs = join_all((0..4).map(|_| async {
        loop {
            // PostgreSQL may tell one of many to come again.
            match bench.keyed(&maker, "start_scenario_run", order("five")).await {
                Ok(run) => return run,
                Err(error) => assert_eq!(error.reason(), Some("busy"), "{error:?}"),
            }
        }
    }))
    .await;
    let mut pictures = Vec::new();
    for (shade, run) in (1_u8..).zip(&runs) {
        pictures.push((run, file(shade), bench.complete(run, &file(shade)).await));
    }
    let mut ids = BTreeSet::new();
    for (run, picture, result) in &pictures {
        assert!(ids.insert(run["id"].to_string()));
        for checkpoint in result["checkpoints"].as_array().unwrap() {
            assert!(
                ids.insert(checkpoint["receipt_id"].to_string()) && ids.insert(checkpoint["picture"]["id"].to_string())
            );
            let id = checkpoint["picture"]["id"].as_str().unwrap().parse().unwrap();
            let content = bench.app.artifact_content(&maker, id).await.unwrap();
            assert!(content.read().await.unwrap() == *picture, "each run shows its own picture");
        }
    }
    assert_eq!(ids.len(), 4 + 4 * 5 * 2);
}
