//! What becomes of baselines: captured anew, retired, found wrong, each with its refusals. What is pinned to older
//! revisions stays as it is, byte for byte.

use std::time::Duration;

use pinhole_core::{Actor, Disposition, Outcome, PrincipalClass, RequestId, Role};
use pinhole_receipt::{CatalogReport, verify_statements};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker},
    support::{Bench, GOOD, Look, PROJECT, authenticate, refused},
};

/// An owner by token.
pub(crate) struct Owned {
    pub(crate) path: Path,
    pub(crate) owner: Actor,
}

impl Owned {
    /// With revision 1 of the line, which has two entries.
    pub(crate) async fn on(engine: Engine) -> Self {
        let path = Path::on(engine).await;
        path.materialised(GOOD, 0).await;
        let owner = path.bench.service("keeper", &[Role::Owner]).await;
        Self { path, owner }
    }

    pub(crate) fn bench(&self) -> &Bench {
        &self.path.bench
    }

    /// A user in a session that began a moment ago.
    pub(crate) async fn session(&self, name: &str) -> Actor {
        let app = &self.bench().app;
        let user = authenticate(app, name).await.principal;
        let session = app.begin_session(user, "test").await.unwrap();
        let request = RequestId::from_uuid(uuid::Uuid::from_u128(7));
        app.authenticate_session(&session.secret, request).await.unwrap()
    }

    /// The active entry of a checkpoint.
    pub(crate) async fn entry(&self, checkpoint: &str) -> Value {
        let input = json!({ "project": PROJECT, "state": "active" });
        let list = self.bench().call(&self.path.maker, "list_baselines", input).await.unwrap();
        let entries = list["baselines"].as_array().unwrap();
        entries.iter().find(|entry| entry["key"]["checkpoint"] == checkpoint).unwrap().clone()
    }

    pub(crate) async fn end(
        &self,
        actor: &Actor,
        operation: &str,
        entry: &Value,
        more: Value,
    ) -> pinhole_core::Result<Value> {
        let mut input = json!({ "entry_id": entry["id"], "reason": "no longer shown", "expected_version": 1 });
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        if input["idempotency_key"].is_null() {
            input["idempotency_key"] = self.bench().fresh_key().into();
        }
        self.bench().call(actor, operation, input).await
    }

    /// An approval to end the entry, decided.
    pub(crate) async fn gate(&self, operation: &str, entry: &Value, outcome: Outcome) -> Value {
        let asked = self.end(&self.owner, operation, entry, json!({})).await.unwrap();
        assert_eq!(asked["outcome"], "approval_required");
        self.path.decide(&asked["approval"], outcome).await.unwrap()
    }

    /// Everything about a revision that never changes.
    pub(crate) async fn pinned(&self, revision: u32) -> Value {
        let input = json!({ "project": PROJECT, "revision": revision });
        let mut view = self.bench().call(&self.path.maker, "get_catalog_revision", input).await.unwrap();
        for entry in view["entries"].as_array_mut().unwrap() {
            entry["state"] = Value::Null;
        }
        view
    }

    /// Verifies the tree that would be published for a revision.
    async fn verify(&self, number: u32) -> CatalogReport {
        verify_statements(&self.bench().tree("main", number).await, &self.bench().keys).unwrap()
    }

