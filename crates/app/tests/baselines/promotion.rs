//! `promote_catalog_line`: what one line has is approved for another, with the receipts and reviews that there are. What
//! the other line has got since the fork is in the way, and is named.

use pinhole_core::{Actor, Disposition, Error, Outcome, Result, Role};
use pinhole_receipt::verify_statements;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    lines::RELEASE,
    path::{Path, consumption, darker},
    support::{GOOD, PROJECT, authenticate, refused},
};

const CART: &str = "baselines/staging/checkout/visual/cart@default.json";
const TOTAL: &str = "baselines/staging/checkout/visual/total@default.json";

/// A path whose line `main` has a revision from which [`RELEASE`] was forked.
struct Forked {
    path: Path,
    /// Owner and author, by token.
    keeper: Actor,
}

impl Forked {
    async fn on(engine: Engine) -> Self {
        let path = Path::on(engine).await;
        path.materialised(GOOD, 0).await;
        path.fork(1).await;
        let keeper = path.bench.service("keeper", &[Role::Owner, Role::Author]).await;
        Self { path, keeper }
    }

    /// Promotes the release, at `revision`, with these members besides.
    async fn promote(&self, revision: u32, members: Value) -> Result<Value> {
        let mut input = json!({ "project": PROJECT, "from": RELEASE, "revision": revision });
        input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.path.bench.keyed(&self.keeper, "promote_catalog_line", input).await
    }

    async fn consume(&self, approval: &Value, expected: u32) -> Result<Value> {
        let input = consumption(approval, expected);
        self.path.bench.keyed(&self.keeper, "consume_baseline_approval", input).await
    }

    /// The receipt that `main` has at the path of a checkpoint; none where it has no active entry.
    async fn on_main(&self, checkpoint: &str) -> Value {
        let main = self.path.bench.revision(&self.path.maker, "main", json!("latest")).await;
        let mut entries = main["entries"].as_array().unwrap().iter();
        entries.find(|entry| entry["key"]["checkpoint"] == checkpoint).map_or(Value::Null, |e| e["receipt_id"].clone())
    }

    /// Ends an entry of `main` as an owner in person.
    async fn end_on_main(&self, operation: &str, checkpoint: &str, expected: u32) {
        let bench = &self.path.bench;
        let main = bench.revision(&self.path.maker, "main", json!("latest")).await;
        let mut entries = main["entries"].as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["key"]["checkpoint"] == checkpoint).unwrap();
        let user = authenticate(&bench.app, "Olga").await;
        let session = bench.app.begin_session(user.principal, "test").await.unwrap();
        let person = bench.app.authenticate_session(&session.secret, user.request).await.unwrap();
        let input = json!({ "entry_id": entry["id"], "reason": "gone", "expected_version": expected });
        bench.keyed(&person, operation, input).await.unwrap();
    }

    /// Forks another line from a revision of `from`.
    async fn fork(&self, line: &str, from: &str, revision: u32) {
        let fork = json!({ "project": PROJECT, "line": line, "from": from, "revision": revision });
        self.path.bench.keyed(&self.path.bench.owner, "fork_catalog_line", fork).await.unwrap();
    }
}

