//! One key, one intent, one run.

use futures::future::join_all;
use pinhole_core::{Error, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::Path,
    rows::on_both_engines,
    support::{GOOD, SCENARIO},
    worker::{ONE, TWO_CELLS, order, order_with},
};

on_both_engines! {
    a_repeat_gives_the_first_run_as_it_is_now
    a_changed_intent_names_the_first_run
    what_moved_in_between_is_a_changed_intent
    a_key_belongs_to_one_principal
    calls_at_once_make_one_run
}

impl Path {
    async fn with_key(&self, mut order: Value) -> Result<Value, Error> {
        order["idempotency_key"] = "same".into();
        self.bench.call(&self.maker, "start_scenario_run", order).await
    }

    /// That the same key with this order is refused, names `first` and writes nothing.
    async fn is_another_intent(&self, order: Value, first: &Value) {
        let before = self.bench.counts();
        let error = self.with_key(order).await.unwrap_err();
        assert_eq!((error.code().as_str(), error.reason()), ("conflict", Some("changed_intent")));
        assert_eq!(json!(error.details().first_id), first["id"]);
        assert_eq!(self.bench.counts(), before);
    }
}

async fn a_repeat_gives_the_first_run_as_it_is_now(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.with_key(order(SCENARIO)).await.unwrap();
    let before = path.bench.counts();
    let mut again = path.with_key(order(SCENARIO)).await.unwrap();
    assert_eq!((&first["replayed"], &again["replayed"]), (&json!(false), &json!(true)));
    again["replayed"] = false.into();
    assert_eq!(again, first);
    // Other words for the same pins are the same intent.
    let exact = order_with(SCENARIO, "revision", json!({ "digest": first["pins"]["scenario_digest"] }));
    assert_eq!(path.with_key(exact).await.unwrap()["id"], first["id"]);
    let exact = order_with(SCENARIO, "environment_revision", json!({ "revision": 1 }));
    assert_eq!(path.with_key(exact).await.unwrap()["id"], first["id"]);
    assert_eq!(path.bench.counts(), before);

    path.bench.finish(&first, GOOD).await;
    assert_eq!(path.with_key(order(SCENARIO)).await.unwrap()["state"], "completed");
}

async fn a_changed_intent_names_the_first_run(engine: Engine) {
    let path = Path::on(engine).await;
    path.bench.scenario("one", ONE).await;
    let first = path.with_key(order(SCENARIO)).await.unwrap();
    path.is_another_intent(order("one"), &first).await;
    path.is_another_intent(order_with(SCENARIO, "environment", json!("live")), &first).await;
    // Nothing on purpose is another intent than what happens to be nothing.
    let empty = order_with(SCENARIO, "baseline", json!({ "line": "main", "latest": true }));
    path.is_another_intent(empty, &first).await;
}

async fn what_moved_in_between_is_a_changed_intent(engine: Engine) {
    let path = Path::on(engine).await;
    let old = path.bench.scenario("one", ONE).await;
    let first = path.with_key(order("one")).await.unwrap();
    path.bench.revise(&old, TWO_CELLS).await;
    path.is_another_intent(order("one"), &first).await;
    let exact = order_with("one", "revision", json!({ "digest": old["digest"] }));
    assert_eq!(path.with_key(exact).await.unwrap()["id"], first["id"]);
}

async fn a_key_belongs_to_one_principal(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.with_key(order(SCENARIO)).await.unwrap();
    let other = path.bench.service("other", &[Role::Operator]).await;
    let mut order = order(SCENARIO);
    order["idempotency_key"] = "same".into();
    let second = path.bench.call(&other, "start_scenario_run", order).await.unwrap();
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["replayed"], false);
}

async fn calls_at_once_make_one_run(engine: Engine) {
    let path = Path::on(engine).await;
    path.bench.scenario("two", TWO_CELLS).await;
    let before = path.bench.counts();
    let calls = (0..20).map(|_| path.with_key(order("two")));
    let answers: Vec<Value> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(answers.iter().all(|answer| answer["id"] == answers[0]["id"]));
    let first: Vec<_> = answers.iter().filter(|answer| answer["replayed"] == false).collect();
    assert_eq!(first.len(), 1);
    let expected = [("audit", 1), ("cells", 2), ("events", 1), ("idempotency_keys", 1), ("runs", 1), ("{jobs}", 2)];
    assert_eq!(path.bench.more_than(&before), expected.map(|(table, more)| (table.to_owned(), more)));
}
