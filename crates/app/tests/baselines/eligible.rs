//! What a run is compared with: what was approved, and nothing that merely came later, came from elsewhere or was left
//! out. Nothing but a retirement or an invalidation takes a baseline away.

use pinhole_core::{BaselineEntryId, BaselineKey, Disposition, Outcome};
use pinhole_store::Entry;
use pinhole_testkit::Engine;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    path::{Path, darker, reason},
    rows::on_both_engines,
    support::{GOOD, Look, PROJECT, refused},
};

on_both_engines! {
    what_nobody_approved_is_no_baseline_however_new
    a_run_of_a_part_removes_nothing
    what_was_not_asked_for_stays_unapproved
    a_failed_accept_leaves_the_good_one_counting
    a_baseline_of_another_environment_is_none
    lists_longer_than_any_page_are_whole
}

impl Path {
    /// The result of a run in `environment` against the newest revision of the line.
    async fn against_latest(&self, environment: &str, look: Look) -> Value {
        let run = self.bench.start(&self.maker, environment, json!({ "line": "main", "latest": true })).await;
        self.bench.finish(&run, look).await;
        self.bench.call(&self.maker, "get_scenario_run_result", json!({ "run_id": run["id"] })).await.unwrap()
    }

    /// The checkpoints that have an active baseline in `environment`, with its receipt.
    async fn active(&self, environment: &str) -> Vec<(String, Value)> {
        let input = json!({ "project": PROJECT, "state": "active", "environment": environment });
        let list = self.bench.call(&self.maker, "list_baselines", input).await.unwrap();
        let entries = list["baselines"].as_array().unwrap().iter();
        let mut found: Vec<_> = entries
            .map(|entry| (entry["key"]["checkpoint"].as_str().unwrap().to_owned(), entry["receipt_id"].clone()))
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }

    /// Has the given items approved and consumed.
    async fn consumed(&self, items: Value, expected: u32) -> Value {
        let approval = self.request(items).await.unwrap();
        let approval = self.decide(&approval, Outcome::Approve).await.unwrap();
        self.consume(&approval, expected).await.unwrap()
    }
}

fn verdicts(result: &Value) -> Vec<&str> {
    result["checkpoints"].as_array().unwrap().iter().map(|found| found["verdict"].as_str().unwrap()).collect()
}

async fn what_nobody_approved_is_no_baseline_however_new(engine: Engine) {
    let path = Path::on(engine).await;
    let (_, made) = path.materialised(GOOD, 0).await;
    let approved = path.active("staging").await;
    // Each of these is newer than what was approved: captured only, rejected, waiting, denied, failed, no evidence.
    path.capture(darker(20)).await;
    let rejected = path.capture(darker(30)).await;
    path.review(&[rejected.receipts["cart"]], Disposition::Reject).await;
    path.requested(darker(40)).await;
    let denied = path.requested(darker(50)).await;
    path.decide(&denied, Outcome::Deny).await.unwrap();
    path.capture(Look { fails: true, ..darker(60) }).await;
    path.capture(Look { not_evidence: true, ..darker(70) }).await;

    assert_eq!(path.active("staging").await, approved);
    let result = path.against_latest("staging", GOOD).await;
    assert_eq!((&result["verdict"], verdicts(&result)), (&json!("passed"), vec!["matched", "matched"]));
    // Why it was compared with that is said: the exact revision, by its digest.
    let pinned = &result["pins"]["baseline"];
    assert_eq!((&pinned["kind"], &pinned["revision"], &pinned["digest"]), (&json!("line"), &json!(1), &made["digest"]));
    for shade in [20, 30, 40, 50, 60, 70] {
        let result = path.against_latest("staging", darker(shade)).await;
        assert_eq!(result["verdict"], "changed", "shade {shade}");
    }
}

