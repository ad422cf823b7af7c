//! Making, changing, reading and deleting schedules: the same checks enabled or not, and nothing for others.

use std::time::Duration;

use pinhole_core::{Permission, PrincipalClass, RequestId, Role, Scope};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    bench::{Keepers, every_ten_minutes, update, with},
    rows::on_both_engines,
    support::refused,
};

on_both_engines! {
    a_schedule_is_made_changed_and_deleted
    the_same_checks_hold_enabled_or_not
    a_key_is_used_for_one_schedule
    a_repeat_shows_nothing_that_was_moved_out_of_sight
    what_is_hidden_does_not_exist
    a_list_shows_what_the_caller_operates
    nobody_gets_more_than_by_a_call
}

async fn a_schedule_is_made_changed_and_deleted(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let (bench, olaf, petra) = (&keepers.bench, &keepers.olaf, &keepers.petra);
    let made = keepers.schedule(olaf, every_ten_minutes()).await;
    assert_eq!((&made["version"], &made["enabled"], &made["deliveries"]), (&json!(1), &json!(true), &json!([])));
    assert_eq!((&made["runs_as"], &made["created_by"]), (&json!(olaf.principal), &json!(olaf.principal)));
    assert_eq!(keepers.look(&made).await, made);
    if engine == Engine::Sqlite {
        assert_eq!(made["next_at"], "2026-01-01T00:10:00.000000Z");
    }

    let off = with(every_ten_minutes(), "/enabled", json!(false));
    let changed = bench.call(petra, "update_schedule", update(&made, off)).await.unwrap();
    assert_eq!((&changed["version"], &changed["next_at"]), (&json!(2), &json!(null)));
    assert_eq!((&changed["runs_as"], &changed["created_by"]), (&json!(petra.principal), &json!(olaf.principal)));
    for operation in ["update_schedule", "delete_schedule"] {
        let mut input = if operation == "update_schedule" { every_ten_minutes() } else { json!({}) };
        input["schedule_id"] = made["id"].clone();
        let missing = bench.call(olaf, operation, input.clone()).await;
        assert_eq!(refused(missing), ("precondition_required", "expected_version".into()));
        input["expected_version"] = 1.into();
        assert_eq!(refused(bench.call(olaf, operation, input).await), ("conflict", "stale_version".into()));
    }

    let version = json!({ "schedule_id": made["id"], "expected_version": 2 });
    let deleted = bench.call(olaf, "delete_schedule", version).await.unwrap();
    assert_eq!((&deleted["version"], &deleted["enabled"]), (&json!(3), &json!(false)));
    assert!(deleted["deleted_at"].is_string());
    assert_eq!(keepers.look(&made).await, deleted, "what it did can still be read");
    let listed = bench.call(olaf, "list_schedules", json!({ "project": "shop" })).await.unwrap();
    assert_eq!(listed, json!({ "schedules": [], "next_cursor": null }));
    let again = bench.call(olaf, "update_schedule", update(&deleted, every_ten_minutes())).await;
    assert_eq!(refused(again), ("conflict", "deleted".into()));
}

