//! Lines: forked from an exact revision, run against, approved on, listed; every refusal of a fork.

use pinhole_core::{Actor, Disposition, Outcome, ReceiptId, Result, Role};
use pinhole_receipt::verify_statements;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker},
    support::{Bench, GOOD, Look, PROJECT, refused},
};

/// The line that tests fork.
pub(crate) const RELEASE: &str = "release/1";

impl Path {
    /// Forks [`RELEASE`] from a revision of `main`.
    pub(crate) async fn fork(&self, revision: u32) -> Value {
        let input = json!({ "project": PROJECT, "line": RELEASE, "revision": revision });
        self.bench.keyed(&self.bench.owner, "fork_catalog_line", input).await.unwrap()
    }

    /// Captures the scenario and has one checkpoint approved on a line, ready to be consumed.
    pub(crate) async fn approved_on(&self, line: &str, checkpoint: &str, look: Look) -> (ReceiptId, Value) {
        let receipt = self.capture(look).await.receipts[checkpoint];
        let candidate = json!({ "receipt_id": receipt, "line": line });
        let candidate = self.bench.keyed(&self.maker, "capture_visual_baseline", candidate).await.unwrap();
        assert_eq!(candidate["key"]["line"], line);
        let review = self.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
        let items = json!([{ "candidate_id": candidate["id"], "review_id": review }]);
        let request = json!({ "project": PROJECT, "line": line, "items": items });
        let approval = self.bench.keyed(&self.maker, "request_baseline_approval", request).await.unwrap();
        assert_eq!((&approval["intent"]["line"], &approval["intent"]["promoted_from"]), (&json!(line), &Value::Null));
        (receipt, self.decide(&approval, Outcome::Approve).await.unwrap())
    }

    /// The same, consumed.
    pub(crate) async fn changed_on(&self, line: &str, checkpoint: &str, look: Look, expected: u32) -> ReceiptId {
        let (receipt, approval) = self.approved_on(line, checkpoint, look).await;
        let made = self.consume(&approval, expected).await.unwrap();
        assert_eq!((&made["line"], &made["revision"]), (&json!(line), &json!(expected + 1)));
        receipt
    }
}

impl Bench {
    /// A revision of a line.
    pub(crate) async fn revision(&self, actor: &Actor, line: &str, revision: Value) -> Value {
        let input = json!({ "project": PROJECT, "line": line, "revision": revision });
        self.call(actor, "get_catalog_revision", input).await.unwrap()
    }
}