async fn a_run_of_a_part_removes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let both = path.active("staging").await;
    assert_eq!(both.len(), 2);
    // A run that ends after the first of two checkpoints.
    let part = path.against_latest("staging", Look { fails: true, ..GOOD }).await;
    assert_eq!((&part["state"], verdicts(&part)), (&json!("failed"), vec!["matched"]));
    assert_eq!(path.active("staging").await, both);
    // A revision of the scenario that has only one of them left: its captures become a baseline.
    let scenarios = path.bench.call(&path.maker, "list_scenarios", json!({ "project": PROJECT })).await.unwrap();
    let scenario = &scenarios["scenarios"][0];
    let source =
        "schema: pinhole.scenario.v1\ntitle: Checkout\nsteps:\n  - navigate: /cart\n  - capture: { name: cart }\n";
    let revision = json!({
        "scenario_id": scenario["id"], "source": source, "expected_version": scenario["version"],
    });
    path.bench.call(&path.maker, "submit_scenario_revision", revision).await.unwrap();
    let result = path.against_latest("staging", GOOD).await;
    assert_eq!((&result["verdict"], verdicts(&result)), (&json!("passed"), vec!["matched"]));
    let items = path.items(darker(90)).await;
    assert_eq!(items.as_array().unwrap().len(), 1);
    let made = path.consumed(items, 1).await;
    assert_eq!((&made["revision"], &made["entries"]), (&json!(2), &json!(2)));
    let after = path.active("staging").await;
    assert_eq!(after[1], both[1], "the other one stays as it was");
    assert_ne!(after[0], both[0]);
    assert!(path.bench.tree("main", 2).await.keys().any(|name| name.contains("/total@")));
}

async fn what_was_not_asked_for_stays_unapproved(engine: Engine) {
    let path = Path::on(engine).await;
    let names = ["a", "b", "c", "d", "e"];
    let captures: String = names.iter().map(|name| format!("  - capture: {{ name: {name} }}\n")).collect();
    let source = format!("schema: pinhole.scenario.v1\ntitle: Views\nsteps:\n  - navigate: /\n{captures}");
    let scenario = json!({ "project": PROJECT, "slug": "views", "source": source });
    path.bench.keyed(&path.maker, "create_scenario", scenario).await.unwrap();
    let start = async || {
        let order = json!({
            "project": PROJECT, "scenario": "views", "revision": { "head": true }, "environment": "staging",
            "environment_revision": { "latest": true }, "baseline": { "line": "main", "latest": true },
        });
        let run = path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
        let captured = path.bench.finish(&run, GOOD).await;
        let input = json!({ "run_id": run["id"] });
        (captured, path.bench.call(&path.maker, "get_scenario_run_result", input).await.unwrap())
    };
    let (captured, _) = start().await;
    let receipts: Vec<_> = captured.receipts.values().copied().collect();
    let reviews = path.review(&receipts, Disposition::Accept).await;
    let mut items = Vec::new();
    for (receipt, review) in receipts.iter().zip(reviews["reviews"].as_array().unwrap()) {
        let candidate = path.candidate(*receipt).await.unwrap();
        items.push(json!({ "candidate_id": candidate["id"], "review_id": review["id"] }));
    }
    // All five are reviewed; three are asked for and approved.
    path.consumed(json!(items[..3]), 0).await;
    let active: Vec<_> = path.active("staging").await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(active, names[..3]);
    for _ in 0..2 {
        let (_, result) = start().await;
        assert_eq!(result["verdict"], "needs_baseline", "asked anew, it is what it was");
        assert_eq!(verdicts(&result), ["matched", "matched", "matched", "new", "new"]);
    }
    let mut tx = path.bench.app.store().begin_read().await.unwrap();
    for (place, item) in items.iter().enumerate() {
        let id = item["candidate_id"].as_str().unwrap().parse().unwrap();
        let state = tx.candidate(id).await.unwrap().unwrap().state;
        assert_eq!(state.as_str(), if place < 3 { "consumed" } else { "ready" });
    }
}

