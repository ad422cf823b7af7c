//! A cell that comes to nothing is tried again, for some reasons and three times at most; lost jobs are made again.

use std::time::Duration;

use pinhole_app::{Claim, Lease};
use pinhole_core::FailureReason;
use pinhole_receipt::RunResult;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::Path,
    pictures::file,
    rows::on_both_engines,
    statements::signed,
    worker::{ONE, TWO_CELLS, cell, failed, order},
};

on_both_engines! {
    a_worker_may_be_lost_three_times
    a_crashed_browser_is_tried_again_after_a_while
    a_worker_does_not_say_which_attempt_it_is
    a_page_that_is_wrong_is_not_tried_again
    lost_jobs_are_made_again
    a_cell_that_cannot_be_brought_on_holds_up_no_other
    a_registration_that_nobody_began_is_queued_again
    one_failed_cell_fails_the_run_and_leaves_the_other
}

const LEASE: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);

/// The outcome of each attempt with its reason.
fn outcomes(run: &Value) -> Vec<(String, String)> {
    let attempts = run["cells"][0]["attempts"].as_array().unwrap();
    assert!(attempts.iter().all(|attempt| attempt["ended_at"].is_string() && attempt["worker"] == "worker-1"));
    assert!((1..).zip(attempts).all(|(number, attempt)| attempt["attempt"] == number));
    let outcome = |attempt: &'_ Value| attempt["outcome"].as_str().unwrap().to_owned();
    let reason = |attempt: &'_ Value| attempt["failure"]["reason"].as_str().unwrap_or_default().to_owned();
    attempts.iter().map(|attempt| (outcome(attempt), reason(attempt))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(outcome, reason)| ((*outcome).to_owned(), (*reason).to_owned())).collect()
}

async fn a_worker_may_be_lost_three_times(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = path.run_of(ONE).await;
    for attempt in 1..=3 {
        assert_eq!(bench.claim(&run, 0).await.lease.attempt, attempt);
        bench.pass(LEASE + SECOND);
        bench.app.sweep().await.unwrap();
    }
    assert!(bench.app.claim(cell(&run, 0), "worker").await.unwrap().is_none());
    let seen = bench.run(&run["id"]).await;
    assert_eq!(outcomes(&seen), pairs(&[("lost", "worker_lost"); 3]));
    assert_eq!((&seen["state"], &seen["cells"][0]["state"]), (&json!("failed"), &json!("failed")));
    assert_eq!(seen["cells"][0]["failure"]["reason"], "worker_lost");
    let result = bench.result(&run["id"]).await;
    assert_eq!((&result["verdict"], &result["checkpoints"]), (&json!(null), &json!([])));
    let statement: RunResult = signed(bench, &result["statement"]);
    assert_eq!((json!(statement.run), json!(statement.state)), (run["id"].clone(), json!("failed")));
    assert_eq!((statement.verdict, statement.receipts.len()), (None, 0));
    // It has ended: nothing is due any more.
    bench.pass(LEASE * 100);
    assert_eq!(bench.app.sweep().await.unwrap(), 0);
}

async fn a_crashed_browser_is_tried_again_after_a_while(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = path.run_of(ONE).await;
    let crashed = failed(FailureReason::BrowserCrashed);
    for (attempt, wait) in [(1, 2), (2, 4)] {
        let claim = bench.claim(&run, 0).await;
        assert_eq!(claim.lease.attempt, attempt);
        bench.lose_jobs();
        assert!(bench.app.submit(&claim.lease, &crashed).await.unwrap());
        assert_eq!(bench.jobs(), 1);
        assert_eq!(bench.run(&run["id"]).await["cells"][0]["state"], "queued");
        assert!(!bench.app.renew(&claim.lease).await.unwrap(), "the lease went with it");
        assert!(bench.app.claim(cell(&run, 0), "hasty").await.unwrap().is_none());
        bench.pass(SECOND * (wait - 1));
        assert!(bench.app.claim(cell(&run, 0), "hasty").await.unwrap().is_none());
        bench.pass(SECOND);
    }
    let claim = bench.claim(&run, 0).await;
    bench.hand_in(&claim.lease, &crashed).await;
    let seen = bench.run(&run["id"]).await;
    let reason = "browser_crashed";
    assert_eq!(outcomes(&seen), pairs(&[("failed", reason), ("failed", reason), ("submitted", reason)]));
    assert_eq!((&seen["state"], &seen["cells"][0]["failure"]["reason"]), (&json!("failed"), &json!(reason)));
}

async fn a_worker_does_not_say_which_attempt_it_is(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = path.run_of(ONE).await;
    let crashed = failed(FailureReason::BrowserCrashed);
    for _ in 1..=2 {
        let claim = bench.claim(&run, 0).await;
        assert!(bench.app.submit(&Lease { attempt: 1, ..claim.lease }, &crashed).await.unwrap());
        bench.pass(LEASE);
    }
    let Claim { lease, .. } = bench.claim(&run, 0).await;
    assert!(bench.app.submit(&Lease { attempt: 1, ..lease }, &crashed).await.unwrap());
    assert_eq!(bench.run(&run["id"]).await["cells"][0]["state"], "registering", "there is no fourth attempt");
}

