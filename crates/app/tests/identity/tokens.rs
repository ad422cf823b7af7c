//! Tokens: who makes them, what their scope lets through, when they end, and how their last use is told.

use pinhole_core::{Permission, PrincipalClass, Role, Scope};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    people::{MINUTE, assert_refused, request},
    support::{Bench, PROJECT, SCENARIO},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_person_makes_uses_and_ends_their_own_token() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let session = bench.person_in_session("Tina", &[Role::Author, Role::Operator]).await;
        let input = json!({
            "label": "laptop", "scope": { "only": ["scenario.write"] }, "lifetime_days": 7, "idempotency_key": "one",
        });
        let made = bench.call(&session, "create_my_token", input.clone()).await.unwrap();
        let secret = made["secret"].as_str().unwrap();
        assert!(secret.starts_with("phu_"), "{secret}");
        let again = bench.call(&session, "create_my_token", input).await.unwrap();
        assert_eq!(
            (&again["token"]["id"], &again["secret"], &again["replayed"]),
            (&made["token"]["id"], &json!(null), &json!(true))
        );
        let token = bench.app.authenticate(secret, request()).await.unwrap();
        bench.reads(&token).await.unwrap();
        // She may start runs, and her token may not.
        let run = json!({
            "project": PROJECT,
            "scenario": SCENARIO,
            "revision": { "head": true },
            "environment": "staging",
            "environment_revision": { "latest": true },
            "baseline": { "none": true },
        });
        assert_refused(bench.keyed(&token, "start_scenario_run", run.clone()).await, "permission_denied", "run.start");
        bench.keyed(&session, "start_scenario_run", run).await.unwrap();

        let listed = bench.call(&session, "list_my_tokens", json!({ "limit": 1 })).await.unwrap();
        assert_eq!(listed["tokens"][0], made["token"]);
        assert!(!listed.to_string().contains(secret));
        let input = json!({ "token_id": made["token"]["id"] });
        let other = bench.session_of(bench.owner.principal).await;
        assert_refused(bench.call(&other, "revoke_my_token", input.clone()).await, "not_found", "");
        for _ in 0..2 {
            let ended = bench.call(&session, "revoke_my_token", input.clone()).await.unwrap();
            assert_ne!(ended["revoked_at"], json!(null));
        }
        assert_refused(bench.reads(&token).await, "unauthenticated", "");
        assert!(bench.app.authenticate(secret, request()).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_makes_tokens_or_sees_sessions_whatever_its_scope() {
    let bench = Bench::on(Engine::Sqlite).await;
    let service = bench.service("robot", Role::ALL).await;
    let id = |kind: &str| format!("{kind}_{}", "0".repeat(32));
    let calls: [(&str, Value); 5] = [
        ("list_my_tokens", json!({})),
        ("create_my_token", json!({ "scope": "all", "idempotency_key": "k" })),
        ("revoke_my_token", json!({ "token_id": id("tok") })),
        ("list_my_sessions", json!({})),
        ("revoke_my_session", json!({ "session_id": id("ses") })),
    ];
    for (operation, input) in calls {
        for actor in [&bench.owner, &service] {
            assert_refused(bench.call(actor, operation, input.clone()).await, "permission_denied", "session");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_holds_what_its_owner_has_somewhere_and_nothing_twice() {
    let bench = Bench::on(Engine::Sqlite).await;
    let session = bench.person_in_session("Tina", &[Role::Reviewer]).await;
    let make = async |scope: Value| bench.keyed(&session, "create_my_token", json!({ "scope": scope })).await;
    make(json!({ "only": ["read", "review.write"] })).await.unwrap();
    make(json!({ "only": [] })).await.unwrap();
    for wanted in ["run.start", "admin"] {
        assert_refused(make(json!({ "only": [wanted] })).await, "permission_denied", wanted);
    }
    for wrong in [json!({ "only": ["read", "read"] }), json!({ "only": vec!["read"; 51] }), json!({ "only": ["fly"] })]
    {
        assert_eq!(make(wrong).await.unwrap_err().code().as_str(), "invalid_arguments");
    }
    for days in [0, 366] {
        let input = json!({ "scope": "all", "lifetime_days": days });
        let error = bench.keyed(&session, "create_my_token", input).await.unwrap_err();
        assert_eq!(error.details().field.as_deref(), Some("lifetime_days"));
    }
    let owner = bench.session_of(bench.owner.principal).await;
    bench.keyed(&owner, "create_my_token", json!({ "scope": { "only": ["admin", "grant.write"] } })).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_narrows_administrators_too() {
    let bench = Bench::on(Engine::Sqlite).await;
    let narrow = bench.token_of("Olga", Scope::Only(vec![Permission::GrantWrite])).await;
    assert_refused(bench.call(&narrow, "list_principals", json!({})).await, "permission_denied", "admin");
    bench.call(&narrow, "list_grants", json!({ "project": PROJECT })).await.unwrap();
    let wide = bench.token_of("Olga", Scope::Only(vec![Permission::Admin])).await;
    bench.call(&wide, "list_principals", json!({})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_makes_and_ends_the_tokens_of_services_alone() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let robot = bench.service("robot", &[Role::Viewer]).await;
        let user = bench.person("Tina", &[]).await;
        let make = |principal: &Value| json!({ "principal_id": principal, "scope": "all", "label": "ci" });
        let made = bench.keyed(&bench.owner, "create_service_token", make(&json!(robot.principal))).await.unwrap();
        let secret = made["secret"].as_str().unwrap();
        assert!(secret.starts_with("phs_"), "{secret}");
        let actor = bench.app.authenticate(secret, request()).await.unwrap();
        assert_eq!(actor.class, PrincipalClass::Service);
        bench.reads(&actor).await.unwrap();
        let outcome = bench.keyed(&bench.owner, "create_service_token", make(&json!(user.principal))).await;
        assert_refused(outcome, "not_found", "");
        assert_refused(
            bench.keyed(&robot, "create_service_token", make(&json!(robot.principal))).await,
            "permission_denied",
            "admin",
        );

        let listed = bench.call(&bench.owner, "list_service_tokens", json!({})).await.unwrap();
        assert_eq!(listed["tokens"].as_array().unwrap().len(), 2);
        assert!(
            listed["tokens"].as_array().unwrap().iter().all(|token| token["principal_id"] == json!(robot.principal))
        );
        let pinhole_core::Authority::Token { id, .. } = user.authority else { panic!("a token") };
        let persons = json!({ "token_id": id });
        assert_refused(bench.call(&bench.owner, "revoke_service_token", persons).await, "not_found", "");
        let input = json!({ "token_id": made["token"]["id"] });
        for _ in 0..2 {
            bench.call(&bench.owner, "revoke_service_token", input.clone()).await.unwrap();
        }
        assert_refused(bench.reads(&actor).await, "unauthenticated", "");
        bench.reads(&robot).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_of_a_token_is_written_by_the_sweeper_every_five_minutes() {
    let bench = Bench::on(Engine::Sqlite).await;
    let session = bench.session_of(bench.owner.principal).await;
    let made = bench.keyed(&session, "create_my_token", json!({ "scope": "all" })).await.unwrap();
    let secret = made["secret"].as_str().unwrap();
    let mut seen = Vec::new();
    for minutes in [1, 4, 1] {
        bench.clock.advance(minutes * MINUTE);
        bench.app.authenticate(secret, request()).await.unwrap();
        bench.app.sweep().await.unwrap();
        let listed = bench.call(&session, "list_my_tokens", json!({ "limit": 1 })).await.unwrap();
        seen.push(listed["tokens"][0]["last_used_at"].clone());
    }
    let at = |minute: u32| json!(format!("2026-01-01T00:0{minute}:00.000000Z"));
    assert_eq!(seen, [at(1), at(1), at(6)]);
}