async fn a_failed_accept_leaves_the_good_one_counting(engine: Engine) {
    let path = Path::on(engine).await;
    let good = path.capture(GOOD).await.receipts["cart"];
    let review = path.review(&[good], Disposition::Accept).await["reviews"][0]["id"].clone();
    let candidate = path.candidate(good).await.unwrap();
    let skipped = path.capture(Look { not_evidence: true, ..GOOD }).await.receipts["cart"];
    let failed = path.capture(Look { fails: true, ..GOOD }).await.receipts["cart"];
    let before = path.bench.counts_of("reviews");
    // The same person accepts again, with captures that prove nothing, are of another run, or without a ticket.
    for receipts in [vec![skipped], vec![skipped, good], vec![good, failed], vec![good]] {
        let (name, why) = ("Rita".parse().unwrap(), reason("I looked"));
        let made = path.bench.app.create_review_ticket(&name, &receipts, Disposition::Accept, &why).await;
        let ticket = made.ok().filter(|_| receipts.len() > 1 || receipts[0] == skipped).map(|ticket| ticket.secret);
        let input = json!({ "receipts": receipts, "disposition": "accept", "reason": why, "ticket": ticket });
        refused(path.bench.keyed(&path.reviewer, "review_visual_baseline", input).await);
    }
    assert_eq!(path.bench.counts_of("reviews"), before);
    let items = json!([{ "candidate_id": candidate["id"], "review_id": review }]);
    let made = path.consumed(items, 0).await;
    assert_eq!((&made["revision"], &made["entries"]), (&json!(1), &json!(1)));
    // What it rests on is there, as long as it counts.
    let run = path.bench.call(&path.maker, "get_capture_receipt", json!({ "receipt_id": good })).await.unwrap();
    assert!(run["envelope"].is_object(), "{run}");
}

async fn a_baseline_of_another_environment_is_none(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    // Equal pixels elsewhere are nobody's approval: each environment has baselines of its own.
    let live = path.against_latest("live", GOOD).await;
    assert_eq!((&live["verdict"], verdicts(&live)), (&json!("needs_baseline"), vec!["new", "new"]));
    assert_eq!(path.active("live").await, []);
    // One is recorded anew from what is broken, and the other keeps what it had and says so.
    let item = path.item("live", "cart", 10).await;
    path.consumed(json!([item]), 1).await;
    let item = path.item("staging", "cart", 200).await;
    path.consumed(json!([item]), 2).await;
    let live = path.against_latest("live", darker(200)).await;
    assert_eq!(verdicts(&live)[0], "changed");
    // Who wants to compare two environments names the other one, and the pins say which it was.
    let of_staging = json!({ "line": "main", "latest": true, "of_environment": "staging" });
    let run = path.bench.start(&path.maker, "live", of_staging).await;
    assert_ne!(run["pins"]["baseline"]["environment"], run["pins"]["environment"]);
    path.bench.finish(&run, darker(10)).await;
    let input = json!({ "run_id": run["id"] });
    let result = path.bench.call(&path.maker, "get_scenario_run_result", input).await.unwrap();
    assert_eq!(verdicts(&result)[0], "changed", "the drift is seen");
}

/// More than object stores and database drivers give at once: 1,000, and three times that.
async fn lists_longer_than_any_page_are_whole(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let mut tx = path.bench.app.store().begin_read().await.unwrap();
    let project = tx.project_by_slug(&PROJECT.parse().unwrap()).await.unwrap().unwrap().id;
    let model = tx.entries_at(project, &"main".parse().unwrap(), 1, None, None, 1).await.unwrap().remove(0);
    drop(tx);
    let mut there = 2;
    for wanted in [1_001_u32, 3_001] {
        let mut tx = path.bench.app.store().begin_write().await.unwrap();
        for number in there..wanted {
            let entry = Entry {
                id: BaselineEntryId::from_uuid(Uuid::from_u128(number.into())),
                key: BaselineKey { checkpoint: format!("view-{number}").parse().unwrap(), ..model.key.clone() },
                ..model.clone()
            };
            tx.insert_entry(&entry).await.unwrap();
        }
        tx.commit().await.unwrap();
        there = wanted;
        for (operation, member) in [("list_baselines", "baselines"), ("get_catalog_revision", "entries")] {
            let mut found = std::collections::BTreeSet::new();
            let mut cursor = Value::Null;
            loop {
                let mut input = json!({ "project": PROJECT, "limit": 200, "cursor": cursor });
                if operation == "get_catalog_revision" {
                    input["revision"] = json!(1);
                }
                let page = path.bench.call(&path.maker, operation, input).await.unwrap();
                for entry in page[member].as_array().unwrap() {
                    assert!(found.insert(entry["id"].to_string()), "{operation}: twice {entry}");
                }
                cursor = page["next_cursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            assert_eq!(found.len(), wanted as usize, "{operation}");
        }
        // What is pinned counts all of them, and a run finds its own among them.
        let result = path.against_latest("staging", GOOD).await;
        assert_eq!(verdicts(&result), ["matched", "matched"], "at {wanted}");
    }
}
