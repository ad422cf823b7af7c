//! Cancelling: every unfinished cell ends, and nothing that a worker still does changes a row.

use pinhole_core::{FailureReason, PrincipalClass, Role, RunState};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::Path,
    pictures::file,
    rows::on_both_engines,
    support::refused,
    worker::{ONE, TWO_CELLS, cell, failed},
};

on_both_engines! {
    a_queued_run_is_cancelled_at_once
    what_was_captured_before_is_kept
    a_worker_of_a_cancelled_cell_changes_nothing
    a_submission_that_waits_for_the_registrar_is_dropped
    one_of_a_worker_and_a_cancellation_wins
    a_stale_or_missing_version_cancels_nothing
    cancelling_needs_the_right_in_the_environment
}

async fn cancel(path: &Path, run: &Value) -> pinhole_core::Result<Value> {
    let seen = path.bench.run(&run["id"]).await;
    let input = json!({ "run_id": run["id"], "expected_version": seen["version"] });
    path.bench.call(&path.maker, "cancel_scenario_run", input).await
}

async fn a_queued_run_is_cancelled_at_once(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(TWO_CELLS).await;
    let before = path.bench.counts();
    let view = cancel(&path, &run).await.unwrap();
    assert_eq!((&view["state"], &view["verdict"]), (&json!("cancelled"), &Value::Null));
    assert!(view["finished_at"].is_string());
    for cell in view["cells"].as_array().unwrap() {
        assert_eq!(cell["state"], "cancelled");
    }
    let more = path.bench.more_than(&before);
    let expected = [("audit", 1), ("events", 1), ("run_results", 1)].map(|(table, rows)| (table.to_owned(), rows));
    assert_eq!(more, expected);
    let events = path.bench.sql("SELECT kind FROM events ORDER BY at DESC, id DESC LIMIT 1");
    assert_eq!(events.trim(), "run.finished");
    // It has a signed result that says so, and cannot be claimed or cancelled again.
    let result = path.bench.result(&run["id"]).await;
    assert_eq!((&result["state"], &result["verdict"]), (&json!("cancelled"), &Value::Null));
    assert!(result["statement"].is_object());
    assert!(path.bench.app.claim(cell(&run, 0), "worker").await.unwrap().is_none());
    assert_eq!(refused(cancel(&path, &run).await), ("conflict", "run_ended".into()));
}

async fn what_was_captured_before_is_kept(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(TWO_CELLS).await;
    let claim = path.bench.claim(&run, 0).await;
    let submission = path.bench.shoot(&claim, &file(1)).await;
    path.bench.hand_in(&claim.lease, &submission).await;
    let view = cancel(&path, &run).await.unwrap();
    assert_eq!(view["state"], "cancelled");
    assert_eq!((&view["cells"][0]["state"], &view["cells"][1]["state"]), (&json!("completed"), &json!("cancelled")));
    let result = path.bench.result(&run["id"]).await;
    assert_eq!(result["checkpoints"].as_array().unwrap().len(), 1);

    // A run is failed when a cell is, whatever ended the others.
    let run = path.bench.keyed(&path.maker, "start_scenario_run", crate::worker::order("probe")).await.unwrap();
    let claim = path.bench.claim(&run, 0).await;
    path.bench.hand_in(&claim.lease, &failed(FailureReason::TargetMissing)).await;
    assert_eq!(cancel(&path, &run).await.unwrap()["state"], "failed");
}

async fn a_worker_of_a_cancelled_cell_changes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(ONE).await;
    let claim = path.bench.claim(&run, 0).await;
    let submission = path.bench.shoot(&claim, &file(1)).await;
    let view = cancel(&path, &run).await.unwrap();
    let attempt = &view["cells"][0]["attempts"][0];
    assert_eq!(attempt["outcome"], "cancelled");
    assert!(attempt["ended_at"].is_string());
    let work = path.bench.work();
    assert!(!path.bench.app.renew(&claim.lease).await.unwrap());
    assert!(!path.bench.app.submit(&claim.lease, &submission).await.unwrap());
    assert!(!path.bench.app.submit(&claim.lease, &failed(FailureReason::BrowserCrashed)).await.unwrap());
    path.bench.app.register(cell(&run, 0), 1).await.unwrap();
    path.bench.pass(std::time::Duration::from_secs(60));
    let work = if engine == Engine::Postgres { path.bench.work() } else { work };
    path.bench.app.sweep().await.unwrap();
    assert_eq!(path.bench.work(), work);
}

