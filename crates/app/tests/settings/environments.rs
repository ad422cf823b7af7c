//! Revisions of environments, what they may say, and who may see them.

use pinhole_core::{PrincipalClass, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    rows::on_both_engines,
    support::{Bench, PROJECT, refused},
    world::STAGING,
};

on_both_engines! {
    a_change_is_a_new_revision_and_the_old_one_stays
    a_change_needs_the_latest_revision_and_the_right
    what_is_hidden_looks_like_what_is_missing
    lists_hold_what_grants_show_in_pages
    what_a_policy_denies_is_not_admitted
}

async fn a_change_is_a_new_revision_and_the_old_one_stays(engine: Engine) {
    let bench = Bench::on(engine).await;
    let first = bench.staging().await;
    assert_eq!((&first["revision"], &first["latest_revision"]), (&json!(1), &json!(1)));
    let second = bench.revise_staging(json!({ "headers": [{ "name": "X-Preview", "value": "1" }] })).await.unwrap();
    assert_eq!((&second["revision"], &second["unchanged"]), (&json!(2), &json!(false)));
    assert_eq!(second["document"]["headers"], json!([{ "name": "X-Preview", "value": "1" }]));
    // The same again says nothing new, and leaves nothing behind.
    let before = bench.counts();
    let again = bench.revise_staging(json!({ "headers": [{ "name": "X-Preview", "value": "1" }] })).await.unwrap();
    assert_eq!((&again["revision"], &again["unchanged"]), (&json!(2), &json!(true)));
    assert_eq!(bench.counts(), before);
    let old = json!({ "environment_id": first["id"], "revision": 1 });
    let old = bench.call(&bench.owner, "get_environment", old).await.unwrap();
    assert_eq!((&old["document"], &old["sha256"]), (&first["document"], &first["sha256"]));
    assert_eq!((&old["revision"], &old["latest_revision"]), (&json!(1), &json!(2)));
    let none = json!({ "environment_id": first["id"], "revision": 3 });
    assert_eq!(refused(bench.call(&bench.owner, "get_environment", none).await), ("not_found", String::new()));
}

async fn a_change_needs_the_latest_revision_and_the_right(engine: Engine) {
    let bench = Bench::on(engine).await;
    let id = bench.staging().await["id"].clone();
    let viewer = bench.person("Vera", &[Role::Viewer, Role::Author]).await;
    let change = |version: Value| {
        json!({
            "environment_id": id, "document": { "base_url": "http://b.example/" }, "expected_version": version,
        })
    };
    let refuse = async |actor, version| refused(bench.call(actor, "update_environment", change(version)).await);
    assert_eq!(refuse(&viewer, json!(null)).await, ("permission_denied", "environment.write".into()));
    assert_eq!(refuse(&bench.owner, json!(null)).await, ("precondition_required", "expected_version".into()));
    assert_eq!(refuse(&bench.owner, json!(2)).await, ("conflict", "stale_version".into()));
    for (member, value) in [
        ("headers", json!([{ "name": "Authorization", "value": "1" }])),
        ("headers", json!([{ "name": "X-A", "value": "a\r\nb" }])),
        ("decision_policy", json!({ "script": "require_approval" })),
        ("protected", json!(true)),
        ("host_patterns", json!(["https://*.org"])),
        ("secrets", json!([{ "name": "lower", "origins": ["https://a.example"] }])),
        ("colour", json!(1)),
    ] {
        let (code, field) = refused(bench.revise_staging(json!({ member: value })).await);
        assert_eq!(code, "invalid_arguments", "{member}: {field}");
    }
    assert_eq!(bench.staging().await["latest_revision"], 1);
}

async fn what_is_hidden_looks_like_what_is_missing(engine: Engine) {
    let bench = Bench::on(engine).await;
    let id = bench.staging().await["id"].clone();
    let stranger = bench.person("Eve", &[]).await;
    let narrow = bench.principal(PrincipalClass::Service, "narrow", Some("live"), &[Role::Owner]).await;
    let document = json!({ "base_url": "http://b.example/" });
    let missing = json!("env_00000000000000000000000000000001");
    for (operation, input) in [
        ("get_environment", json!({})),
        ("update_environment", json!({ "document": document, "expected_version": 1 })),
        ("list_environment_secrets", json!({})),
        ("put_environment_secret", json!({ "name": "A", "value": "x", "expected_version": 0 })),
        ("delete_environment_secret", json!({ "name": "A", "expected_version": 1 })),
    ] {
        for actor in [&stranger, &narrow, &bench.owner] {
            let ids = if std::ptr::eq(actor, &bench.owner) { vec![&missing] } else { vec![&missing, &id] };
            for id in ids {
                let mut input = input.clone();
                input["environment_id"] = id.clone();
                let outcome = bench.call(actor, operation, input).await;
                assert_eq!(refused(outcome), ("not_found", String::new()), "{operation} {id}");
            }
        }
    }
}

async fn lists_hold_what_grants_show_in_pages(engine: Engine) {
    let bench = Bench::on(engine).await;
    let hidden = json!({ "slug": "hidden", "title": "Hidden" });
    bench.keyed(&bench.owner, "create_project", hidden).await.unwrap();
    let narrow = bench.principal(PrincipalClass::Service, "narrow", Some(STAGING), &[Role::Viewer]).await;
    let slugs = |list: &Value, member: &str| -> Vec<String> {
        list[member].as_array().unwrap().iter().map(|item| item["slug"].as_str().unwrap().to_owned()).collect()
    };
    let all = bench.call(&narrow, "list_projects", json!({})).await.unwrap();
    assert_eq!(slugs(&all, "projects"), [PROJECT]);
    let seen = bench.call(&narrow, "list_environments", json!({ "project": PROJECT })).await.unwrap();
    assert_eq!(slugs(&seen, "environments"), [STAGING]);
    let outcome = bench.call(&narrow, "list_environments", json!({ "project": "hidden" })).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));

    let page = bench.call(&bench.owner, "list_projects", json!({ "limit": 1 })).await.unwrap();
    assert_eq!(slugs(&page, "projects"), [PROJECT]);
    let rest = json!({ "limit": 1, "cursor": page["next_cursor"] });
    let rest = bench.call(&bench.owner, "list_projects", rest).await.unwrap();
    assert_eq!(slugs(&rest, "projects"), ["hidden"]);
    assert!(rest.get("next_cursor").is_none());
    let stranger = bench.person("Eve", &[]).await;
    let none = bench.call(&stranger, "list_projects", json!({})).await.unwrap();
    assert_eq!(none, json!({ "projects": [] }));
}

async fn what_a_policy_denies_is_not_admitted(engine: Engine) {
    let bench = Bench::on(engine).await;
    let operator = bench.service("operator", &[Role::Operator]).await;
    bench.revise_staging(json!({ "decision_policy": { "navigate": "deny" } })).await.unwrap();
    let before = bench.counts();
    let error = bench.keyed(&operator, "start_scenario_run", Bench::order(json!({}))).await.unwrap_err();
    assert_eq!((error.code().as_str(), error.reason()), ("permission_denied", Some("policy_denied")));
    assert!(error.message().contains("steps[0].navigate"), "{error}");
    assert_eq!(bench.counts(), before);
    // The revision before denies nothing and can still be named.
    let first = Bench::order(json!({ "environment_revision": { "revision": 1 } }));
    bench.keyed(&operator, "start_scenario_run", first).await.unwrap();
}
