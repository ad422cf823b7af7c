//! Cases of runs, their results and evidence.

use serde_json::json;

use crate::{
    cases::declare,
    support::{ENVIRONMENTS, PROJECT},
};

declare! {
    "start_scenario_run" in Environment => |ground, _| json!({
        "project": PROJECT,
        "scenario": ground.scenario().await["slug"],
        "revision": { "head": true },
        "environment": ENVIRONMENTS[0],
        "environment_revision": { "latest": true },
        "baseline": { "none": true },
    }),
    "get_scenario_run" in Environment => |ground, _| json!({ "run_id": ground.captured.run }),
    "cancel_scenario_run" in Environment => |ground, _| {
        let run = ground.path.bench.start(&ground.path.maker, ENVIRONMENTS[0], json!({ "none": true })).await;
        json!({ "run_id": run["id"], "expected_version": run["version"] })
    },
    "list_scenario_runs" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_scenario_run_result" in Environment => |ground, _| json!({ "run_id": ground.captured.run, "limit": 1 }),
    "get_scenario_artifact" in Environment => |ground, _| json!({ "artifact_id": ground.artifact().await }),
    "get_capture_receipt" in Environment => |ground, _| json!({ "receipt_id": ground.receipt() }),
}
