//! CI dispatches: CI names one, and its run starts with CI's own grants.

use pinhole_core::{PrincipalClass, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    bench::{Keepers, selectors, with},
    rows::on_both_engines,
    support::{PROJECT, SCENARIO, refused},
};

on_both_engines! {
    ci_starts_a_run_for_a_commit
    a_repeat_finds_the_first_run
    only_a_service_with_the_right_dispatches
    what_is_off_or_cannot_run_is_refused
    it_is_kept_like_a_schedule
}

fn dispatch_input(enabled: bool) -> Value {
    json!({ "title": "Pull requests", "run": selectors(), "enabled": enabled })
}

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

impl Keepers {
    async fn ci_dispatch(&self, enabled: bool) -> Value {
        self.bench.keyed(&self.olaf, "create_ci_dispatch", dispatch_input(enabled)).await.unwrap()
    }

    async fn dispatch_again(&self, dispatch: &Value) -> Value {
        let input = json!({ "ci_dispatch_id": dispatch["id"] });
        self.bench.call(&self.petra, "get_ci_dispatch", input).await.unwrap()
    }
}

fn order(dispatch: &Value) -> Value {
    json!({ "ci_dispatch_id": dispatch["id"], "commit": COMMIT, "ref": "refs/heads/main" })
}

async fn ci_starts_a_run_for_a_commit(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let ci = keepers.bench.service("ci", &[Role::Operator]).await;
    let made = keepers.ci_dispatch(true).await;
    let run = keepers.bench.keyed(&ci, "dispatch_ci", order(&made)).await.unwrap();
    assert_eq!((&run["trigger"], &run["created_by"]), (&json!("ci"), &json!(ci.principal)));
    assert_eq!((&run["pins"]["scenario_slug"], &run["replayed"]), (&json!(SCENARIO), &json!(false)));
    let after = keepers.dispatch_again(&made).await;
    let delivery = &after["deliveries"][0];
    assert_eq!((&delivery["key"], &delivery["run_id"]), (&run["id"], &run["id"]));
    assert_eq!(delivery["labels"], json!({ "commit": COMMIT, "ref": "refs/heads/main" }));
    assert_eq!((&after["version"], after["deliveries"].as_array().unwrap().len()), (&json!(1), 1));
    assert_eq!((keepers.runs(), keepers.bench.jobs()), (1, 1));
}

async fn a_repeat_finds_the_first_run(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let ci = keepers.bench.service("ci", &[Role::Operator]).await;
    let made = keepers.ci_dispatch(true).await;
    let call = async |mut input: Value| {
        input["idempotency_key"] = "build-7".into();
        keepers.bench.call(&ci, "dispatch_ci", input).await
    };
    let first = call(order(&made)).await.unwrap();
    let again = call(order(&made)).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&first["id"], &json!(true)));
    for (pointer, value) in [("/commit", json!("f".repeat(40))), ("/ref", json!("refs/heads/other"))] {
        let error = call(with(order(&made), pointer, value)).await.unwrap_err();
        assert_eq!((error.reason(), json!(error.details().first_id)), (Some("changed_intent"), first["id"].clone()));
    }
    assert_eq!(keepers.runs(), 1);
    let missing = keepers.bench.call(&ci, "dispatch_ci", order(&made)).await;
    assert_eq!(refused(missing), ("precondition_required", "idempotency_key".into()));
}

async fn only_a_service_with_the_right_dispatches(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    let made = keepers.ci_dispatch(true).await;
    let elsewhere = bench.principal(PrincipalClass::Service, "elsewhere", Some("live"), &[Role::Operator]).await;
    let stranger = bench.service("stranger", &[]).await;
    let viewer = bench.service("viewer", &[Role::Viewer, Role::Author]).await;
    for (actor, expected) in [
        (&elsewhere, ("not_found", "")),
        (&stranger, ("not_found", "")),
        (&viewer, ("permission_denied", "run.start")),
        (&keepers.olaf, ("permission_denied", "service")),
    ] {
        let (code, reason) = refused(bench.keyed(actor, "dispatch_ci", order(&made)).await);
        assert_eq!((code, reason.as_str()), expected);
    }
    assert_eq!(keepers.runs(), 0);
}

async fn what_is_off_or_cannot_run_is_refused(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    let ci = bench.service("ci", &[Role::Operator]).await;
    let off = keepers.ci_dispatch(false).await;
    assert_eq!(refused(bench.keyed(&ci, "dispatch_ci", order(&off)).await), ("conflict", "disabled".into()));
    let on = keepers.ci_dispatch(true).await;
    bench.sql(&format!("UPDATE scenarios SET archived_at = 1 WHERE slug = '{SCENARIO}'"));
    assert_eq!(refused(bench.keyed(&ci, "dispatch_ci", order(&on)).await), ("conflict", "archived".into()));
    for (pointer, value) in
        [("/commit", json!("main")), ("/commit", json!("0123")), ("/ref", json!("a b")), ("/ref", json!(""))]
    {
        let (code, _) = refused(bench.keyed(&ci, "dispatch_ci", with(order(&on), pointer, value.clone())).await);
        assert_eq!(code, "invalid_arguments", "{pointer} {value}");
    }
    assert_eq!(keepers.runs(), 0);
}

async fn it_is_kept_like_a_schedule(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    let made = keepers.ci_dispatch(true).await;
    for enabled in [true, false] {
        let wrong = with(dispatch_input(enabled), "/run/scenario", json!("nothing"));
        let created = bench.keyed(&keepers.olaf, "create_ci_dispatch", wrong.clone()).await;
        assert_eq!(refused(created), ("not_found", String::new()));
        let mut update = wrong;
        update["ci_dispatch_id"] = made["id"].clone();
        update["expected_version"] = 1.into();
        let updated = bench.call(&keepers.olaf, "update_ci_dispatch", update).await;
        assert_eq!(refused(updated), ("not_found", String::new()));
    }
    let mut update = dispatch_input(false);
    update["ci_dispatch_id"] = made["id"].clone();
    update["expected_version"] = 1.into();
    let changed = bench.call(&keepers.petra, "update_ci_dispatch", update.clone()).await.unwrap();
    assert_eq!((&changed["version"], &changed["enabled"]), (&json!(2), &json!(false)));
    let stale = bench.call(&keepers.petra, "update_ci_dispatch", update).await;
    assert_eq!(refused(stale), ("conflict", "stale_version".into()));
    let listed = bench.call(&keepers.olaf, "list_ci_dispatches", json!({ "project": PROJECT })).await.unwrap();
    assert_eq!(listed["ci_dispatches"][0], changed);
    let version = json!({ "ci_dispatch_id": made["id"], "expected_version": 2 });
    let deleted = bench.call(&keepers.olaf, "delete_ci_dispatch", version).await.unwrap();
    assert!(deleted["deleted_at"].is_string());
    let ci = bench.service("ci", &[Role::Operator]).await;
    assert_eq!(refused(bench.keyed(&ci, "dispatch_ci", order(&made)).await), ("conflict", "disabled".into()));
}
