//! Grants and credentials are read live: what is taken away is missed by the very next call, page or range.

use std::time::Duration;

use axum::{body::Body, http::Request};
use pinhole_contract::{Idempotency, Spec, Who};
use pinhole_core::{Permission, PrincipalClass, Role, Scope};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    callers::{Caller, Credential, Kind, session, token},
    cases::{Case, cases},
    doors::Door,
    ground::Ground,
    support::PROJECT,
};

/// A person and a service, who have the same roles at any time.
const NAME: &str = "Tom";
const SERVICE: &str = "tomcat";
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A ground with somebody who has no role yet.
struct Stage {
    ground: Ground,
    token: Credential,
    session: Credential,
    service: Credential,
}

impl Stage {
    async fn new() -> Self {
        let ground = Ground::on(Engine::Sqlite).await;
        ground.enrol(PrincipalClass::User, NAME, false, PROJECT, &[]).await;
        ground.enrol(PrincipalClass::Service, SERVICE, false, PROJECT, &[]).await;
        let service = token(&ground, SERVICE, Scope::All, DAY).await;
        let (token, session) = (token(&ground, NAME, Scope::All, DAY).await, session(&ground, NAME).await);
        Self { ground, token, session, service }
    }

    async fn grant(&self, role: Role) {
        for name in [NAME, SERVICE] {
            let (name, project) = (name.parse().unwrap(), PROJECT.parse().unwrap());
            self.ground.app().grant(&name, &project, None, role).await.unwrap();
        }
    }

    async fn revoke(&self, role: Role) {
        for name in [NAME, SERVICE] {
            let (name, project) = (name.parse().unwrap(), PROJECT.parse().unwrap());
            self.ground.app().revoke_grant(&name, &project, None, role).await.unwrap();
        }
    }

    /// With which credential, and at which doors, the operation is open to somebody with a role.
    fn ways(&self, case: &Case) -> (&Credential, &'static [Door]) {
        let spec = case.spec();
        match spec.who {
            Who::Any if case.is_for_services() => (&self.service, Door::of(spec)),
            Who::Any => (&self.token, Door::of(spec)),
            Who::Session | Who::Human => (&self.session, &[Door::Rest]),
        }
    }

    async fn input(&self, case: &Case, role: Role, credential: &Credential) -> Value {
        let caller = Caller::of(&self.ground, Kind::Role(role), NAME, credential.clone(), &[role]).await;
        case.input(&self.ground, &caller).await
    }
}

/// A role that allows what the operation needs in a project.
fn role_for(spec: &Spec) -> Option<Role> {
    let needed = spec.permission.filter(|permission| *permission != Permission::Admin)?;
    Role::ALL.iter().copied().find(|role| role.allows(needed))
}

#[tokio::test]
async fn a_role_that_was_taken_is_missed_by_the_next_call() {
    let stage = Stage::new().await;
    let mut calls = 0;
    for case in cases() {
        let Some(role) = role_for(&case.needs()) else { continue };
        let (credential, doors) = stage.ways(&case);
        for door in doors {
            let what = format!("{} at {door:?}", case.operation);
            let call = async |input: &Value| {
                let answer = stage.ground.through(*door, case.operation, credential, input).await;
                (answer.said().to_owned(), answer.body)
            };
            stage.grant(role).await;
            let input = stage.input(&case, role, credential).await;
            let (said, body) = call(&input).await;
            assert_eq!(said, "ok", "{what}: {body}");
            stage.revoke(role).await;
            // A keyed call would be a replay now, and that is authorised like any other.
            let (said, body) = call(&input).await;
            assert_eq!(said, "not_found", "{what}: {body}");
            if role != Role::Viewer {
                stage.grant(Role::Viewer).await;
                let (said, body) = call(&input).await;
                assert_eq!(said, "permission_denied", "{what}: {body}");
                stage.revoke(Role::Viewer).await;
            }
            calls += 1;
        }
    }
    println!("{calls} calls refused after their role was taken");
}

