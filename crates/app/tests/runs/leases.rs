//! The right to work on a cell: one holder at a time, and nothing for whoever lost it.

use std::time::Duration;

use futures::future::join_all;
use pinhole_app::Lease;
use pinhole_core::{CellId, FailureReason};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    path::Path,
    pictures::file,
    rows::on_both_engines,
    worker::{ONE, TWO_CELLS, cell, failed, order, order_with},
};

on_both_engines! {
    a_cell_has_one_holder
    a_claim_holds_what_the_run_is_pinned_to
    a_lease_lasts_as_long_as_it_is_renewed
    a_lost_lease_changes_nothing
    a_lease_is_for_its_own_cell
    sweeping_at_once_takes_a_cell_back_once
    a_run_that_waited_for_a_week_goes_on
}

/// The lease of default settings.
const LEASE: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);

impl Path {
    /// A started run of a scenario.
    pub(crate) async fn run_of(&self, source: &str) -> serde_json::Value {
        self.bench.scenario("probe", source).await;
        self.bench.keyed(&self.maker, "start_scenario_run", order("probe")).await.unwrap()
    }
}

async fn a_cell_has_one_holder(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(ONE).await;
    let claims = (0..5).map(|_| path.bench.app.claim(cell(&run, 0), "worker"));
    let got: Vec<_> = join_all(claims).await.into_iter().filter_map(Result::unwrap).collect();
    let [claim] = &got[..] else { panic!("{} workers have the cell", got.len()) };
    assert_eq!(claim.lease.attempt, 1);
    assert!(path.bench.app.claim(cell(&run, 0), "late").await.unwrap().is_none());
    let seen = path.bench.run(&run["id"]).await;
    assert_eq!((&seen["state"], &seen["cells"][0]["state"]), (&json!("running"), &json!("running")));
    assert_eq!(seen["cells"][0]["attempts"].as_array().unwrap().len(), 1);
    // Nor is there a cell to be had that does not exist or has ended.
    let nobody: CellId = "cel_00000000000000000000000000000000".parse().unwrap();
    assert!(path.bench.app.claim(nobody, "worker").await.unwrap().is_none());
    let submission = path.bench.shoot(claim, &file(1)).await;
    path.bench.hand_in(&claim.lease, &submission).await;
    assert!(path.bench.app.claim(cell(&run, 0), "late").await.unwrap().is_none());
}

async fn a_claim_holds_what_the_run_is_pinned_to(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(TWO_CELLS).await;
    let claim = path.bench.claim(&run, 1).await;
    assert_eq!((claim.profile_name.as_str(), json!(claim.profile)), ("phone", run["cells"][1]["profile"].clone()));
    assert_eq!((json!(claim.run), claim.base_url.as_str()), (run["id"].clone(), "http://staging.example/"));
    assert_eq!(json!(claim.scenario.canonical().unwrap().digest), run["pins"]["scenario_digest"]);
    assert!(claim.known_pictures.is_empty());
    let submission = path.bench.shoot(&claim, &file(1)).await;
    path.bench.hand_in(&claim.lease, &submission).await;
    path.bench.complete(&run, &file(2)).await;

    let mut order = order("probe");
    order["baseline"] = json!({ "receipt": "previous" });
    let run = path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
    let claim = path.bench.claim(&run, 1).await;
    let known: Vec<_> = claim.known_pictures.iter().map(|(name, digest)| (name.as_str(), *digest)).collect();
    assert_eq!(known, [("home", submission.checkpoints[0].picture.sha256)], "that of the same row");
}

async fn a_lease_lasts_as_long_as_it_is_renewed(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(ONE).await;
    let claim = path.bench.claim(&run, 0).await;
    for _ in 0..4 {
        path.bench.pass(LEASE - 2 * SECOND);
        assert_eq!(path.bench.app.sweep().await.unwrap(), 0);
        assert!(path.bench.app.renew(&claim.lease).await.unwrap());
    }
    let submission = path.bench.shoot(&claim, &file(1)).await;
    path.bench.hand_in(&claim.lease, &submission).await;
    assert_eq!(path.bench.run(&run["id"]).await["cells"][0]["attempts"].as_array().unwrap().len(), 1);
    // Nothing is left to renew or to submit.
    assert!(!path.bench.app.renew(&claim.lease).await.unwrap());
    assert!(!path.bench.app.submit(&claim.lease, &submission).await.unwrap());
}

