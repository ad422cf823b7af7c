//! What administrators do with principals, and what the audit log shows to whom.

use pinhole_core::{Actor, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    people::{assert_refused, request},
    support::{Bench, PROJECT},
};

#[tokio::test(flavor = "multi_thread")]
async fn disabling_somebody_ends_all_their_credentials_at_once() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let token = bench.person("Dan", &[Role::Viewer]).await;
        let session = bench.session_of(token.principal).await;
        let put = async |disabled: bool| {
            let input = json!({ "principal_id": token.principal, "disabled": disabled });
            bench.call(&bench.owner, "update_principal", input).await.unwrap()
        };
        assert_ne!(put(true).await["disabled_at"], json!(null));
        for actor in [&token, &session] {
            assert_refused(bench.reads(actor).await, "unauthenticated", "");
        }
        assert!(bench.app.begin_session(token.principal, "password").await.is_err());
        let made =
            bench.app.create_token(&"Dan".parse().unwrap(), &pinhole_core::Scope::All, crate::people::HOUR).await;
        assert!(bench.app.authenticate(&made.unwrap().secret, request()).await.is_err());
        // What ended stays ended; new credentials open what the roles say.
        assert_eq!(put(false).await["disabled_at"], json!(null));
        assert_refused(bench.reads(&token).await, "unauthenticated", "");
        let again = bench.session_of(token.principal).await;
        bench.reads(&again).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_stays() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let other = bench.stranger("Otto").await;
        let link = bench.app.create_sign_in_link(&"Otto".parse().unwrap()).await.unwrap();
        bench.app.use_sign_in_link(&link.secret, "correct horse battery", "test", None).await.unwrap();
        let put = async |principal: Value, change: (&str, bool)| {
            let mut input = json!({ "principal_id": principal });
            input[change.0] = change.1.into();
            bench.call(&bench.owner, "update_principal", input).await
        };
        let me = json!(bench.owner.principal);
        for change in [("disabled", true), ("admin", false)] {
            assert_refused(put(me.clone(), change).await, "conflict", "last_admin");
        }
        put(json!(other), ("admin", true)).await.unwrap();
        // An administrator who is disabled is none.
        put(json!(other), ("disabled", true)).await.unwrap();
        assert_refused(put(me.clone(), ("admin", false)).await, "conflict", "last_admin");
        put(json!(other), ("disabled", false)).await.unwrap();
        put(me.clone(), ("admin", false)).await.unwrap();
        assert_refused(put(me, ("admin", true)).await, "permission_denied", "admin");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_make_principals_once() {
    let bench = Bench::on(Engine::Sqlite).await;
    let input = json!({ "class": "service", "name": "robot", "idempotency_key": "k" });
    let made = bench.call(&bench.owner, "create_principal", input.clone()).await.unwrap();
    assert_eq!((&made["class"], &made["admin_since"]), (&json!("service"), &json!(null)));
    let again = bench.call(&bench.owner, "create_principal", input.clone()).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&made["id"], &json!(true)));
    let taken = json!({ "class": "user", "name": "robot" });
    assert_refused(bench.keyed(&bench.owner, "create_principal", taken).await, "conflict", "exists");
    let owner = bench.person("Otto", &[Role::Owner]).await;
    assert_refused(bench.call(&owner, "create_principal", input).await, "permission_denied", "admin");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_an_administrators_and_each_projects_its_owners() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let other = json!({ "slug": "other", "title": "Other" });
        bench.keyed(&bench.owner, "create_project", other).await.unwrap();
        let owner = bench.person("Otto", &[Role::Owner]).await;
        let viewer = bench.person("Vera", &[Role::Viewer]).await;
        let list = async |actor: &Actor, input: Value| bench.call(actor, "list_audit", input).await;
        let all = list(&bench.owner, json!({ "limit": 200 })).await.unwrap();
        let ids: Vec<_> =
            all["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        assert!(ids.is_sorted_by(|newer, older| newer > older));
        let mine = list(&owner, json!({ "project": PROJECT, "limit": 200 })).await.unwrap();
        let projects: Vec<_> = mine["entries"].as_array().unwrap().iter().map(|entry| &entry["project_id"]).collect();
        assert!(!projects.is_empty() && projects.iter().all(|project| *project == projects[0]));
        assert!(ids.len() > projects.len());

        assert_refused(list(&owner, json!({})).await, "permission_denied", "admin");
        assert_refused(list(&viewer, json!({ "project": PROJECT })).await, "permission_denied", "audit.read");
        for hidden in ["other", "missing"] {
            assert_refused(list(&owner, json!({ "project": hidden })).await, "not_found", "");
        }
        let granted = list(&owner, json!({ "project": PROJECT, "operation": "grant_role", "limit": 1 })).await.unwrap();
        assert_eq!(granted["entries"][0]["detail"]["subject"], json!(viewer.principal));
        let input = json!({
            "project": PROJECT, "operation": "grant_role", "limit": 1, "cursor": granted["next_cursor"],
        });
        let next = list(&owner, input).await.unwrap();
        assert_eq!(next["entries"][0]["detail"]["subject"], json!(owner.principal));
        for (member, text) in
            [("operation", "a\u{0}b"), ("object", "\u{0}"), ("object", ""), ("operation", &"x".repeat(101))]
        {
            let error = list(&bench.owner, json!({ member: text })).await.unwrap_err();
            assert_eq!((error.code().as_str(), error.details().field.as_deref()), ("invalid_arguments", Some(member)));
        }
        let none = list(&bench.owner, json!({ "from": "2100-01-01T00:00:00Z" })).await.unwrap();
        assert_eq!(none["entries"], json!([]));
        let about = list(&bench.owner, json!({ "object": viewer.principal })).await.unwrap();
        let operations: Vec<_> = about["entries"].as_array().unwrap().iter().map(|entry| &entry["operation"]).collect();
        assert_eq!(operations, ["create_principal"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_every_key() {
    let bench = Bench::on(Engine::Sqlite).await;
    let listed = bench.call(&bench.owner, "list_signing_keys", json!({})).await.unwrap();
    let [statement, log] = &listed["keys"].as_array().unwrap()[..] else { panic!("{listed}") };
    for (key, purpose) in [(statement, "statement"), (log, "log")] {
        assert_eq!((&key["algorithm"], &key["status"]), (&json!("Ed25519"), &json!("active")));
        assert_eq!((key["public_key"].as_str().unwrap().len(), &key["purpose"]), (43, &json!(purpose)));
    }
    let owner = bench.person("Otto", &[Role::Owner]).await;
    assert_refused(bench.call(&owner, "list_signing_keys", json!({})).await, "permission_denied", "admin");
}
