//! Roles: who gives and takes them, that the next call sees it, and that a project keeps an owner.

use pinhole_core::{PrincipalClass, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    people::assert_refused,
    support::{Bench, PROJECT},
};

fn role(subject: impl serde::Serialize, role: &str) -> Value {
    json!({ "project": PROJECT, "subject": subject, "role": role })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_gives_and_takes_roles_and_the_next_call_sees_it() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let owner = bench.person("Otto", &[Role::Owner]).await;
        let user = bench.person("Rob", &[]).await;
        for _ in 0..2 {
            bench.call(&owner, "grant_role", role(user.principal, "viewer")).await.unwrap();
            bench.reads(&user).await.unwrap();
        }
        for _ in 0..2 {
            bench.call(&owner, "revoke_role", role(user.principal, "viewer")).await.unwrap();
            assert_refused(bench.reads(&user).await, "not_found", "");
        }
        let mut here = role(user.principal, "operator");
        here["environment"] = "staging".into();
        let granted = bench.call(&owner, "grant_role", here.clone()).await.unwrap();
        assert_eq!((&granted["environment"], &granted["name"]), (&json!("staging"), &json!("Rob")));
        let listed = bench.call(&owner, "list_grants", json!({ "project": PROJECT })).await.unwrap();
        assert!(listed["grants"].as_array().unwrap().contains(&granted), "{listed}");
        here["environment"] = "nowhere".into();
        assert_refused(bench.call(&owner, "grant_role", here).await, "not_found", "");
        let nobody = format!("prn_{}", "0".repeat(32));
        assert_refused(bench.call(&owner, "grant_role", role(nobody, "viewer")).await, "not_found", "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_gives_roles_without_reading_the_project() {
    let bench = Bench::on(Engine::Sqlite).await;
    let name = "Adam".parse().unwrap();
    bench.app.ensure_principal(PrincipalClass::User, &name, true).await.unwrap();
    let admin = crate::support::authenticate(&bench.app, "Adam").await;
    let user = bench.person("Rob", &[]).await;
    bench.call(&admin, "grant_role", role(user.principal, "viewer")).await.unwrap();
    bench.call(&admin, "list_grants", json!({ "project": PROJECT })).await.unwrap();
    assert_refused(bench.reads(&admin).await, "not_found", "");
    bench.call(&admin, "revoke_role", role(user.principal, "viewer")).await.unwrap();
    let missing = json!({ "project": "missing" });
    assert_refused(bench.call(&admin, "list_grants", missing).await, "not_found", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn others_neither_give_nor_see_roles() {
    let bench = Bench::on(Engine::Sqlite).await;
    let stranger = bench.person("Sid", &[]).await;
    let others: Vec<_> = Role::ALL.iter().copied().filter(|role| *role != Role::Owner).collect();
    let member = bench.person("Max", &others).await;
    let here = bench.principal(PrincipalClass::User, "Ilse", Some("staging"), &[Role::Owner]).await;
    for (operation, input) in [
        ("grant_role", role(member.principal, "owner")),
        ("revoke_role", role(bench.owner.principal, "owner")),
        ("list_grants", json!({ "project": PROJECT })),
    ] {
        assert_refused(bench.call(&stranger, operation, input.clone()).await, "not_found", "");
        // Who owns one environment does not own the project.
        for actor in [&member, &here] {
            assert_refused(bench.call(actor, operation, input.clone()).await, "permission_denied", "grant.write");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_owner_of_a_project_stays() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let second = bench.person("Otto", &[Role::Owner]).await;
        let first = role(bench.owner.principal, "owner");
        bench.call(&second, "revoke_role", first.clone()).await.unwrap();
        let last = role(second.principal, "owner");
        for actor in [&second, &bench.owner] {
            assert_refused(bench.call(actor, "revoke_role", last.clone()).await, "conflict", "last_owner");
        }
        // An owner who is disabled is none.
        bench.call(&second, "grant_role", first).await.unwrap();
        let spare = bench.person("Spare", &[]).await.principal;
        let spare = json!({ "principal_id": spare, "admin": true });
        bench.call(&bench.owner, "update_principal", spare).await.unwrap();
        let disabled = json!({ "principal_id": bench.owner.principal, "disabled": true });
        bench.call(&bench.owner, "update_principal", disabled).await.unwrap();
        assert_refused(bench.call(&second, "revoke_role", last).await, "conflict", "last_owner");
    }
}