async fn a_lost_lease_changes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = path.run_of(ONE).await;
    let stalled = bench.claim(&run, 0).await;
    let submission = bench.shoot(&stalled, &file(1)).await;
    let changes_nothing = async || {
        let before = bench.work();
        assert!(!bench.app.renew(&stalled.lease).await.unwrap());
        assert!(!bench.app.submit(&stalled.lease, &submission).await.unwrap());
        assert!(!bench.app.submit(&stalled.lease, &failed(FailureReason::BrowserCrashed)).await.unwrap());
        assert!(!bench.app.submit(&stalled.lease, &failed(FailureReason::TargetMissing)).await.unwrap());
        bench.app.register(stalled.lease.cell, stalled.lease.attempt).await.unwrap();
        assert_eq!(bench.work(), before);
    };
    bench.pass(LEASE + SECOND);
    changes_nothing().await;
    bench.lose_jobs();
    assert_eq!(bench.app.sweep().await.unwrap(), 1);
    assert_eq!(bench.jobs(), 1);
    changes_nothing().await;
    let next = bench.claim(&run, 0).await;
    assert_eq!(next.lease.attempt, 2);
    assert_ne!(next.lease.token, stalled.lease.token);
    changes_nothing().await;

    let submission = bench.shoot(&next, &file(2)).await;
    bench.hand_in(&next.lease, &submission).await;
    changes_nothing().await;
    let result = bench.result(&run["id"]).await;
    assert_eq!(result["state"], "completed");
    assert_eq!(result["checkpoints"][0]["capture_digest"], json!(submission.checkpoints[0].picture.sha256));
    let attempts = &bench.run(&run["id"]).await["cells"][0]["attempts"];
    assert_eq!((&attempts[0]["outcome"], &attempts[1]["outcome"]), (&json!("lost"), &json!("submitted")));
    assert_eq!(attempts[0]["failure"]["reason"], "worker_lost");
}

async fn a_lease_is_for_its_own_cell(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(TWO_CELLS).await;
    let (one, two) = (path.bench.claim(&run, 0).await, path.bench.claim(&run, 1).await);
    let crossed = Lease { cell: one.lease.cell, ..two.lease };
    let submission = path.bench.shoot(&one, &file(1)).await;
    let before = path.bench.work();
    assert!(!path.bench.app.renew(&crossed).await.unwrap());
    assert!(!path.bench.app.submit(&crossed, &submission).await.unwrap());
    assert!(!path.bench.app.submit(&crossed, &failed(FailureReason::BrowserCrashed)).await.unwrap());
    assert_eq!(path.bench.work(), before);
    // What was staged for one cell is not there for the other.
    path.bench.hand_in(&two.lease, &submission).await;
    let cells = &path.bench.run(&run["id"]).await["cells"];
    assert_eq!(cells[1]["failure"]["reason"], "registration_refused");
    assert_eq!(cells[0]["state"], "running");
}

async fn sweeping_at_once_takes_a_cell_back_once(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(ONE).await;
    path.bench.claim(&run, 0).await;
    path.bench.lose_jobs();
    path.bench.pass(LEASE + SECOND);
    for outcome in join_all((0..4).map(|_| path.bench.app.sweep())).await {
        outcome.unwrap();
    }
    // A sweeper that looked after the others saw a queued cell and may have asked for a worker once more.
    assert!(path.bench.jobs() >= 1);
    let claim = path.bench.claim(&run, 0).await;
    assert_eq!(claim.lease.attempt, 2);
    let attempts = &path.bench.run(&run["id"]).await["cells"][0]["attempts"];
    assert_eq!((attempts.as_array().unwrap().len(), &attempts[0]["outcome"]), (2, &json!("lost")));
}

/// Neither what a job names nor what a result refers to is good for a time only: rights are looked at on each use.
async fn a_run_that_waited_for_a_week_goes_on(engine: Engine) {
    const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
    let path = Path::on(engine).await;
    let bench = &path.bench;
    bench.scenario("one", ONE).await;
    let earlier = bench.keyed(&path.maker, "start_scenario_run", order("one")).await.unwrap();
    let before = bench.complete(&earlier, &file(1)).await;
    let waiting = order_with("one", "baseline", json!({ "receipt": "previous" }));
    let run = bench.keyed(&path.maker, "start_scenario_run", waiting).await.unwrap();
    bench.pass(WEEK);
    bench.app.sweep().await.unwrap();
    let result = bench.complete(&run, &file(1)).await;
    assert_eq!((&result["state"], &result["checkpoints"][0]["verdict"]), (&json!("completed"), &json!("matched")));
    bench.pass(WEEK);
    assert_eq!(bench.result(&earlier["id"]).await["checkpoints"], before["checkpoints"], "the same references");
    for result in [&before, &result] {
        let id = result["checkpoints"][0]["picture"]["id"].as_str().unwrap().parse().unwrap();
        let content = bench.app.artifact_content(&path.maker, id).await.unwrap();
        assert!(content.read().await.unwrap() == file(1));
    }
}
