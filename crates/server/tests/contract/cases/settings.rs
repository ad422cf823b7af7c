//! Cases of environments' settings, baseline policies, secrets and remotes.

use serde_json::{Value, json};

use crate::{cases::declare, ground::Ground, support::PROJECT};

declare! {
    "get_readiness" => |_, _| json!({}),
    "list_projects" => |_, _| json!({ "limit": 1 }),
    "get_baseline_policy" => |_, _| json!({ "project": PROJECT }),
    "update_baseline_policy" => |ground, _| json!({
        "project": PROJECT,
        "approval_lifetime_s": 3600 + ground.number(),
        "expected_version": ground.call("get_baseline_policy", json!({ "project": PROJECT })).await["revision"],
    }),
    "update_environment" => |ground, _| json!({
        "environment_id": new_environment(ground).await,
        "document": { "base_url": "http://newer.example/" },
        "expected_version": 1,
    }),
    "list_environments" => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "approve_host_patterns" => |ground, _| json!({
        "environment_id": new_environment(ground).await,
        "patterns": [PATTERN],
        "expected_version": 1,
    }),
    "put_environment_secret" => |ground, _| secret(new_environment(ground).await, 0),
    "delete_environment_secret" => |ground, _| {
        let environment = new_environment(ground).await;
        let put = secret(environment.clone(), 0);
        ground.path.bench.call(&ground.path.bench.owner, "put_environment_secret", put).await.unwrap();
        json!({ "environment_id": environment, "name": SECRET, "expected_version": 1 })
    },
    "list_environment_secrets" => |ground, _| json!({ "environment_id": new_environment(ground).await }),
    "put_remote" => |ground, _| json!({
        "slug": ground.fresh("remote"),
        "url": "https://git.example/catalog.git",
        "branches": ["main"],
        "expected_version": 0,
    }),
    "list_remotes" => |_, _| json!({ "limit": 1 }),
}

const SECRET: &str = "BUYER";
const PATTERN: &str = "https://pr-*.new.example";

fn secret(environment: Value, version: u32) -> Value {
    json!({ "environment_id": environment, "name": SECRET, "value": "a value", "expected_version": version })
}

/// An environment of its own, which declares a secret and asks for a host pattern.
async fn new_environment(ground: &Ground) -> Value {
    let document = json!({
        "base_url": "http://new.example/",
        "secrets": [{ "name": SECRET, "origins": ["http://new.example"] }],
        "host_patterns": [PATTERN],
    });
    let input = json!({ "project": PROJECT, "slug": ground.fresh("environment"), "document": document });
    let made = ground.path.bench.keyed(&ground.path.bench.owner, "create_environment", input).await;
    made.unwrap()["id"].clone()
}