async fn a_page_that_is_wrong_is_not_tried_again(engine: Engine) {
    let path = Path::on(engine).await;
    for reason in FailureReason::ALL.iter().filter(|reason| !reason.is_worth_retrying()) {
        let order = order(crate::support::SCENARIO);
        let run = path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
        let claim = path.bench.claim(&run, 0).await;
        path.bench.hand_in(&claim.lease, &failed(*reason)).await;
        let seen = path.bench.run(&run["id"]).await;
        assert_eq!(outcomes(&seen), pairs(&[("submitted", reason.as_str())]));
        let failure = json!({ "reason": reason, "step": 1, "message": format!("it was {reason}") });
        assert_eq!((&seen["state"], &seen["cells"][0]["failure"]), (&json!("failed"), &failure));
    }
}

async fn lost_jobs_are_made_again(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = path.run_of(TWO_CELLS).await;
    assert_eq!(bench.lose_jobs(), 2);
    assert_eq!(bench.app.sweep().await.unwrap(), 0, "a worker may still take them");
    bench.pass(11 * SECOND);
    assert_eq!((bench.app.sweep().await.unwrap(), bench.lose_jobs()), (2, 2));
    assert_eq!((bench.app.sweep().await.unwrap(), bench.jobs()), (0, 0), "one job for each time that passed");
    // The longer it takes, the longer the next look is away.
    bench.pass(60 * SECOND);
    assert_eq!((bench.app.sweep().await.unwrap(), bench.lose_jobs()), (2, 2));
    bench.pass(30 * SECOND);
    assert_eq!(bench.app.sweep().await.unwrap(), 0);
    bench.pass(10 * SECOND);
    assert_eq!(bench.app.sweep().await.unwrap(), 2);
    assert_eq!(bench.complete(&run, &file(1)).await["state"], "completed");
}

async fn a_cell_that_cannot_be_brought_on_holds_up_no_other(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let broken = path.run_of(ONE).await;
    for _ in 1..=2 {
        bench.claim(&broken, 0).await;
        bench.pass(LEASE + SECOND);
        bench.app.sweep().await.unwrap();
    }
    bench.claim(&broken, 0).await;
    // The run cannot be concluded, and its cell is the first that is due.
    bench.sql(&format!("UPDATE runs SET pins = '{{}}' WHERE id = '{}'", broken["id"].as_str().unwrap()));
    bench.pass(SECOND);
    let run = bench.keyed(&path.maker, "start_scenario_run", order("probe")).await.unwrap();
    bench.claim(&run, 0).await;
    bench.pass(LEASE + SECOND);
    assert!(bench.app.sweep().await.is_err());
    assert_eq!(bench.claim(&run, 0).await.lease.attempt, 2);
}

async fn a_registration_that_nobody_began_is_queued_again(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = path.run_of(ONE).await;
    let claim = bench.claim(&run, 0).await;
    let submission = bench.shoot(&claim, &file(1)).await;
    assert!(bench.app.submit(&claim.lease, &submission).await.unwrap());
    let seen = bench.run(&run["id"]).await;
    assert_eq!((&seen["state"], &seen["cells"][0]["state"]), (&json!("registering"), &json!("registering")));
    bench.lose_jobs();
    bench.pass(11 * SECOND);
    assert_eq!((bench.app.sweep().await.unwrap(), bench.jobs()), (1, 1));
    assert_eq!(bench.sql("SELECT count(*) FROM {jobs} WHERE job_type = 'register'").trim(), "1");
    bench.app.register(claim.lease.cell, claim.lease.attempt).await.unwrap();
    assert_eq!(bench.run(&run["id"]).await["state"], "completed");
}

async fn one_failed_cell_fails_the_run_and_leaves_the_other(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = path.run_of(TWO_CELLS).await;
    let claim = bench.claim(&run, 0).await;
    let submission = bench.shoot(&claim, &file(1)).await;
    bench.hand_in(&claim.lease, &submission).await;
    let early = bench.result(&run["id"]).await;
    assert_eq!((&early["state"], &early["verdict"], early.get("statement")), (&json!("running"), &json!(null), None));
    let claim = bench.claim(&run, 1).await;
    bench.hand_in(&claim.lease, &failed(FailureReason::NavigationFailed)).await;
    let result = bench.result(&run["id"]).await;
    assert_eq!((&result["state"], &result["verdict"]), (&json!("failed"), &json!(null)));
    let checkpoints = result["checkpoints"].as_array().unwrap();
    assert_eq!(checkpoints.len(), 1);
    assert_eq!((&checkpoints[0]["profile"], &checkpoints[0]["verdict"]), (&json!("desktop"), &json!("new")));
    let statement: RunResult = signed(bench, &result["statement"]);
    assert_eq!(json!(statement.receipts[0].receipt), checkpoints[0]["receipt_id"]);
    assert_eq!(statement.verdicts, json!({ "home@desktop": "new" }));
}