fn column<'a>(revision: &'a Value, member: &str) -> Vec<&'a Value> {
    revision["entries"].as_array().unwrap().iter().map(|entry| &entry[member]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_begins_with_the_entries_of_an_exact_revision() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        path.materialised(GOOD, 0).await;
        path.materialised(darker(99), 1).await;
        let (bench, maker) = (&path.bench, &path.maker);
        let main = bench.revision(maker, "main", json!(1)).await;
        let forked = path.fork(1).await;
        let origin = json!({ "line": "main", "revision": 1, "digest": main["digest"] });
        assert_eq!(
            (&forked["line"], &forked["revision"], &forked["forked_from"]),
            (&json!(RELEASE), &json!(1), &origin)
        );

        let first = bench.revision(maker, RELEASE, json!("latest")).await;
        assert_eq!((&first["digest"], &first["previous_digest"]), (&forked["digest"], &main["digest"]));
        let cause = json!({ "kind": "forked", "line": "main", "revision": 1, "digest": main["digest"] });
        assert_eq!(first["cause"], cause);
        for same in ["receipt_id", "approval_id"] {
            assert_eq!(column(&first, same), column(&main, same), "{same}");
        }
        assert_eq!(column(&first, "state"), ["active", "active"], "whatever became of them on the other line");
        assert!(column(&first, "id").iter().all(|id| !column(&main, "id").contains(id)));
        assert_eq!(bench.revision(maker, "main", json!("latest")).await["revision"], 2, "the other line stays");

        path.changed_on(RELEASE, "cart", darker(60), 1).await;
        for (number, statements) in [(1, 1), (2, 2)] {
            let report = verify_statements(&bench.tree(RELEASE, number).await, &bench.keys).unwrap();
            assert_eq!((report.revision, report.active_entries), (number, 2));
            assert_eq!(json!(report.forked_from), origin);
            assert!(report.statements > statements);
        }
        let lines = bench.call(maker, "list_catalog_lines", json!({ "project": PROJECT })).await.unwrap();
        let lines = lines["lines"].as_array().unwrap().clone();
        let heads: Vec<_> = lines.iter().map(|line| (&line["line"], &line["revision"], &line["forked_from"])).collect();
        assert_eq!(heads, [(&json!("main"), &json!(2), &Value::Null), (&json!(RELEASE), &json!(2), &origin)]);
        for line in &lines {
            let input = json!({ "project": PROJECT, "line": line["line"] });
            assert_eq!(bench.call(maker, "get_catalog_line", input).await.unwrap(), *line);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_compare_with_the_line_that_they_are_pinned_to() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        path.materialised(GOOD, 0).await;
        path.materialised(darker(99), 1).await;
        path.fork(1).await;
        let (bench, maker) = (&path.bench, &path.maker);
        for (environment, baseline, verdict) in [
            ("staging", json!({ "line": RELEASE, "latest": true }), "passed"),
            ("staging", json!({ "line": RELEASE, "revision": 1 }), "passed"),
            ("staging", json!({ "line": "main", "latest": true }), "changed"),
            ("live", json!({ "line": RELEASE, "latest": true, "of_environment": "staging" }), "passed"),
            ("live", json!({ "line": RELEASE, "latest": true }), "needs_baseline"),
        ] {
            let run = bench.start(maker, environment, baseline.clone()).await;
            assert_eq!(run["pins"]["baseline"]["name"], baseline["line"]);
            bench.finish(&run, GOOD).await;
            let result = bench.call(maker, "get_scenario_run_result", json!({ "run_id": run["id"] })).await.unwrap();
            assert_eq!(result["verdict"], verdict, "{environment} {baseline}");
        }
        // A name that was never forked is no empty line.
        let order = |baseline: Value| {
            json!({
                "project": PROJECT, "scenario": crate::support::SCENARIO, "revision": { "head": true },
                "environment": "staging", "environment_revision": { "latest": true }, "baseline": baseline,
            })
        };
        let mistyped = order(json!({ "line": "relaese/1", "latest": true }));
        let outcome = bench.keyed(maker, "start_scenario_run", mistyped).await;
        assert_eq!(refused(outcome), ("conflict", "no_such_line".into()));
        let beyond = order(json!({ "line": RELEASE, "revision": 2 }));
        assert_eq!(refused(bench.keyed(maker, "start_scenario_run", beyond).await), ("not_found", String::new()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_needs_an_owner_a_key_a_revision_and_a_free_name() {
    let path = Path::on(Engine::Sqlite).await;
    path.materialised(GOOD, 0).await;
    let bench = &path.bench;
    let fork = |members: Value| {
        let mut input = json!({ "project": PROJECT, "line": RELEASE, "revision": 1 });
        input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        input
    };
    let call =
        async |actor: &Actor, input: Value| -> Result<Value> { bench.keyed(actor, "fork_catalog_line", input).await };
    let stranger = bench.service("stranger", &[]).await;
    assert_eq!(refused(call(&stranger, fork(json!({}))).await), ("not_found", String::new()));
    for actor in [&path.maker, &path.approver, &path.reviewer] {
        assert_eq!(refused(call(actor, fork(json!({}))).await), ("permission_denied", "line.write".into()));
    }
    // A grant in one environment is none on the line, which is the whole project's.
    let class = pinhole_core::PrincipalClass::Service;
    let narrow = bench.principal(class, "keeper", Some("staging"), &[Role::Owner]).await;
    assert_eq!(refused(call(&narrow, fork(json!({}))).await), ("permission_denied", "line.write".into()));
    let owner = &bench.owner;
    for (members, expected) in [
        (json!({ "revision": 2 }), ("not_found", "")),
        (json!({ "revision": 0 }), ("not_found", "")),
        (json!({ "from": "elsewhere" }), ("not_found", "")),
        (json!({ "project": "nothing" }), ("not_found", "")),
        (json!({ "line": "main" }), ("conflict", "exists")),
    ] {
        let outcome = call(owner, fork(members.clone())).await;
        assert_eq!(refused(outcome), (expected.0, expected.1.to_owned()), "{members}");
    }
    let keyless = bench.call(owner, "fork_catalog_line", fork(json!({}))).await;
    assert_eq!(refused(keyless), ("precondition_required", "idempotency_key".into()));

    let first = bench.call(owner, "fork_catalog_line", fork(json!({ "idempotency_key": "same" }))).await.unwrap();
    let mut expected = first.clone();
    expected["replayed"] = true.into();
    let again = bench.call(owner, "fork_catalog_line", fork(json!({ "idempotency_key": "same" }))).await.unwrap();
    assert_eq!(again, expected);
    assert_eq!(refused(call(owner, fork(json!({}))).await), ("conflict", "exists".into()));
    let other = bench.call(owner, "fork_catalog_line", fork(json!({ "idempotency_key": "same", "line": "two" }))).await;
    assert_eq!(refused(other), ("conflict", "changed_intent".into()));
    // A line can be forked from a fork.
    let grandchild = call(owner, fork(json!({ "line": "hotfix", "from": RELEASE }))).await.unwrap();
    assert_eq!(grandchild["forked_from"]["line"], RELEASE);
    let report = verify_statements(&bench.tree("hotfix", 1).await, &bench.keys).unwrap();
    assert_eq!(report.active_entries, 2);
}
