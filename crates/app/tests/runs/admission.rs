//! Selectors become pins, and everything that a run is made of is there at once.

use pinhole_core::Sha256Digest;
use pinhole_store::EnvironmentRevision;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker},
    pictures::file,
    rows::on_both_engines,
    support::{Bench, GOOD, PROJECT, SCENARIO},
    worker::{ONE, TWO_CELLS, order, order_with},
};

on_both_engines! {
    baselines_are_resolved_and_said
    a_scenario_revision_is_the_head_or_a_digest
    an_environment_revision_is_the_latest_or_a_number
    everything_of_a_run_is_written_at_once
    a_run_keeps_its_baseline_when_the_catalog_moves_on
    an_allowed_host_is_navigated_to
}

impl Path {
    /// The baseline that a selector becomes, as the answer and a later look say it.
    async fn pinned(&self, selector: Value) -> Value {
        let run = self.started(order_with(SCENARIO, "baseline", selector)).await;
        run["pins"]["baseline"].clone()
    }

    async fn started(&self, order: Value) -> Value {
        let run = self.bench.keyed(&self.maker, "start_scenario_run", order).await.unwrap();
        assert_eq!(self.bench.run(&run["id"]).await, run, "a later look says the same");
        run
    }
}

async fn baselines_are_resolved_and_said(engine: Engine) {
    let path = Path::on(engine).await;
    let latest = json!({ "line": "main", "latest": true });
    let none = |because: &str| json!({ "kind": "none", "because": because });
    assert_eq!(path.pinned(latest.clone()).await, none("empty_line"));
    assert_eq!(path.pinned(json!({ "none": true })).await, none("requested"));
    assert_eq!(path.pinned(json!({ "receipt": "previous" })).await, none("no_previous_run"));

    let (_, first) = path.materialised(GOOD, 0).await;
    let (_, second) = path.materialised(darker(99), 1).await;
    let line = |revision: &Value, environment: &Value| {
        let (number, digest) = (&revision["revision"], &revision["digest"]);
        json!({ "kind": "line", "name": "main", "revision": number, "digest": digest, "environment": environment })
    };
    let run = path.started(order(SCENARIO)).await;
    let staging = &run["pins"]["environment"];
    assert_eq!(path.pinned(latest).await, line(&second, staging));
    assert_eq!(path.pinned(json!({ "line": "main", "revision": 1 })).await, line(&first, staging));
    let elsewhere = path.pinned(json!({ "line": "main", "revision": 2, "of_environment": "live" })).await;
    assert_ne!(&elsewhere["environment"], staging);
    assert_eq!(elsewhere, line(&second, &elsewhere["environment"]));

    let receipts = |ids: Vec<Value>| json!({ "kind": "receipts", "receipts": ids });
    let old = path.capture(GOOD).await;
    let new = path.capture(darker(7)).await;
    let one = json!(old.receipts["cart"]);
    assert_eq!(path.pinned(json!({ "receipt": one })).await, receipts(vec![one]));
    let all = vec![json!(new.receipts["cart"]), json!(new.receipts["total"])];
    assert_eq!(path.pinned(json!({ "receipt": "previous" })).await, receipts(all));
}

async fn a_scenario_revision_is_the_head_or_a_digest(engine: Engine) {
    let path = Path::on(engine).await;
    let old = path.bench.scenario("one", ONE).await;
    let new = path.bench.revise(&old, TWO_CELLS).await;
    assert_ne!(old["digest"], new["digest"]);
    let head = path.started(order("one")).await;
    assert_eq!((&head["pins"]["scenario_digest"], &head["pins"]["scenario_sha256"]), (&new["digest"], &new["sha256"]));
    assert_eq!(head["cells"].as_array().unwrap().len(), 2);
    let exact = path.started(order_with("one", "revision", json!({ "digest": old["digest"] }))).await;
    assert_eq!(
        (&exact["pins"]["scenario_digest"], &exact["pins"]["scenario_sha256"]),
        (&old["digest"], &old["sha256"])
    );
    assert_eq!(exact["cells"][0]["name"], "default");
    assert_eq!(exact["cells"].as_array().unwrap().len(), 1);
}

async fn an_environment_revision_is_the_latest_or_a_number(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.started(order(SCENARIO)).await;
    let digest = add_revision(&path.bench).await;
    let latest = path.started(order(SCENARIO)).await;
    let exact = path.started(order_with(SCENARIO, "environment_revision", json!({ "revision": 1 }))).await;
    assert_eq!(exact["pins"], first["pins"]);
    let pins = &latest["pins"];
    assert_eq!((&pins["environment_revision"], &pins["base_url"]), (&json!(2), &json!("http://moved.example/")));
    assert_eq!(pins["environment_sha256"], json!(digest));
}