async fn the_same_checks_hold_enabled_or_not(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    let away = "schema: pinhole.scenario.v1\ntitle: Away\nsteps:\n  - navigate: http://elsewhere.example/\n  - capture: { name: home }\n";
    keepers.scenario("away", away).await;
    keepers.scenario("old", &away.replace("http://elsewhere.example", "")).await;
    bench.sql("UPDATE scenarios SET archived_at = 1 WHERE slug = 'old'");
    let digest = format!("blake3:{}", "0".repeat(64));
    let wrong = [
        ("/run/project", json!("bank"), ("not_found", "")),
        ("/run/scenario", json!("nothing"), ("not_found", "")),
        ("/run/scenario", json!("away"), ("conflict", "host_not_allowed")),
        ("/run/scenario", json!("old"), ("conflict", "archived")),
        ("/run/revision", json!({ "digest": digest }), ("not_found", "")),
        ("/run/environment", json!("nowhere"), ("not_found", "")),
        ("/run/environment_revision", json!({ "revision": 9 }), ("not_found", "")),
        ("/run/baseline", json!({ "line": "main", "revision": 9 }), ("not_found", "")),
    ];
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    for enabled in [true, false] {
        for (pointer, value, (code, reason)) in &wrong {
            let input = with(with(every_ten_minutes(), "/enabled", enabled.into()), pointer, value.clone());
            let created = bench.keyed(&keepers.olaf, "create_schedule", input.clone()).await;
            let updated = bench.call(&keepers.olaf, "update_schedule", update(&made, input)).await;
            for outcome in [created, updated] {
                assert_eq!(refused(outcome), (*code, (*reason).to_owned()), "{pointer} {value} {enabled}");
            }
        }
        for (pointer, value) in [
            ("/cron", json!("* * * * * *")),
            ("/cron", json!("0 0 30 2 *")),
            ("/time_zone", json!("Mars/Olympus")),
            ("/run/revision", json!({ "newest": true })),
        ] {
            let input = with(with(every_ten_minutes(), "/enabled", enabled.into()), pointer, value.clone());
            let (code, _) = refused(bench.keyed(&keepers.olaf, "create_schedule", input).await);
            assert_eq!(code, "invalid_arguments", "{pointer} {value}");
        }
    }
    assert_eq!(keepers.look(&made).await, made, "a refusal changes nothing");
}

async fn a_key_is_used_for_one_schedule(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let call = async |mut input: Value| {
        input["idempotency_key"] = "same".into();
        keepers.bench.call(&keepers.olaf, "create_schedule", input).await
    };
    let missing = keepers.bench.call(&keepers.olaf, "create_schedule", every_ten_minutes()).await;
    assert_eq!(refused(missing), ("precondition_required", "idempotency_key".into()));
    let first = call(every_ten_minutes()).await.unwrap();
    let again = call(every_ten_minutes()).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&first["id"], &json!(true)));
    let error = call(with(every_ten_minutes(), "/cron", json!("0 * * * *"))).await.unwrap_err();
    assert_eq!((error.reason(), json!(error.details().first_id)), (Some("changed_intent"), first["id"].clone()));
    let listed = keepers.bench.call(&keepers.olaf, "list_schedules", json!({ "project": "shop" })).await.unwrap();
    assert_eq!(listed["schedules"].as_array().unwrap().len(), 1);
}

async fn a_repeat_shows_nothing_that_was_moved_out_of_sight(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    let stan = bench.principal(PrincipalClass::User, "Stan", Some("staging"), &[Role::Operator]).await;
    let mut input = every_ten_minutes();
    input["idempotency_key"] = "once".into();
    let made = bench.call(&stan, "create_schedule", input.clone()).await.unwrap();
    let again = bench.call(&stan, "create_schedule", input.clone()).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&made["id"], &json!(true)));
    let elsewhere = with(every_ten_minutes(), "/run/environment", json!("live"));
    bench.call(&keepers.petra, "update_schedule", update(&made, elsewhere)).await.unwrap();
    let hidden = bench.call(&stan, "get_schedule", json!({ "schedule_id": made["id"] })).await;
    assert_eq!(refused(hidden), ("not_found", String::new()));
    assert_eq!(refused(bench.call(&stan, "create_schedule", input).await), ("not_found", String::new()));
}