    /// Accepts, requests, approves and consumes one candidate.
    pub(crate) async fn materialise(&self, candidate: &Value, expected: u32) -> pinhole_core::Result<Value> {
        let receipt = candidate["receipt_id"].as_str().unwrap().parse().unwrap();
        let reviews = self.path.review(&[receipt], Disposition::Accept).await;
        let items = json!([{ "candidate_id": candidate["id"], "review_id": reviews["reviews"][0]["id"] }]);
        let approval = self.path.request(items).await?;
        let approval = self.path.decide(&approval, Outcome::Approve).await?;
        self.path.consume(&approval, expected).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_in_a_fresh_session_ends_an_entry_at_once() {
    for engine in Engine::ALL {
        let owned = Owned::on(engine).await;
        owned.bench().person("Otto", &[Role::Owner]).await;
        let human = owned.session("Otto").await;
        let (cart, total) = (owned.entry("cart").await, owned.entry("total").await);
        let before = owned.pinned(1).await;

        let retired = owned.end(&human, "retire_baseline", &cart, json!({})).await.unwrap();
        assert_eq!((&retired["outcome"], &retired["revision"]), (&json!("completed"), &json!(2)));
        assert_eq!(
            (&retired["baseline"]["state"], &retired["baseline"]["until_revision"]),
            (&json!("retired"), &json!(2))
        );
        let cause = &retired["cause"];
        assert_eq!(
            (&cause["kind"], &cause["entry"], &cause["reason"]),
            (&json!("retired"), &cart["id"], &json!("no longer shown"))
        );
        assert_eq!(cause.get("approval"), None);
        let wrong = owned.end(&human, "invalidate_baseline", &total, json!({ "expected_version": 2 })).await.unwrap();
        assert_eq!((&wrong["baseline"]["state"], &wrong["revision"]), (&json!("invalidated"), &json!(3)));

        assert_eq!(owned.pinned(1).await, before, "an older revision stays as it is");
        assert_eq!(owned.pinned(3).await["entries"], json!([]));
        assert_eq!(owned.pinned(3).await["previous_digest"], retired["digest"]);
        for (number, active) in [(1, 2), (2, 1), (3, 0)] {
            let report = owned.verify(number).await;
            assert_eq!((report.entries, report.active_entries), (2, active));
        }
        // The key is free for a new baseline.
        let captured = owned.path.capture(darker(90)).await;
        let candidate = owned.path.candidate(captured.receipts["cart"]).await.unwrap();
        assert_eq!(owned.materialise(&candidate, 3).await.unwrap()["revision"], 4);
        let report = owned.verify(4).await;
        assert_eq!((report.entries, report.active_entries), (2, 1));
        let gone = owned.end(&human, "retire_baseline", &cart, json!({ "expected_version": 4 })).await;
        assert_eq!(refused(gone), ("conflict", "not_active".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_no_person_needs_an_approval_which_is_used_once() {
    for engine in Engine::ALL {
        let owned = Owned::on(engine).await;
        let cart = owned.entry("cart").await;
        let before = owned.pinned(1).await;
        let first = json!({ "idempotency_key": "retire-cart" });
        let asked = owned.end(&owned.owner, "retire_baseline", &cart, first.clone()).await.unwrap();
        assert_eq!((&asked["outcome"], &asked["approval"]["state"]), (&json!("approval_required"), &json!("pending")));
        assert_eq!(
            (&asked["approval"]["kind"], &asked["approval"]["intent"]["reason"]),
            (&json!("retire"), &json!("no longer shown"))
        );
        assert_eq!(asked["approval"]["intent"]["items"][0]["current_entry"], cart["digest"]);
        let again = owned.end(&owned.owner, "retire_baseline", &cart, first.clone()).await.unwrap();
        assert_eq!(
            (&again["approval"]["id"], &again["approval"]["replayed"]),
            (&asked["approval"]["id"], &json!(true))
        );
        assert_eq!(owned.entry("cart").await, cart, "nothing happened");

        let mut with = first.clone();
        with["approval_id"] = asked["approval"]["id"].clone();
        let early = owned.end(&owned.owner, "retire_baseline", &cart, with.clone()).await;
        assert_eq!(refused(early), ("conflict", "not_approved".into()));
        let approved = owned.path.decide(&asked["approval"], Outcome::Approve).await.unwrap();
        let not_for_this = owned.path.consume(&approved, 1).await;
        assert_eq!(refused(not_for_this), ("conflict", "other_kind".into()));

        let done = owned.end(&owned.owner, "retire_baseline", &cart, with.clone()).await.unwrap();
        assert_eq!((&done["outcome"], &done["replayed"]), (&json!("completed"), &json!(false)));
        assert_eq!(done["cause"]["approval"], asked["approval"]["id"]);
        assert_eq!(owned.path.state(&approved).await, "consumed");
        let replayed = owned.end(&owned.owner, "retire_baseline", &cart, with.clone()).await.unwrap();
        assert_eq!((&replayed["digest"], &replayed["replayed"]), (&done["digest"], &json!(true)));
        // Used twice, with a key of its own.
        let twice = json!({ "approval_id": approved["id"], "expected_version": 2 });
        assert_eq!(
            refused(owned.end(&owned.owner, "retire_baseline", &cart, twice).await),
            ("conflict", "not_active".into())
        );
        assert_eq!(owned.pinned(1).await, before);
        let report = owned.verify(2).await;
        assert_eq!((report.entries, report.active_entries), (2, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_opens_for_exactly_what_was_asked() {
    let owned = Owned::on(Engine::Sqlite).await;
    let (cart, total) = (owned.entry("cart").await, owned.entry("total").await);
    let denied = owned.gate("retire_baseline", &cart, Outcome::Deny).await;
    let outcome = owned.end(&owned.owner, "retire_baseline", &cart, json!({ "approval_id": denied["id"] })).await;
    assert_eq!(refused(outcome), ("conflict", "not_approved".into()));

    let approved = owned.gate("retire_baseline", &cart, Outcome::Approve).await;
    let with = |more: Value| {
        let mut input = json!({ "approval_id": approved["id"] });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    for (operation, entry, more) in [
        ("retire_baseline", &total, json!({})),
        ("invalidate_baseline", &cart, json!({})),
        ("retire_baseline", &cart, json!({ "reason": "another" })),
    ] {
        let outcome = owned.end(&owned.owner, operation, entry, with(more)).await;
        assert_eq!(refused(outcome), ("conflict", "other_intent".into()), "{operation}");
    }
    let unknown = json!({ "approval_id": "apr_00000000000000000000000000000000" });
    let outcome = owned.end(&owned.owner, "retire_baseline", &cart, unknown).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));
    // A baseline approval opens no such gate.
    let other = owned.path.requested(darker(80)).await;
    let other = owned.path.decide(&other, Outcome::Approve).await.unwrap();
    let outcome = owned.end(&owned.owner, "retire_baseline", &cart, json!({ "approval_id": other["id"] })).await;
    assert_eq!(refused(outcome), ("conflict", "other_intent".into()));

    // When the entry was replaced meanwhile, the approval is superseded, or the entry no longer active.
    owned.path.consume(&other, 1).await.unwrap();
    let outcome = owned.end(&owned.owner, "retire_baseline", &cart, with(json!({ "expected_version": 2 }))).await;
    assert_eq!(refused(outcome), ("conflict", "not_active".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_an_entry_needs_an_owner_and_the_present_revision() {
    for operation in ["retire_baseline", "invalidate_baseline"] {
        let owned = Owned::on(Engine::Sqlite).await;
        let bench = owned.bench();
        let cart = owned.entry("cart").await;
        let outcome = owned.end(&owned.path.maker, operation, &cart, json!({})).await;
        assert_eq!(refused(outcome), ("permission_denied", "baseline.retire".into()));
        let elsewhere = bench.principal(PrincipalClass::Service, "liver", Some("live"), &[Role::Owner]).await;
        let stranger = bench.service("stranger", &[]).await;
        for actor in [&elsewhere, &stranger] {
            assert_eq!(refused(owned.end(actor, operation, &cart, json!({})).await), ("not_found", String::new()));
        }
        let missing = json!({ "id": "bse_00000000000000000000000000000000" });
        assert_eq!(
            refused(owned.end(&owned.owner, operation, &missing, json!({})).await),
            ("not_found", String::new())
        );
        for (version, expected) in [
            (Value::Null, ("precondition_required", "expected_version")),
            (json!(0), ("conflict", "stale_version")),
            (json!(2), ("conflict", "stale_version")),
        ] {
            let outcome = owned.end(&owned.owner, operation, &cart, json!({ "expected_version": version })).await;
            assert_eq!(refused(outcome), (expected.0, expected.1.to_owned()));
        }
        let input = json!({ "entry_id": cart["id"], "reason": "old", "expected_version": 1 });
        let outcome = bench.call(&owned.owner, operation, input).await;
        assert_eq!(refused(outcome), ("precondition_required", "idempotency_key".into()));
        assert_eq!(owned.entry("cart").await, cart);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_for_a_key_without_entry_ends_with_one_that_comes_and_goes() {
    for engine in Engine::ALL {
        let owned = Owned::on(engine).await;
        let (bench, path) = (owned.bench(), &owned.path);
        let mut approvals = Vec::new();
        for shade in [10, 20] {
            let requested = path.request(json!([path.item("live", "cart", shade).await])).await.unwrap();
            approvals.push(path.decide(&requested, Outcome::Approve).await.unwrap());
        }
        path.consume(&approvals[0], 1).await.unwrap();
        let list = json!({ "project": PROJECT, "state": "active", "environment": "live" });
        let list = bench.call(&path.maker, "list_baselines", list).await.unwrap();
        bench.clock.advance(Duration::from_secs(1));
        let end = async |approval: Value| {
            let more = json!({ "expected_version": 2, "approval_id": approval });
            owned.end(&owned.owner, "retire_baseline", &list["baselines"][0], more).await.unwrap()
        };
        let asked = end(Value::Null).await;
        let gate = path.decide(&asked["approval"], Outcome::Approve).await.unwrap();
        end(gate["id"].clone()).await;
        assert_eq!(refused(path.consume(&approvals[1], 3).await), ("conflict", "superseded".into()));
        assert_eq!((path.state(&approvals[1]).await, path.head().await), (json!("superseded"), 3));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebaseline_from_a_receipt_replaces_its_entry() {
    for engine in Engine::ALL {
        let owned = Owned::on(engine).await;
        let (bench, maker) = (owned.bench(), &owned.path.maker);
        let cart = owned.entry("cart").await;
        let captured = owned.path.capture(darker(120)).await;
        let call = async |entry: &Value, receipt: &str, version: Value| {
            let input = json!({
                "entry_id": entry["id"], "receipt_id": captured.receipts[receipt], "reason": "new colours",
                "expected_version": version,
            });
            bench.keyed(maker, "rebaseline", input).await
        };
        let before = owned.pinned(1).await;
        assert_eq!(refused(call(&cart, "total", json!(1)).await), ("conflict", "other_key".into()));
        assert_eq!(refused(call(&cart, "cart", json!(0)).await), ("conflict", "stale_version".into()));
        assert_eq!(
            refused(call(&cart, "cart", Value::Null).await),
            ("precondition_required", "expected_version".into())
        );
        let candidate = call(&cart, "cart", json!(1)).await.unwrap();
        assert_eq!((&candidate["state"], &candidate["replaces"]), (&json!("ready"), &cart["id"]));
        assert_eq!((&candidate["reason"], &candidate["current_entry"]), (&json!("new colours"), &cart["digest"]));
        assert_eq!(owned.pinned(1).await, before, "no catalog row changes");

        let late = call(&cart, "cart", json!(1)).await.unwrap();
        assert_eq!(owned.materialise(&candidate, 1).await.unwrap()["revision"], 2);
        assert_ne!(owned.entry("cart").await["id"], cart["id"]);
        assert_eq!(owned.pinned(1).await, before);
        assert_eq!(owned.verify(2).await.active_entries, 2);
        // Another candidate that was to replace the same entry comes too late.
        assert_eq!(refused(owned.materialise(&late, 2).await), ("conflict", "other_entry".into()));
        assert_eq!(refused(call(&cart, "cart", json!(2)).await), ("conflict", "not_active".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebaseline_by_a_run_is_ready_when_the_run_ends_well() {
    for engine in Engine::ALL {
        let owned = Owned::on(engine).await;
        let (bench, maker) = (owned.bench(), &owned.path.maker);
        let cart = owned.entry("cart").await;
        let order = |key: &str| {
            json!({
                "entry_id": cart["id"], "reason": "new colours", "expected_version": 1, "idempotency_key": key,
                "run": { "revision": { "head": true }, "environment_revision": { "latest": true } },
            })
        };
        for (key, look, state) in [
            ("good", darker(120), "ready"),
            ("worthless", Look { not_evidence: true, ..GOOD }, "unusable"),
            ("failing", Look { fails: true, ..GOOD }, "unusable"),
        ] {
            let candidate = bench.call(maker, "rebaseline", order(key)).await.unwrap();
            assert_eq!((&candidate["state"], &candidate["receipt_id"]), (&json!("capturing"), &Value::Null));
            let run = bench.call(maker, "get_scenario_run", json!({ "run_id": candidate["run_id"] })).await.unwrap();
            assert_eq!((&run["pins"]["baseline"]["revision"], &run["state"]), (&json!(1), &json!("queued")));
            let captured = bench.finish(&run, look).await;
            let again = bench.call(maker, "rebaseline", order(key)).await.unwrap();
            assert_eq!(
                (&again["id"], &again["state"], &again["replayed"]),
                (&candidate["id"], &json!(state), &json!(true))
            );
            let receipt = if state == "ready" { json!(captured.receipts["cart"]) } else { Value::Null };
            assert_eq!(again["receipt_id"], receipt);
            if state == "ready" {
                assert_eq!(again["capture_digest"].as_str().map(|digest| &digest[..7]), Some("sha256:"));
            }
        }
        let good = bench.call(maker, "rebaseline", order("good")).await.unwrap();
        assert_eq!(owned.materialise(&good, 1).await.unwrap()["revision"], 2);
        let run = bench.call(maker, "get_scenario_run_result", json!({ "run_id": good["run_id"] })).await.unwrap();
        assert_eq!(run["pins"]["baseline"]["revision"], 1, "pins stay");
        // Starting a run needs the right to.
        let author = bench.service("writer", &[Role::Author]).await;
        let outcome = bench.call(&author, "rebaseline", order("mine")).await;
        assert_eq!(refused(outcome), ("permission_denied", "run.start".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_by_a_run_is_unusable_when_the_run_is_cancelled() {
    let owned = Owned::on(Engine::Sqlite).await;
    let (bench, maker) = (owned.bench(), &owned.path.maker);
    let order = |checkpoint: &str, key: &str| {
        json!({
            "run": {
                "project": PROJECT, "scenario": "checkout", "revision": { "head": true }, "environment": "staging",
                "environment_revision": { "latest": true }, "baseline": { "none": true },
                "checkpoint": checkpoint, "profile": "default",
            },
            "idempotency_key": key,
        })
    };
    let outcome = bench.call(maker, "capture_visual_baseline", order("elsewhere", "a")).await;
    assert_eq!(refused(outcome), ("conflict", "no_such_checkpoint".into()));
    let candidate = bench.call(maker, "capture_visual_baseline", order("total", "b")).await.unwrap();
    assert_eq!((&candidate["state"], &candidate["key"]["checkpoint"]), (&json!("capturing"), &json!("total")));
    // It can be requested no sooner than it is captured.
    let captured = owned.path.capture(GOOD).await;
    let reviews = owned.path.review(&[captured.receipts["total"]], Disposition::Accept).await;
    let items = json!([{ "candidate_id": candidate["id"], "review_id": reviews["reviews"][0]["id"] }]);
    assert_eq!(refused(owned.path.request(items).await), ("conflict", "candidate_not_ready".into()));
    let cancel = json!({ "run_id": candidate["run_id"], "expected_version": 1 });
    bench.call(maker, "cancel_scenario_run", cancel).await.unwrap();
    let again = bench.call(maker, "capture_visual_baseline", order("total", "b")).await.unwrap();
    assert_eq!((&again["state"], &again["replayed"]), (&json!("unusable"), &json!(true)));
    let both = json!({ "receipt_id": captured.receipts["cart"], "run": order("cart", "c")["run"] });
    for input in [both, json!({})] {
        let (code, _) = refused(bench.keyed(maker, "capture_visual_baseline", input).await);
        assert_eq!(code, "invalid_arguments");
    }
}
