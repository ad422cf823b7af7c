//! Cases of automations and investigations.

use serde_json::{Value, json};

use crate::{
    cases::declare,
    ground::Ground,
    support::{ENVIRONMENTS, GOOD, PROJECT},
};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

declare! {
    "create_schedule" in Environment => |ground, _| schedule(ground).await,
    "update_schedule" in Environment => |ground, _| {
        let made = made(ground, "create_schedule", schedule(ground).await).await;
        changed(schedule(ground).await, "schedule_id", &made)
    },
    "get_schedule" in Environment => |ground, _| {
        json!({ "schedule_id": made(ground, "create_schedule", schedule(ground).await).await["id"] })
    },
    "list_schedules" in Lists => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "delete_schedule" in Environment => |ground, _| {
        let made = made(ground, "create_schedule", schedule(ground).await).await;
        changed(json!({}), "schedule_id", &made)
    },
    "create_webhook" in Environment => |ground, _| automation(ground).await,
    "update_webhook" in Environment => |ground, _| {
        let made = made(ground, "create_webhook", automation(ground).await).await;
        changed(automation(ground).await, "webhook_id", &made)
    },
    "get_webhook" in Environment => |ground, _| {
        json!({ "webhook_id": made(ground, "create_webhook", automation(ground).await).await["id"] })
    },
    "list_webhooks" in Lists => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "delete_webhook" in Environment => |ground, _| {
        let made = made(ground, "create_webhook", automation(ground).await).await;
        changed(json!({}), "webhook_id", &made)
    },
    "create_ci_dispatch" in Environment => |ground, _| automation(ground).await,
    "update_ci_dispatch" in Environment => |ground, _| {
        let made = made(ground, "create_ci_dispatch", automation(ground).await).await;
        changed(automation(ground).await, "ci_dispatch_id", &made)
    },
    "get_ci_dispatch" in Environment => |ground, _| {
        json!({ "ci_dispatch_id": made(ground, "create_ci_dispatch", automation(ground).await).await["id"] })
    },
    "list_ci_dispatches" in Lists => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "delete_ci_dispatch" in Environment => |ground, _| {
        let made = made(ground, "create_ci_dispatch", automation(ground).await).await;
        changed(json!({}), "ci_dispatch_id", &made)
    },
    "dispatch_ci" in Environment => |ground, _| {
        let made = made(ground, "create_ci_dispatch", automation(ground).await).await;
        json!({ "ci_dispatch_id": made["id"], "commit": COMMIT, "ref": "refs/heads/main" })
    },
    "open_investigation" in Environment => |ground, _| failure(ground).await,
    "claim_investigation" in Environment => |ground, _| changed(json!({}), "case_id", &case(ground).await),
    "add_finding" in Environment => |ground, _| changed(json!({ "text": "The button is gone." }), "case_id", &case(ground).await),
    "dispose_investigation" in Environment => |ground, _| {
        let claimed = ground.call("claim_investigation", changed(json!({}), "case_id", &case(ground).await)).await;
        changed(json!({ "disposition": "defect", "reason": "it is gone" }), "case_id", &claimed)
    },
    "list_investigations" in Lists => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_investigation" in Environment => |ground, _| json!({ "case_id": case(ground).await["id"], "limit": 1 }),
}

/// Selectors of a scenario of its own.
async fn selectors(ground: &Ground) -> Value {
    json!({
        "project": PROJECT,
        "scenario": ground.scenario().await["slug"],
        "revision": { "head": true },
        "environment": ENVIRONMENTS[0],
        "environment_revision": { "latest": true },
        "baseline": { "none": true },
    })
}

/// What a webhook or a CI dispatch is made with.
async fn automation(ground: &Ground) -> Value {
    json!({ "title": ground.fresh("Automation"), "run": selectors(ground).await, "enabled": true })
}

/// What a schedule is made with.
async fn schedule(ground: &Ground) -> Value {
    let mut input = automation(ground).await;
    input["cron"] = "0 3 * * *".into();
    input["time_zone"] = "UTC".into();
    input
}

/// What the maker of baselines makes with an operation.
async fn made(ground: &Ground, operation: &str, input: Value) -> Value {
    ground.path.bench.keyed(&ground.path.maker, operation, input).await.unwrap()
}

/// The input with the object and the version that it has.
fn changed(mut input: Value, member: &str, object: &Value) -> Value {
    input[member] = object["id"].clone();
    input["expected_version"] = object["version"].clone();
    input
}

/// What a case is opened with: a run of a scenario of its own, which nothing else fails like, and a queue of its own.
async fn failure(ground: &Ground) -> Value {
    let run = made(ground, "start_scenario_run", selectors(ground).await).await;
    ground.path.bench.finish(&run, GOOD).await;
    json!({ "run_id": run["id"], "queue": ground.fresh("queue") })
}

/// A case that waits.
async fn case(ground: &Ground) -> Value {
    made(ground, "open_investigation", failure(ground).await).await
}
