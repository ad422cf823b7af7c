//! What is not admitted, and that nothing is written then.

use std::sync::Arc;

use pinhole_app::{App, Parts, Settings};
use pinhole_blobs::Blobs;
use pinhole_core::{Actor, PrincipalClass, Role};
use pinhole_jobs::WakeSender;
use pinhole_testkit::{Engine, SeededIds};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    path::Path,
    rows::on_both_engines,
    support::{Bench, GOOD, PROJECT, SCENARIO, refused},
    worker::{ONE, order, order_with},
};

on_both_engines! {
    what_does_not_exist_is_not_found
    a_shortened_digest_is_refused_and_not_taken_for_none
    what_is_hidden_does_not_exist
    rights_come_before_preconditions
    an_archived_scenario_is_not_run
    a_host_that_is_not_listed_is_not_navigated_to
    a_full_disk_admits_nothing
    rights_that_end_between_two_calls_stop_the_second
}

impl Bench {
    /// That a call is refused so and writes nothing.
    async fn refuses(&self, actor: &Actor, order: Value, expected: (&str, &str)) {
        let before = self.work();
        let (code, reason) = refused(self.keyed(actor, "start_scenario_run", order.clone()).await);
        assert_eq!((code, reason.as_str()), expected, "{order}");
        assert_eq!(self.work(), before, "{order}");
    }
}

const NOT_FOUND: (&str, &str) = ("not_found", "");

async fn what_does_not_exist_is_not_found(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let digest = format!("blake3:{}", "0".repeat(64));
    for (member, value) in [
        ("project", json!("shops")),
        ("scenario", json!("checkin")),
        ("environment", json!("stage")),
        ("revision", json!({ "digest": digest })),
        ("environment_revision", json!({ "revision": 2 })),
        ("environment_revision", json!({ "revision": 0 })),
        ("baseline", json!({ "line": "main", "revision": 2 })),
        ("baseline", json!({ "line": "main", "revision": 0 })),
        ("baseline", json!({ "line": "release", "revision": 1 })),
        ("baseline", json!({ "line": "main", "latest": true, "of_environment": "stage" })),
        ("baseline", json!({ "receipt": "rcp_00000000000000000000000000000000" })),
    ] {
        path.bench.refuses(&path.maker, order_with(SCENARIO, member, value), NOT_FOUND).await;
    }
    // A digest of another scenario of the same project is none of this one.
    let other = path.bench.scenario("one", ONE).await;
    let foreign = order_with(SCENARIO, "revision", json!({ "digest": other["digest"] }));
    path.bench.refuses(&path.maker, foreign, NOT_FOUND).await;
    for selector in [json!({}), json!({ "line": "main" }), json!({ "none": true, "receipt": "previous" }), json!(null)]
    {
        let unclear = order_with(SCENARIO, "baseline", selector);
        let outcome = path.bench.keyed(&path.maker, "start_scenario_run", unclear).await;
        let (code, _) = refused(outcome);
        assert_eq!(code, "invalid_arguments", "selectors have no defaults");
    }
}

/// Nothing is found by a part of its digest, and what is not found is told: no run without a baseline comes of it.
async fn a_shortened_digest_is_refused_and_not_taken_for_none(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let run = path.bench.keyed(&path.maker, "start_scenario_run", order(SCENARIO)).await.unwrap();
    let whole = run["pins"]["scenario_digest"].as_str().unwrap().to_owned();
    let hex = whole.strip_prefix("blake3:").unwrap();
    let receipt = path.capture(GOOD).await.receipts["cart"].to_string();
    let before = path.bench.work();
    for part in [&whole[..7 + 8], &whole[..7 + 40], &whole[..7 + 63], hex, &hex[..8], &whole.to_uppercase()] {
        let order = order_with(SCENARIO, "revision", json!({ "digest": part }));
        let (code, _) = refused(path.bench.keyed(&path.maker, "start_scenario_run", order).await);
        assert_eq!(code, "invalid_arguments", "{part}");
    }
    for part in [&receipt[..12], &receipt[..receipt.len() - 1]] {
        let order = order_with(SCENARIO, "baseline", json!({ "receipt": part }));
        let (code, _) = refused(path.bench.keyed(&path.maker, "start_scenario_run", order).await);
        assert_eq!(code, "invalid_arguments", "{part}");
    }
    assert_eq!(path.bench.work(), before);
    let order = order_with(SCENARIO, "revision", json!({ "digest": whole }));
    path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
}

async fn what_is_hidden_does_not_exist(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let live = bench.capture(&path.maker, "live", GOOD).await;
    let narrow = bench.principal(PrincipalClass::Service, "narrow", Some("staging"), &[Role::Operator]).await;
    bench.keyed(&narrow, "start_scenario_run", order(SCENARIO)).await.unwrap();
    for (member, value) in [
        ("environment", json!("live")),
        ("baseline", json!({ "line": "main", "latest": true, "of_environment": "live" })),
        ("baseline", json!({ "receipt": live.receipts["cart"] })),
    ] {
        bench.refuses(&narrow, order_with(SCENARIO, member, value), NOT_FOUND).await;
    }
    let foreign = foreign_receipt(&path).await;
    bench.refuses(&path.maker, order_with(SCENARIO, "baseline", json!({ "receipt": foreign })), NOT_FOUND).await;
    let stranger = bench.service("stranger", &[]).await;
    bench.refuses(&stranger, order(SCENARIO), NOT_FOUND).await;
}