fn conflicts(outcome: Result<Value>) -> Vec<String> {
    let error: Error = outcome.expect_err("something is in the way");
    assert_eq!(error.reason(), Some("changed_since_fork"), "{error}");
    for item in &error.details().items[..1] {
        assert!(error.message().contains(item), "{error}");
    }
    error.details().items.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_line_approved_is_approved_for_another_with_the_same_evidence() {
    for engine in Engine::ALL {
        let forked = Forked::on(engine).await;
        let (path, bench) = (&forked.path, &forked.path.bench);
        let receipt = path.changed_on(RELEASE, "cart", darker(60), 1).await;
        let release = bench.revision(&path.maker, RELEASE, json!(2)).await;
        let before = (bench.counts_of("receipts"), bench.counts_of("reviews"));

        let approval = forked.promote(2, json!({ "release_label": "1.0" })).await.unwrap();
        let intent = &approval["intent"];
        let origin = json!({ "line": RELEASE, "revision": 2, "digest": release["digest"] });
        assert_eq!((&approval["state"], &approval["kind"]), (&json!("pending"), &json!("baseline")));
        assert_eq!((&intent["line"], &intent["promoted_from"]), (&json!("main"), &origin));
        let [item] = &intent["items"].as_array().unwrap()[..] else { panic!("{intent}") };
        assert_eq!((&item["key"]["checkpoint"], &item["key"]["line"]), (&json!("cart"), &json!("main")));
        assert_eq!(
            (bench.counts_of("receipts"), bench.counts_of("reviews")),
            before,
            "nothing is captured or reviewed"
        );
        // The author is still who captured it, so that two persons stay two.
        let candidate = item["candidate"].as_str().unwrap().parse().unwrap();
        let mut tx = bench.app.store().begin_read().await.unwrap();
        assert_eq!(tx.candidate(candidate).await.unwrap().unwrap().author, path.maker.principal);
        drop(tx);

        let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
        let made = forked.consume(&approval, 1).await.unwrap();
        assert_eq!((&made["line"], &made["revision"], &made["entries"]), (&json!("main"), &json!(2), &json!(2)));
        assert_eq!(forked.on_main("cart").await, json!(receipt));
        let report = verify_statements(&bench.tree("main", 2).await, &bench.keys).unwrap();
        assert_eq!((report.active_entries, report.forked_from), (2, None));

        let nothing = forked.promote(2, json!({})).await;
        assert_eq!(refused(nothing), ("conflict", "nothing_to_promote".into()));
        // What came from the line itself is no change since the fork.
        path.changed_on(RELEASE, "cart", darker(70), 2).await;
        let next = forked.promote(3, json!({})).await.unwrap();
        assert_eq!(next["intent"]["items"][0]["key"]["checkpoint"], "cart");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_line_brings_back_nothing_that_was_superseded() {
    for engine in Engine::ALL {
        let forked = Forked::on(engine).await;
        let path = &forked.path;
        let newer = path.changed_on("main", "total", darker(40), 1).await;
        // The release has changed nothing, and still has what `main` has replaced.
        assert_eq!(conflicts(forked.promote(1, json!({})).await), [TOTAL]);
        let own = path.changed_on(RELEASE, "cart", darker(60), 1).await;
        assert_eq!(conflicts(forked.promote(2, json!({})).await), [TOTAL]);
        let approval = forked.promote(2, json!({ "leave_out": [TOTAL] })).await.unwrap();
        let items = approval["intent"]["items"].as_array().unwrap();
        assert_eq!((items.len(), &items[0]["key"]["checkpoint"]), (1, &json!("cart")));
        let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
        assert_eq!(forked.consume(&approval, 2).await.unwrap()["revision"], 3);
        assert_eq!((forked.on_main("cart").await, forked.on_main("total").await), (json!(own), json!(newer)));

        // The other way round `main` is the newer one, but for what the release approved itself.
        path.changed_on(RELEASE, "total", darker(61), 2).await;
        let back = json!({ "from": "main", "line": RELEASE, "revision": 3 });
        assert_eq!(conflicts(forked.promote(3, back).await), [TOTAL]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_since_the_fork_is_in_the_way_and_what_ended_before_is_not() {
    let forked = Forked::on(Engine::Sqlite).await;
    let path = &forked.path;
    forked.end_on_main("retire_baseline", "cart", 1).await;
    assert_eq!(conflicts(forked.promote(1, json!({})).await), [CART]);
    // A line that was forked later has known that end.
    forked.fork("later", "main", 2).await;
    let receipt = path.changed_on("later", "cart", darker(60), 1).await;
    let approval = forked.promote(2, json!({ "from": "later" })).await.unwrap();
    let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
    forked.consume(&approval, 2).await.unwrap();
    assert_eq!(forked.on_main("cart").await, json!(receipt));
}

/// `main` ends or replaces an entry after the release was forked, and another line is forked after that.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_takes_nothing_back_that_ended_before_it_was_forked() {
    for engine in Engine::ALL {
        for operation in ["retire_baseline", "invalidate_baseline", "rebaseline"] {
            let forked = Forked::on(engine).await;
            let path = &forked.path;
            match operation {
                "rebaseline" => _ = path.changed_on("main", "cart", darker(40), 1).await,
                ended => forked.end_on_main(ended, "cart", 1).await,
            }
            forked.fork("later", "main", 2).await;
            forked.fork("latest", "later", 1).await;
            for line in ["later", "latest", "main"] {
                let outcome = forked.promote(1, json!({ "line": line })).await;
                assert_eq!(conflicts(outcome), [CART], "{operation}, to {line}");
            }
            // What the release has found out since is no less in the way.
            path.changed_on(RELEASE, "cart", darker(60), 1).await;
            path.changed_on(RELEASE, "total", darker(60), 2).await;
            assert_eq!(conflicts(forked.promote(3, json!({ "line": "latest" })).await), [CART], "{operation}");
            let approval = forked.promote(3, json!({ "line": "latest", "leave_out": [CART] })).await.unwrap();
            assert_eq!(approval["intent"]["items"][0]["key"]["checkpoint"], "total");
            // A line that comes from after the end has known it, and may carry the key again.
            forked.fork("sibling", "main", 2).await;
            let receipt = path.changed_on("sibling", "cart", darker(70), 1).await;
            let approval = forked.promote(2, json!({ "from": "sibling", "line": "latest" })).await.unwrap();
            let item = &approval["intent"]["items"][0];
            assert_eq!(item["key"]["checkpoint"], "cart", "{operation}");
            let candidate = item["candidate"].as_str().unwrap().parse().unwrap();
            let mut tx = path.bench.app.store().begin_read().await.unwrap();
            assert_eq!(tx.candidate(candidate).await.unwrap().unwrap().receipt_id, Some(receipt));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_tells_of_each_candidate_that_it_opens() {
    for engine in Engine::ALL {
        let forked = Forked::on(engine).await;
        let path = &forked.path;
        path.changed_on(RELEASE, "cart", darker(60), 1).await;
        path.changed_on(RELEASE, "total", darker(60), 2).await;
        let approval = forked.promote(3, json!({})).await.unwrap();
        let mut rows = path.bench.dump();
        for item in approval["intent"]["items"].as_array().unwrap() {
            let candidate = item["candidate"].as_str().unwrap();
            for table in ["audit", "events"] {
                let of_it = rows[table].iter().filter(|row| row.contains(candidate)).count();
                assert_eq!(of_it, 1, "{table} {candidate}");
            }
        }
        let events = rows.remove("events").unwrap();
        assert_eq!(events.iter().filter(|row| row.contains("candidate.ready")).count(), 6, "four by captures");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_is_superseded_by_changes_of_its_own_keys_alone() {
    let forked = Forked::on(Engine::Sqlite).await;
    let path = &forked.path;
    path.changed_on(RELEASE, "cart", darker(60), 1).await;
    let [survives, ends] = [forked.promote(2, json!({})).await.unwrap(), forked.promote(2, json!({})).await.unwrap()];
    let survives = path.decide(&survives, Outcome::Approve).await.unwrap();
    let ends = path.decide(&ends, Outcome::Approve).await.unwrap();
    path.changed_on("main", "total", darker(40), 1).await;
    path.changed_on(RELEASE, "cart", darker(61), 2).await;
    assert_eq!(forked.consume(&survives, 2).await.unwrap()["revision"], 3);
    assert_eq!(refused(forked.consume(&ends, 3).await), ("conflict", "superseded".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_was_rejected_since_is_named_and_can_be_left_out() {
    let forked = Forked::on(Engine::Sqlite).await;
    let path = &forked.path;
    let cart = path.changed_on(RELEASE, "cart", darker(60), 1).await;
    path.changed_on(RELEASE, "total", darker(60), 2).await;
    path.review(&[cart], Disposition::Reject).await;
    let error = forked.promote(3, json!({})).await.unwrap_err();
    assert_eq!(error.reason(), Some("not_accepted"));
    assert!(error.message().contains(CART), "{error}");
    let approval = forked.promote(3, json!({ "leave_out": [CART] })).await.unwrap();
    assert_eq!(approval["intent"]["items"][0]["key"]["checkpoint"], "total");
    // Accepted once more, it goes with its newest review.
    let again = path.review(&[cart], Disposition::Accept).await["reviews"][0]["id"].clone();
    let approval = forked.promote(3, json!({})).await.unwrap();
    assert_eq!(approval["intent"]["items"][0]["review"], again);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_needs_an_owner_a_key_and_the_present_revision() {
    let forked = Forked::on(Engine::Sqlite).await;
    let (path, bench) = (&forked.path, &forked.path.bench);
    path.changed_on(RELEASE, "cart", darker(60), 1).await;
    let input = json!({ "project": PROJECT, "from": RELEASE, "revision": 2 });
    let stranger = bench.service("stranger", &[]).await;
    let outcome = bench.keyed(&stranger, "promote_catalog_line", input.clone()).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));
    for actor in [&path.maker, &path.approver] {
        let outcome = bench.keyed(actor, "promote_catalog_line", input.clone()).await;
        assert_eq!(refused(outcome), ("permission_denied", "line.write".into()));
    }
    let outcome = bench.call(&forked.keeper, "promote_catalog_line", input.clone()).await;
    assert_eq!(refused(outcome), ("precondition_required", "idempotency_key".into()));
    let nowhere = json!({ "remote": "nowhere", "branch": "baselines" });
    for (members, code, reason) in [
        (json!({ "revision": 1 }), "conflict", "stale_version"),
        (json!({ "revision": 3 }), "conflict", "stale_version"),
        (json!({ "line": RELEASE }), "invalid_arguments", ""),
        (json!({ "line": "nowhere" }), "conflict", "no_such_line"),
        (json!({ "from": "nowhere" }), "conflict", "no_such_line"),
        (json!({ "leave_out": ["baselines/x.json"] }), "invalid_arguments", ""),
        (json!({ "leave_out": [CART] }), "conflict", "nothing_to_promote"),
        (json!({ "publication": nowhere }), "conflict", "no_such_remote"),
    ] {
        let error = forked.promote(2, members.clone()).await.unwrap_err();
        assert_eq!(error.code().as_str(), code, "{members}");
        assert!(reason.is_empty() || error.reason() == Some(reason), "{members}: {error}");
    }
    let same = json!({ "idempotency_key": "same" });
    let call = async |more: Value| {
        let mut input = input.clone();
        input.as_object_mut().unwrap().extend(same.as_object().unwrap().clone());
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.call(&forked.keeper, "promote_catalog_line", input).await
    };
    let first = call(json!({})).await.unwrap();
    let again = call(json!({})).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&first["id"], &json!(true)));
    assert_eq!(refused(call(json!({ "release_label": "x" })).await), ("conflict", "changed_intent".into()));
}
