//! Cases of environments' settings, baseline policies, secrets and remotes.

use serde_json::{Value, json};

use crate::{callers::Caller, cases::declare, ground::Ground, support::PROJECT};

declare! {
    "get_log_proof" in Environment => |ground, _| json!({ "record_id": ground.receipt() }),
    "get_log_consistency" in Nowhere => |_, _| json!({ "first": 1 }),
    "get_readiness" in Nowhere => |_, _| json!({}),
    "list_projects" in Nowhere => |_, _| json!({ "limit": 1 }),
    "get_baseline_policy" in Project => |_, _| json!({ "project": PROJECT }),
    "update_baseline_policy" in Project => |ground, _| json!({
        "project": PROJECT,
        "approval_lifetime_s": 3600 + ground.number(),
        "expected_version": ground.call("get_baseline_policy", json!({ "project": PROJECT })).await["revision"],
    }),
    "update_environment" in NewEnvironment => |ground, caller| json!({
        "environment_id": new_environment(ground, caller).await,
        "document": { "base_url": "http://newer.example/" },
        "expected_version": 1,
    }),
    "list_environments" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "approve_host_patterns" in Nowhere => |ground, caller| json!({
        "environment_id": new_environment(ground, caller).await,
        "patterns": [PATTERN],
        "expected_version": 1,
    }),
    "put_environment_secret" in NewEnvironment => |ground, caller| secret(new_environment(ground, caller).await, 0),
    "delete_environment_secret" in NewEnvironment => |ground, caller| {
        let environment = new_environment(ground, caller).await;
        let put = secret(environment.clone(), 0);
        ground.path.bench.call(&ground.path.bench.owner, "put_environment_secret", put).await.unwrap();
        json!({ "environment_id": environment, "name": SECRET, "expected_version": 1 })
    },
    "list_environment_secrets" in NewEnvironment => |ground, caller| {
        json!({ "environment_id": new_environment(ground, caller).await })
    },
    "put_remote" in Nowhere => |ground, _| json!({
        "slug": ground.fresh("remote"),
        "url": "https://git.example/catalog.git",
        "branches": ["main"],
        "expected_version": 0,
    }),
    "list_remotes" in Nowhere => |_, _| json!({ "limit": 1 }),
}

const SECRET: &str = "BUYER";
const PATTERN: &str = "https://pr-*.new.example";

fn secret(environment: Value, version: u32) -> Value {
    json!({ "environment_id": environment, "name": SECRET, "value": "a value", "expected_version": version })
}

/// An environment of its own, which declares a secret and asks for a host pattern.
async fn new_environment(ground: &Ground, caller: &Caller) -> Value {
    let document = json!({
        "base_url": "http://new.example/",
        "secrets": [{ "name": SECRET, "origins": ["http://new.example"] }],
        "host_patterns": [PATTERN],
    });
    let slug = ground.fresh("environment");
    let input = json!({ "project": PROJECT, "slug": slug, "document": document });
    let made = ground.path.bench.keyed(&ground.path.bench.owner, "create_environment", input).await;
    caller.follow(ground, &slug).await;
    made.unwrap()["id"].clone()
}
