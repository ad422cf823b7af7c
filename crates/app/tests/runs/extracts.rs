//! Extracted values: registered, compared with those of a baseline, and refused when they are not what was asked for.

use pinhole_app::Claim;
use pinhole_core::{ArtifactKind, Role, Submission};
use pinhole_testkit::{Engine, worker};
use serde_json::{Value, json};

use crate::{
    path::Path,
    rows::on_both_engines,
    support::{Bench, PROJECT},
    worker::order,
};

on_both_engines! {
    values_are_compared_field_by_field
    values_that_were_not_asked_for_are_refused
    values_become_a_structured_baseline
}

const SOURCE: &str = "schema: pinhole.scenario.v1\ntitle: Totals\nsteps:\n  - navigate: /\n  - extract: \
    { name: totals, values: { total: { text: { test_id: total } }, rows: { count: { css: tr } } } }\n";
const TOTALS: &str = "totals";

async fn prepared(engine: Engine) -> Path {
    let path = Path::on(engine).await;
    let writer = path.bench.person("Tina", &[Role::Author]).await;
    let scenario = json!({ "project": PROJECT, "slug": TOTALS, "source": SOURCE });
    path.bench.keyed(&writer, "create_scenario", scenario).await.unwrap();
    path
}

impl Bench {
    /// What an honest worker says, with `bytes` as the file of values.
    async fn read(&self, claim: &Claim, bytes: &[u8]) -> Submission {
        let values = self.app.stage(&claim.lease, ArtifactKind::Values, "values-0", bytes.to_vec()).await.unwrap();
        let extract = worker::extract(&TOTALS.parse().unwrap(), values, &claim.profile);
        Submission { extracts: vec![extract], ..self.shoot(claim, b"").await }
    }
}

/// A run whose file of values is `bytes`, compared with `baseline`: the run and its result.
async fn run(path: &Path, baseline: Value, bytes: &[u8]) -> (Value, Value) {
    let mut order = order(TOTALS);
    order["baseline"] = baseline;
    let run = path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
    let claim = path.bench.claim(&run, 0).await;
    let submission = path.bench.read(&claim, bytes).await;
    path.bench.hand_in(&claim.lease, &submission).await;
    (path.bench.run(&run["id"]).await, path.bench.result(&run["id"]).await)
}

async fn values_are_compared_field_by_field(engine: Engine) {
    let path = prepared(engine).await;
    let (_, first) = run(&path, json!({ "none": true }), br#"{"rows":3,"total":"42"}"#).await;
    let checkpoint = &first["checkpoints"][0];
    assert_eq!((&checkpoint["kind"], &checkpoint["verdict"]), (&json!("structured"), &json!("new")), "{first:#}");
    assert_eq!(checkpoint["picture"]["kind"], "values");
    let reference = json!({ "receipt": checkpoint["receipt_id"] });
    let (_, same) = run(&path, reference.clone(), br#"{"rows":3,"total":"42"}"#).await;
    assert_eq!(same["checkpoints"][0]["verdict"], "matched");
    let (_, other) = run(&path, reference, br#"{"rows":4,"total":"42"}"#).await;
    let checkpoint = &other["checkpoints"][0];
    assert_eq!(checkpoint["verdict"], "changed");
    assert_eq!(checkpoint["comparison"]["account"], json!({ "equal": 1, "added": 0, "removed": 0, "changed": 1 }));
    let difference = json!({ "kind": "changed", "field": "rows", "before": 3, "after": 4 });
    assert_eq!(checkpoint["comparison"]["regions"], json!([difference]));
}

async fn values_that_were_not_asked_for_are_refused(engine: Engine) {
    let path = prepared(engine).await;
    let long = format!("{{\"rows\":3,\"total\":\"{}\"}}", "x".repeat(10_001));
    for lie in [
        "",
        "[]",
        "{}",
        r#"{"rows":3}"#,
        r#"{"rows":3,"total":42}"#,
        r#"{"rows":"3","total":"42"}"#,
        r#"{"rows":-1,"total":"42"}"#,
        r#"{"rows":3,"total":"42","x":1}"#,
        r#"{ "rows": 3, "total": "42" }"#,
        r#"{"total":"42","rows":3}"#,
        &long,
    ] {
        let (run, result) = run(&path, json!({ "none": true }), lie.as_bytes()).await;
        assert_eq!(run["cells"][0]["failure"]["reason"], "registration_refused", "{lie}");
        assert_eq!(result["checkpoints"], json!([]), "{lie}");
    }
}

async fn values_become_a_structured_baseline(engine: Engine) {
    let path = prepared(engine).await;
    let bench = &path.bench;
    let (author, approver) =
        (bench.person("Berta", &[Role::Author]).await, bench.person("Anton", &[Role::Approver]).await);
    let (_, first) = run(&path, json!({ "none": true }), br#"{"rows":3,"total":"42"}"#).await;
    let receipt = json!({ "receipt_id": first["checkpoints"][0]["receipt_id"] });
    let visual = bench.keyed(&author, "capture_visual_baseline", receipt.clone()).await.unwrap_err();
    assert_eq!(visual.reason(), Some("other_kind"));
    let candidate = bench.keyed(&author, "capture_baseline", receipt).await.unwrap();
    assert_eq!(candidate["key"]["kind"], "structured");

    let item = json!({ "candidate_id": candidate["id"] });
    let request = json!({ "project": PROJECT, "items": [item] });
    let approval = bench.keyed(&author, "request_baseline_approval", request).await.unwrap();
    let session = bench.app.begin_session(approver.principal, "password").await.unwrap();
    let approver = bench.app.authenticate_session(&session.secret, approver.request).await.unwrap();
    let decision =
        json!({ "approval_id": approval["id"], "expected_version": 1, "outcome": "approve", "reason": "right" });
    bench.call(&approver, "decide_approval", decision).await.unwrap();
    let consume = json!({
        "approval_id": approval["id"], "intent_digest": approval["intent_digest"], "expected_version": 0,
    });
    let made = bench.keyed(&author, "consume_baseline_approval", consume).await.unwrap();
    assert_eq!((&made["revision"], &made["entries"]), (&json!(1), &json!(1)));

    let pinned = json!({ "line": "main", "latest": true });
    let (seen, same) = run(&path, pinned.clone(), br#"{"rows":3,"total":"42"}"#).await;
    assert_eq!((&seen["verdict"], &same["checkpoints"][0]["verdict"]), (&json!("passed"), &json!("matched")));
    let (seen, _) = run(&path, pinned, br#"{"rows":3,"total":"43"}"#).await;
    assert_eq!(seen["verdict"], "changed");
}