async fn what_is_hidden_does_not_exist(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    let stranger = bench.person("Eve", &[]).await;
    let elsewhere = bench.principal(PrincipalClass::User, "Liv", Some("live"), &[Role::Operator]).await;
    let viewer = bench.person("Vic", &[Role::Viewer, Role::Owner]).await;
    let (id, missing) = (&made["id"], json!("sch_00000000000000000000000000000000"));
    for (actor, expected) in [
        (&stranger, ("not_found", "")),
        (&elsewhere, ("not_found", "")),
        (&viewer, ("permission_denied", "automation.write")),
    ] {
        let known = json!({ "schedule_id": id });
        let versioned = json!({ "schedule_id": id, "expected_version": 1 });
        let changed = update(&made, every_ten_minutes());
        for (operation, input) in
            [("get_schedule", known), ("delete_schedule", versioned), ("update_schedule", changed)]
        {
            let (code, reason) = refused(bench.call(actor, operation, input).await);
            assert_eq!((code, reason.as_str()), expected, "{operation}");
        }
        let (code, reason) = refused(bench.keyed(actor, "create_schedule", every_ten_minutes()).await);
        assert_eq!((code, reason.as_str()), expected);
    }
    let absent = bench.call(&keepers.olaf, "get_schedule", json!({ "schedule_id": missing })).await;
    let hidden = bench.call(&stranger, "get_schedule", json!({ "schedule_id": id })).await;
    assert_eq!(absent.unwrap_err().to_string(), hidden.unwrap_err().to_string());
    assert_eq!(keepers.look(&made).await, made);
}

async fn a_list_shows_what_the_caller_operates(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    let live = with(every_ten_minutes(), "/run/environment", json!("live"));
    let (staging, live) =
        (keepers.schedule(&keepers.olaf, every_ten_minutes()).await, keepers.schedule(&keepers.olaf, live).await);
    let narrow = bench.principal(PrincipalClass::User, "Liv", Some("live"), &[Role::Operator]).await;
    let ids = async |actor, input| {
        let page = bench.call(actor, "list_schedules", input).await.unwrap();
        let ids: Vec<Value> = page["schedules"].as_array().unwrap().iter().map(|found| found["id"].clone()).collect();
        (ids, page["next_cursor"].clone())
    };
    let all = json!({ "project": "shop" });
    assert_eq!(ids(&narrow, all.clone()).await, (vec![live["id"].clone()], json!(null)));
    assert_eq!(ids(&keepers.olaf, all.clone()).await.0, [live["id"].clone(), staging["id"].clone()]);
    let (first, cursor) = ids(&keepers.olaf, json!({ "project": "shop", "limit": 1 })).await;
    let (second, end) = ids(&keepers.olaf, json!({ "project": "shop", "limit": 1, "cursor": cursor })).await;
    assert_eq!((first, second, end), (vec![live["id"].clone()], vec![staging["id"].clone()], json!(null)));
    let viewer = bench.person("Vic", &[Role::Viewer]).await;
    let denied = bench.call(&viewer, "list_schedules", all.clone()).await;
    assert_eq!(refused(denied), ("permission_denied", "automation.write".into()));
    let stranger = bench.person("Eve", &[]).await;
    assert_eq!(refused(bench.call(&stranger, "list_schedules", all).await), ("not_found", String::new()));
}

async fn nobody_gets_more_than_by_a_call(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let bench = &keepers.bench;
    // A token that may keep automations and may not start runs.
    let scope = Scope::Only(vec![Permission::AutomationWrite]);
    let token = bench.app.create_token(&"Olaf".parse().unwrap(), &scope, Duration::from_secs(3600)).await.unwrap();
    let request = RequestId::from_uuid(uuid::Uuid::nil());
    let narrow = bench.app.authenticate(&token.secret, request).await.unwrap();
    let denied = bench.keyed(&narrow, "create_schedule", every_ten_minutes()).await;
    assert_eq!(refused(denied), ("permission_denied", "run.start".into()));
    // Who may not see the other environment does not compare with it.
    let local = bench.principal(PrincipalClass::User, "Stu", Some("staging"), &[Role::Operator]).await;
    let other = json!({ "line": "main", "latest": true, "of_environment": "live" });
    let hidden = bench.keyed(&local, "create_schedule", with(every_ten_minutes(), "/run/baseline", other)).await;
    assert_eq!(refused(hidden), ("not_found", String::new()));
}
