//! `consume_baseline_approval`: once, exactly what was approved, from the revision that the caller has seen.

use pinhole_core::{Disposition, Outcome, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{DAY, Path, consumption, darker},
    support::{GOOD, PROJECT, refused},
};

impl Path {
    async fn approved(&self, shade: u8) -> Value {
        let approval = self.requested(darker(shade)).await;
        self.decide(&approval, Outcome::Approve).await.unwrap()
    }

    pub(crate) async fn head(&self) -> u32 {
        let mut tx = self.bench.app.store().begin_read().await.unwrap();
        let project = tx.project_by_slug(&PROJECT.parse().unwrap()).await.unwrap().unwrap().id;
        let line = tx.catalog_line(project, &"main".parse().unwrap()).await.unwrap();
        line.map_or(0, |line| line.head_revision)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consumption_needs_key_version_intent_and_approval() {
    let path = Path::on(Engine::Sqlite).await;
    let pending = path.requested(GOOD).await;
    assert_eq!(refused(path.consume(&pending, 0).await), ("conflict", "not_approved".into()));
    let approval = path.approved(20).await;
    let call = async |input: Value| path.bench.call(&path.maker, "consume_baseline_approval", input).await;
    let mut input = consumption(&approval, 0);
    assert_eq!(refused(call(input.clone()).await), ("precondition_required", "idempotency_key".into()));
    input["idempotency_key"] = "one".into();
    input["expected_version"] = Value::Null;
    assert_eq!(refused(call(input.clone()).await), ("precondition_required", "expected_version".into()));
    input["expected_version"] = 1.into();
    assert_eq!(refused(call(input.clone()).await), ("conflict", "stale_version".into()));
    input["expected_version"] = 0.into();
    input["intent_digest"] = pending["intent_digest"].clone();
    assert_eq!(refused(call(input).await), ("conflict", "other_intent".into()));
    assert_eq!(path.head().await, 0);
    path.consume(&approval, 0).await.unwrap();
    assert_eq!(refused(path.consume(&approval, 1).await), ("conflict", "not_approved".into()));
    assert_eq!(path.head().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_author_or_an_owner_consumes() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = path.approved(20).await;
    let call = async |actor| path.bench.keyed(actor, "consume_baseline_approval", consumption(&approval, 0)).await;
    assert_eq!(refused(call(&path.approver).await), ("permission_denied", "baseline.write".into()));
    let colleague = path.bench.person("Cleo", &[Role::Author]).await;
    assert_eq!(refused(call(&colleague).await), ("permission_denied", "owner".into()));
    let owner = path.bench.service("release", &[Role::Author, Role::Owner]).await;
    assert_eq!(call(&owner).await.unwrap()["revision"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_ran_out_is_not_consumed() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = path.approved(20).await;
    path.bench.clock.advance(7 * DAY);
    assert_eq!(refused(path.consume(&approval, 0).await), ("conflict", "expired".into()));
    assert_eq!((path.state(&approval).await, path.head().await), (json!("expired"), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_entry_or_review_supersedes_and_a_foreign_revision_does_not() {
    let path = Path::on(Engine::Sqlite).await;
    let (one, two) = (path.approved(20).await, path.approved(30).await);
    let live = path.bench.capture(&path.maker, "live", GOOD).await;
    let receipt = live.receipts["cart"];
    let review = path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
    let candidate = path.candidate(receipt).await.unwrap();
    let items = json!([{ "candidate_id": candidate["id"], "review_id": review }]);
    let other_keys = path.request(items).await.unwrap();
    let other_keys = path.decide(&other_keys, Outcome::Approve).await.unwrap();

    path.consume(&one, 0).await.unwrap();
    assert_eq!(refused(path.consume(&two, 1).await), ("conflict", "superseded".into()));
    assert_eq!(path.state(&two).await, "superseded");
    assert_eq!(refused(path.consume(&two, 1).await), ("conflict", "not_approved".into()));
    let view = path.consume(&other_keys, 1).await.unwrap();
    assert_eq!((&view["revision"], &view["entries"]), (&json!(2), &json!(3)));

    let captured = path.capture(darker(40)).await;
    let receipt = captured.receipts["total"];
    let review = path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
    let candidate = path.candidate(receipt).await.unwrap();
    let approval = path.request(json!([{ "candidate_id": candidate["id"], "review_id": review }])).await.unwrap();
    let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
    path.review(&[receipt], Disposition::Accept).await;
    assert_eq!(refused(path.consume(&approval, 2).await), ("conflict", "superseded".into()));
    assert_eq!(path.head().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_reads_the_first_revision_again() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = path.approved(20).await;
    let mut input = consumption(&approval, 0);
    input["idempotency_key"] = "same".into();
    let call = async |input: &Value| path.bench.call(&path.maker, "consume_baseline_approval", input.clone()).await;
    let first = call(&input).await.unwrap();
    // Later revisions change nothing about it.
    let next = path.approved(30).await;
    path.consume(&next, 1).await.unwrap();
    let mut expected = first.clone();
    expected["replayed"] = true.into();
    assert_eq!(call(&input).await.unwrap(), expected);
    input["expected_version"] = 2.into();
    let error = call(&input).await.unwrap_err();
    assert_eq!(error.reason(), Some("changed_intent"));
    assert_eq!(error.details().first_id.as_deref(), approval["id"].as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consumers_at_once_one_makes_the_revision_on_both_databases() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        // One approval under two keys, and under one key twice.
        for (head, keys) in [(0, ["a", "b"]), (1, ["c", "c"])] {
            let approval = path.approved(20 + u8::try_from(head).unwrap()).await;
            let call = async |key: &str| {
                let mut input = consumption(&approval, head);
                input["idempotency_key"] = key.into();
                path.bench.call(&path.maker, "consume_baseline_approval", input).await
            };
            let (one, two) = tokio::join!(call(keys[0]), call(keys[1]));
            let made = [&one, &two].into_iter().flatten().filter(|view| view["replayed"] == false).count();
            assert_eq!((made, path.head().await), (1, head + 1), "{one:?} {two:?}");
            for other in [one, two] {
                match other {
                    Ok(view) => assert_eq!(view["revision"], head + 1),
                    Err(error) => assert_eq!((keys[0], error.reason()), ("a", Some("stale_version"))),
                }
            }
        }
        // Two approvals of different keys from the same revision: the loser tries again and needs no second decision.
        let (one, two) = (path.approved(60).await, path.live().await);
        let (first, second) = tokio::join!(path.consume(&one, 2), path.consume(&two, 2));
        let loser = if first.is_ok() { &two } else { &one };
        let refusal = [first, second].into_iter().find(Result::is_err).expect("one of them was too late");
        assert_eq!(refused(refusal), ("conflict", "stale_version".into()));
        assert_eq!(path.consume(loser, 3).await.unwrap()["revision"], 4);
    }
}

impl Path {
    /// An approved request in the other environment.
    async fn live(&self) -> Value {
        let receipt = self.bench.capture(&self.maker, "live", GOOD).await.receipts["cart"];
        let review = self.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
        let candidate = self.candidate(receipt).await.unwrap();
        let items = json!([{ "candidate_id": candidate["id"], "review_id": review }]);
        let approval = self.request(items).await.unwrap();
        self.decide(&approval, Outcome::Approve).await.unwrap()
    }
}