/// A receipt of another project, in which the maker may do the same.
async fn foreign_receipt(path: &Path) -> Value {
    let bench = &path.bench;
    let project = json!({ "slug": "bank", "title": "Bank" });
    bench.keyed(&bench.owner, "create_project", project).await.unwrap();
    let document = json!({ "base_url": "http://bank.example/", "allowed_hosts": [] });
    let environment = json!({ "project": "bank", "slug": "staging", "document": document });
    bench.keyed(&bench.owner, "create_environment", environment).await.unwrap();
    for role in [Role::Author, Role::Operator] {
        bench.app.grant(&"builder".parse().unwrap(), &"bank".parse().unwrap(), None, role).await.unwrap();
    }
    let scenario = json!({ "project": "bank", "slug": "one", "source": ONE });
    bench.keyed(&path.maker, "create_scenario", scenario).await.unwrap();
    let order = order_with("one", "project", json!("bank"));
    let run = bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
    let captured = bench.finish(&run, GOOD).await;
    json!(captured.receipts["home"])
}

async fn rights_come_before_preconditions(engine: Engine) {
    let path = Path::on(engine).await;
    let viewer = path.bench.service("viewer", &[Role::Viewer, Role::Author, Role::Publisher]).await;
    let before = path.bench.counts();
    let outcome = path.bench.call(&viewer, "start_scenario_run", order(SCENARIO)).await;
    assert_eq!(refused(outcome), ("permission_denied", "run.start".into()));
    let outcome = path.bench.call(&path.maker, "start_scenario_run", order(SCENARIO)).await;
    assert_eq!(refused(outcome), ("precondition_required", "idempotency_key".into()));
    assert_eq!(path.bench.counts(), before);
}

async fn an_archived_scenario_is_not_run(engine: Engine) {
    let path = Path::on(engine).await;
    let mut order = order(SCENARIO);
    order["idempotency_key"] = "kept".into();
    let run = path.bench.call(&path.maker, "start_scenario_run", order.clone()).await.unwrap();
    path.bench.sql(&format!("UPDATE scenarios SET archived_at = 1 WHERE slug = '{SCENARIO}'"));
    path.bench.refuses(&path.maker, crate::worker::order(SCENARIO), ("conflict", "archived")).await;
    // What was admitted before stays so.
    let again = path.bench.call(&path.maker, "start_scenario_run", order).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&run["id"], &json!(true)));
}

async fn a_host_that_is_not_listed_is_not_navigated_to(engine: Engine) {
    let path = Path::on(engine).await;
    let away = ONE.replace("  - capture", "  - navigate: http://elsewhere.example/\n  - capture");
    path.bench.scenario("away", &away).await;
    path.bench.refuses(&path.maker, order("away"), ("conflict", "host_not_allowed")).await;
    let error = path.bench.keyed(&path.maker, "start_scenario_run", order("away")).await.unwrap_err();
    assert!(error.message().contains("steps[1].navigate: elsewhere.example"), "{}", error.message());
}

async fn a_full_disk_admits_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    let blobs = TempDir::with_prefix("pinhole-blobs-").unwrap();
    let full = App::new(Parts {
        sealer: None,
        store: path.bench.app.store().clone(),
        blobs: Blobs::local(blobs.path()).unwrap(),
        ids: Arc::new(SeededIds::new(1)),
        keyring: None,
        log: None,
        wake: WakeSender::new(),
        settings: Settings { min_free_percent: 100.1, ..Settings::default() },
    });
    let before = path.bench.counts();
    let call = async |actor: &Actor| {
        let mut order = order(SCENARIO);
        order["idempotency_key"] = "full".into();
        let Value::Object(order) = order else { panic!("an order is an object") };
        pinhole_app::operations()["start_scenario_run"].call(&full, actor, order).await.map(|reply| reply.body)
    };
    assert_eq!(refused(call(&path.maker).await), ("provider_unavailable", "free_space".into()));
    let viewer = path.bench.service("viewer", &[Role::Viewer]).await;
    let (code, _) = refused(call(&viewer).await);
    assert_eq!(code, "permission_denied", "how full the disk is, is not for everybody");
    let stranger = path.bench.service("stranger", &[]).await;
    assert_eq!(refused(call(&stranger).await), ("not_found", String::new()));
    let more: Vec<_> = path.bench.more_than(&before).into_iter().map(|(table, _)| table).collect();
    assert_eq!(more, ["audit"], "of making the two principals");
    // The same key is free once there is room.
    let mut order = order(SCENARIO);
    order["idempotency_key"] = "full".into();
    assert_eq!(path.bench.call(&path.maker, "start_scenario_run", order).await.unwrap()["replayed"], false);
}

async fn rights_that_end_between_two_calls_stop_the_second(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let (name, project) = ("builder".parse().unwrap(), PROJECT.parse().unwrap());
    let mut first = order(SCENARIO);
    first["idempotency_key"] = "first".into();
    bench.call(&path.maker, "start_scenario_run", first.clone()).await.unwrap();
    bench.app.revoke_grant(&name, &project, None, Role::Operator).await.unwrap();
    let denied = ("permission_denied", "run.start");
    bench.refuses(&path.maker, order(SCENARIO), denied).await;
    // A repeat is authorised anew.
    let outcome = bench.call(&path.maker, "start_scenario_run", first.clone()).await;
    assert_eq!(refused(outcome), (denied.0, denied.1.to_owned()));
    bench.app.revoke_grant(&name, &project, None, Role::Author).await.unwrap();
    bench.refuses(&path.maker, order(SCENARIO), NOT_FOUND).await;

    bench.app.grant(&name, &project, None, Role::Operator).await.unwrap();
    assert_eq!(bench.call(&path.maker, "start_scenario_run", first).await.unwrap()["replayed"], true);
    let pinhole_core::Authority::Token { id, .. } = &path.maker.authority else { panic!("a service has a token") };
    bench.app.revoke_token(*id).await.unwrap();
    bench.refuses(&path.maker, order(SCENARIO), ("unauthenticated", "")).await;
}