async fn a_submission_that_waits_for_the_registrar_is_dropped(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(ONE).await;
    let claim = path.bench.claim(&run, 0).await;
    let submission = path.bench.shoot(&claim, &file(1)).await;
    assert!(path.bench.app.submit(&claim.lease, &submission).await.unwrap());
    assert_eq!(path.bench.run(&run["id"]).await["state"], "registering");
    assert_eq!(cancel(&path, &run).await.unwrap()["state"], "cancelled");
    path.bench.app.register(cell(&run, 0), 1).await.unwrap();
    let result = path.bench.result(&run["id"]).await;
    assert_eq!((&result["state"], &result["checkpoints"]), (&json!("cancelled"), &json!([])));
}

/// Whoever is first decides, and the run ends consistently either way.
async fn one_of_a_worker_and_a_cancellation_wins(engine: Engine) {
    let path = Path::on(engine).await;
    path.bench.scenario("probe", ONE).await;
    for _ in 0..5 {
        let order = crate::worker::order("probe");
        let run = path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
        let claim = path.bench.claim(&run, 0).await;
        let submission = path.bench.shoot(&claim, &file(1)).await;
        let (submitted, cancelled) =
            tokio::join!(path.bench.app.submit(&claim.lease, &submission), cancel(&path, &run));
        path.bench.app.register(cell(&run, 0), 1).await.unwrap();
        let seen = path.bench.run(&run["id"]).await;
        let receipts = path.bench.result(&run["id"]).await["checkpoints"].as_array().unwrap().len();
        match cancelled {
            // Cancelled before or after the submission; nothing of it was registered.
            Ok(view) => {
                assert_eq!((&view["state"], &seen["state"], receipts), (&json!("cancelled"), &view["state"], 0))
            }
            // The submission came between the look and the call.
            Err(error) => {
                assert!(submitted.unwrap());
                assert_eq!((error.reason(), &seen["state"], receipts), (Some("stale_version"), &json!("completed"), 1));
            }
        }
        let state: RunState = seen["state"].as_str().unwrap().parse().unwrap();
        assert!(state.is_terminal());
    }
}

async fn a_stale_or_missing_version_cancels_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(ONE).await;
    path.bench.claim(&run, 0).await;
    let work = path.bench.work();
    let call = async |version: Value| {
        let input = json!({ "run_id": run["id"], "expected_version": version });
        refused(path.bench.call(&path.maker, "cancel_scenario_run", input).await)
    };
    assert_eq!(call(Value::Null).await, ("precondition_required", "expected_version".into()));
    assert_eq!(call(json!(1)).await, ("conflict", "stale_version".into()));
    assert_eq!(path.bench.work(), work);
}

async fn cancelling_needs_the_right_in_the_environment(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(ONE).await;
    let bench = &path.bench;
    let author = bench.service("writer", &[Role::Author, Role::Viewer, Role::Owner]).await;
    let elsewhere = bench.principal(PrincipalClass::Service, "liver", Some("live"), &[Role::Operator]).await;
    let stranger = bench.service("stranger", &[]).await;
    for (actor, expected) in [
        (&author, ("permission_denied", "run.cancel")),
        (&elsewhere, ("not_found", "")),
        (&stranger, ("not_found", "")),
    ] {
        for id in [run["id"].clone(), json!("run_00000000000000000000000000000000")] {
            let input = json!({ "run_id": id, "expected_version": 1 });
            let expected = if id == run["id"] { expected } else { ("not_found", "") };
            let outcome = bench.call(actor, "cancel_scenario_run", input).await;
            assert_eq!(refused(outcome), (expected.0, expected.1.to_owned()));
        }
    }
    let narrow = bench.principal(PrincipalClass::Service, "narrow", Some("staging"), &[Role::Operator]).await;
    assert_eq!(bench.run(&run["id"]).await["state"], "queued");
    let input = json!({ "run_id": run["id"], "expected_version": 1 });
    assert_eq!(bench.call(&narrow, "cancel_scenario_run", input).await.unwrap()["state"], "cancelled");
}