#[tokio::test]
async fn who_left_a_group_misses_its_roles_at_the_next_call() {
    let stage = Stage::new().await;
    let bench = &stage.ground.path.bench;
    let administer = async |operation: &str, input: Value| bench.call(&bench.owner, operation, input).await.unwrap();
    let group = bench.keyed(&bench.owner, "create_group", json!({ "name": "team" })).await.unwrap()["id"].clone();
    administer("grant_role", json!({ "project": PROJECT, "subject": group, "role": Role::Viewer })).await;
    let tom = bench.app.ensure_principal(PrincipalClass::User, &NAME.parse().unwrap(), false).await.unwrap();
    let mut version = 1;
    for door in [Door::Rest, Door::Initialized, Door::Stateless] {
        for (members, says) in [(vec![tom], "ok"), (vec![], "not_found")] {
            let input = json!({ "group_id": group, "members": members, "expected_version": version });
            version = administer("put_group_members", input).await["version"].as_u64().unwrap();
            let project = json!({ "project": PROJECT });
            let answer = stage.ground.through(door, "get_project", &stage.token, &project).await;
            assert_eq!(answer.said(), says, "{door:?}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn a_token_that_was_revoked_is_missed_by_the_next_call() {
    let stage = Stage::new().await;
    stage.grant(Role::Viewer).await;
    for door in [Door::Rest, Door::Initialized, Door::Stateless] {
        let token = stage.ground.app().create_token(&NAME.parse().unwrap(), &Scope::All, DAY).await.unwrap();
        let credential = Credential::Bearer(token.secret);
        let call = async || stage.ground.through(door, "whoami", &credential, &json!({})).await;
        assert_eq!(call().await.said(), "ok", "{door:?}");
        stage.ground.app().revoke_token(token.id).await.unwrap();
        assert_eq!((call().await.said(), call().await.status), ("unauthenticated", 401), "{door:?}");
    }
}

#[tokio::test]
async fn a_role_that_was_taken_is_missed_by_the_next_page() {
    let stage = Stage::new().await;
    let mut lists = Vec::new();
    for case in cases() {
        let Some(role) = role_for(&case.needs()) else { continue };
        let (credential, doors) = stage.ways(&case);
        for door in doors.iter().filter(|_| case.spec().idempotency == Idempotency::Read) {
            let what = format!("{} at {door:?}", case.operation);
            stage.grant(role).await;
            let mut input = stage.input(&case, role, credential).await;
            let first = stage.ground.through(*door, case.operation, credential, &input).await;
            let cursor = first.body["next_cursor"].clone();
            if !cursor.is_null() {
                input["cursor"] = cursor;
                let next = stage.ground.through(*door, case.operation, credential, &input).await;
                assert_eq!(next.said(), "ok", "{what}: {}", next.body);
                lists.push(case.operation);
            }
            stage.revoke(role).await;
            let next = stage.ground.through(*door, case.operation, credential, &input).await;
            assert_eq!(next.said(), "not_found", "{what}: {}", next.body);
        }
    }
    lists.dedup();
    println!("second pages of {lists:?}");
    for list in ["list_scenario_runs", "get_scenario_run_result", "get_catalog_revision"] {
        assert!(lists.contains(&list), "{list} has no second page");
    }
}

#[tokio::test]
async fn a_role_that_was_taken_is_missed_by_the_next_range() {
    let stage = Stage::new().await;
    let artifact = stage.ground.artifact().await;
    let path = format!("/api/v1/artifacts/{}/content", artifact.as_str().unwrap());
    let range = async |range: &str| {
        let request = Request::get(&path).header("range", range).body(Body::empty()).unwrap();
        stage.ground.send(&stage.token, request).await.status
    };
    assert_eq!(range("bytes=0-9").await, 404);
    stage.grant(Role::Viewer).await;
    assert_eq!(range("bytes=0-9").await, 206);
    stage.revoke(Role::Viewer).await;
    assert_eq!(range("bytes=10-19").await, 404);
}
