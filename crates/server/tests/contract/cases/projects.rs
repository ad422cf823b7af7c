//! Cases of callers, projects, environments and scenarios.

use serde_json::json;

use crate::{
    cases::declare,
    ground::SOURCE,
    support::{ENVIRONMENTS, PROJECT},
};

declare! {
    "whoami" in Nowhere => |_, _| json!({}),
    "list_operations" in Nowhere => |_, _| json!({}),
    "create_project" in Nowhere => |ground, _| json!({ "slug": ground.fresh("project"), "title": "A project" }),
    "get_project" in Project => |_, _| json!({ "project": PROJECT }),
    "create_environment" in Project => |ground, _| json!({
        "project": PROJECT,
        "slug": ground.fresh("environment"),
        "document": { "base_url": "http://new.example/" },
    }),
    "get_environment" in Environment => |ground, _| json!({ "environment_id": ground.environment(ENVIRONMENTS[0]).await }),
    "validate_scenario" in Project => |_, _| json!({ "project": PROJECT, "source": SOURCE }),
    "create_scenario" in Project => |ground, _| json!({
        "project": PROJECT,
        "slug": ground.fresh("scenario"),
        "source": SOURCE,
    }),
    "submit_scenario_revision" in Project => |ground, _| {
        let scenario = ground.scenario().await;
        let source = SOURCE.replace("Start", "Begin");
        json!({ "scenario_id": scenario["id"], "source": source, "expected_version": scenario["version"] })
    },
    "list_scenarios" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "archive_scenario" in Project => |ground, _| {
        let scenario = ground.scenario().await;
        json!({ "scenario_id": scenario["id"], "expected_version": scenario["version"] })
    },
    "get_scenario" in Project => |ground, _| json!({ "scenario_id": ground.scenario().await["id"] }),
}
