//! `capture_visual_baseline`: what can become a candidate, and for whom.

use pinhole_app::TryRun;
use pinhole_core::{Outcome, PrincipalClass, Role};
use pinhole_scenario::{Format, parse};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    path::{Path, darker},
    support::{Bench, GOOD, Look, refused},
};

#[tokio::test(flavor = "multi_thread")]
async fn only_evidence_of_a_completed_run_becomes_a_candidate() {
    let path = Path::on(Engine::Sqlite).await;
    let blurred = path.capture(Look { not_evidence: true, ..GOOD }).await;
    assert_eq!(refused(path.candidate(blurred.receipts["cart"]).await), ("conflict", "not_evidence".into()));
    let failed = path.capture(Look { fails: true, ..GOOD }).await;
    let run = path.bench.call(&path.maker, "get_scenario_run", json!({ "run_id": failed.run })).await.unwrap();
    assert_eq!((&run["state"], failed.receipts.len()), (&json!("failed"), 1));
    assert_eq!(refused(path.candidate(failed.receipts["cart"]).await), ("conflict", "run_not_completed".into()));
    let good = path.capture(GOOD).await;
    let view = path.candidate(good.receipts["cart"]).await.unwrap();
    assert_eq!((&view["state"], &view["current_entry"]), (&json!("ready"), &json!(null)));
    assert_eq!(view["key"]["checkpoint"], "cart");
}

#[tokio::test(flavor = "multi_thread")]
async fn captures_of_trial_runs_are_references_only() {
    let bench = Bench::on(Engine::Sqlite).await;
    let source = "schema: pinhole.scenario.v1\ntitle: Page\nsteps:\n  - navigate: /\n  - capture: { name: cart }\n";
    let target = TryRun {
        name: "page".parse().unwrap(),
        base_url: "http://localhost/".parse().unwrap(),
        scenario: parse(source, Format::Yaml).unwrap(),
    };
    let run = bench.app.start_try_run(&target).await.unwrap();
    let captured = bench.finish(&serde_json::to_value(run).unwrap(), GOOD).await;
    let author = bench.person("Arthur", &[]).await;
    bench.app.grant(&"Arthur".parse().unwrap(), &"try".parse().unwrap(), None, Role::Author).await.unwrap();
    let input = json!({ "receipt_id": captured.receipts["cart"] });
    let outcome = bench.keyed(&author, "capture_visual_baseline", input).await;
    assert_eq!(refused(outcome), ("conflict", "reference_only".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_needs_the_grant_on_the_receipts_environment() {
    let path = Path::on(Engine::Sqlite).await;
    let captured = path.capture(GOOD).await;
    let input = json!({ "receipt_id": captured.receipts["cart"] });
    let elsewhere = path.bench.principal(PrincipalClass::User, "Liv", Some("live"), &[Role::Author]).await;
    let outcome = path.bench.keyed(&elsewhere, "capture_visual_baseline", input.clone()).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));
    let outcome = path.bench.keyed(&path.reviewer, "capture_visual_baseline", input.clone()).await;
    assert_eq!(refused(outcome), ("permission_denied", "baseline.write".into()));
    // What does not exist looks like what is hidden.
    let unknown = json!({ "receipt_id": "rcp_00000000000000000000000000000000" });
    let outcome = path.bench.keyed(&path.maker, "capture_visual_baseline", unknown).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));
    let outcome = path.bench.call(&path.maker, "capture_visual_baseline", input).await;
    assert_eq!(refused(outcome), ("precondition_required", "idempotency_key".into()));
    let on_line = json!({ "receipt_id": captured.receipts["cart"], "line": "release/1" });
    let outcome = path.bench.keyed(&path.maker, "capture_visual_baseline", on_line).await;
    assert_eq!(refused(outcome), ("conflict", "no_such_line".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_gives_the_first_candidate_as_it_is_now() {
    let path = Path::on(Engine::Sqlite).await;
    let captured = path.capture(GOOD).await;
    let call = async |receipt: &str| {
        let input = json!({ "receipt_id": captured.receipts[receipt], "idempotency_key": "same" });
        path.bench.call(&path.maker, "capture_visual_baseline", input).await
    };
    let first = call("cart").await.unwrap();
    let again = call("cart").await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&first["id"], &json!(true)));
    let error = call("total").await.unwrap_err();
    assert_eq!((error.reason(), error.details().first_id.as_deref()), (Some("changed_intent"), first["id"].as_str()));
    // Another candidate of the same key is consumed: this one would replace it now.
    let approval = path.requested(darker(50)).await;
    let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
    path.consume(&approval, 0).await.unwrap();
    assert!(call("cart").await.unwrap()["current_entry"].is_string());
}