/// Moves staging to another address, as a second revision.
async fn add_revision(bench: &Bench) -> Sha256Digest {
    let document = r#"{"allowed_hosts":[],"base_url":"http://moved.example/"}"#;
    let mut tx = bench.app.store().begin_write().await.unwrap();
    let project = tx.project_by_slug(&PROJECT.parse().unwrap()).await.unwrap().unwrap();
    let environment = tx.environment_by_slug(project.id, &"staging".parse().unwrap()).await.unwrap().unwrap();
    let revision = EnvironmentRevision {
        environment_id: environment.id,
        revision: 2,
        document: document.into(),
        sha256: Sha256Digest::of(document.as_bytes()),
        created_by: bench.owner.principal,
        created_at: tx.now(),
    };
    tx.insert_environment_revision(&revision).await.unwrap();
    assert!(tx.advance_environment(environment.id, 1).await.unwrap());
    tx.commit().await.unwrap();
    revision.sha256
}

async fn everything_of_a_run_is_written_at_once(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    bench.scenario("two", TWO_CELLS).await;
    let before = bench.counts();
    let run = path.started(order("two")).await;
    let expected = [("audit", 1), ("cells", 2), ("events", 1), ("idempotency_keys", 1), ("runs", 1), ("{jobs}", 2)];
    assert_eq!(bench.more_than(&before), expected.map(|(table, more)| (table.to_owned(), more)));
    assert_eq!((&run["state"], &run["verdict"], &run["version"]), (&json!("queued"), &json!(null), &json!(1)));
    assert_eq!((&run["trigger"], &run["created_by"]), (&json!("service"), &json!(path.maker.principal)));
    let cells: Vec<_> = run["cells"].as_array().unwrap().iter().map(|cell| (&cell["name"], &cell["state"])).collect();
    assert_eq!(cells, [(&json!("desktop"), &json!("queued")), (&json!("phone"), &json!("queued"))]);
    assert_eq!(
        (&run["cells"][0]["profile"]["scale"], &run["cells"][1]["profile"]["scale"]),
        (&json!(1.0), &json!(2.0))
    );

    let mut tx = bench.app.store().begin_read().await.unwrap();
    let audit = tx.audit_of(run["id"].as_str().unwrap()).await.unwrap();
    let [row] = &audit[..] else { panic!("{audit:?}") };
    assert_eq!((row.operation.as_str(), row.principal_id), ("start_scenario_run", path.maker.principal));
    assert_eq!(row.detail["pins"], run["pins"]);
    let event = tx.pending_events().await.unwrap().pop().unwrap();
    assert_eq!((event.kind.as_str(), json!(event.object_id)), ("run.queued", run["id"].clone()));
    // By a person it is said to be so.
    let person = bench.person("Otto", &[pinhole_core::Role::Operator]).await;
    let run = bench.keyed(&person, "start_scenario_run", order("two")).await.unwrap();
    assert_eq!(run["trigger"], "user");
}

async fn a_run_keeps_its_baseline_when_the_catalog_moves_on(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let latest = json!({ "line": "main", "latest": true });
    let early = path.started(order_with(SCENARIO, "baseline", latest.clone())).await;
    path.materialised(darker(99), 1).await;
    let late = path.started(order_with(SCENARIO, "baseline", latest)).await;
    let exact = path.started(order_with(SCENARIO, "baseline", json!({ "line": "main", "revision": 1 }))).await;
    for (run, verdict, checkpoint) in
        [(early, "passed", "matched"), (exact, "passed", "matched"), (late, "changed", "changed")]
    {
        path.bench.finish(&run, GOOD).await;
        let result = path.bench.result(&run["id"]).await;
        assert_eq!((&result["state"], &result["verdict"]), (&json!("completed"), &json!(verdict)));
        for found in result["checkpoints"].as_array().unwrap() {
            assert_eq!(found["verdict"], checkpoint);
        }
    }
}

async fn an_allowed_host_is_navigated_to(engine: Engine) {
    let path = Path::on(engine).await;
    let document = json!({ "base_url": "http://here.example/", "allowed_hosts": ["cdn.example:8443", "pay.example"] });
    let environment = json!({ "project": PROJECT, "slug": "listed", "document": document });
    path.bench.keyed(&path.bench.owner, "create_environment", environment).await.unwrap();
    for (index, (url, allowed)) in [
        ("http://cdn.example:8443/", true),
        ("https://pay.example/x", true),
        ("http://here.example/x", true),
        ("http://cdn.example/", false),
        ("http://pay.example:8080/", false),
        ("http://here.example:81/", false),
    ]
    .into_iter()
    .enumerate()
    {
        let slug = format!("away-{index}");
        let source = ONE.replace("navigate: /", &format!("navigate: \"{url}\""));
        path.bench.scenario(&slug, &source).await;
        let order = order_with(&slug, "environment", json!("listed"));
        let outcome = path.bench.keyed(&path.maker, "start_scenario_run", order).await;
        match (allowed, outcome) {
            (true, Ok(run)) => assert_eq!(path.bench.complete(&run, &file(1)).await["state"], "completed"),
            (false, Err(error)) => assert_eq!(error.reason(), Some("host_not_allowed"), "{url}"),
            (_, outcome) => panic!("{url}: {outcome:?}"),
        }
    }
}
