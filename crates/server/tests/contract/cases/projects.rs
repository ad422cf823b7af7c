//! Cases of callers, projects, environments and scenarios.

use serde_json::json;

use crate::{
    cases::declare,
    ground::SOURCE,
    support::{ENVIRONMENTS, PROJECT},
};

declare! {
    "whoami" => |_, _| json!({}),
    "list_operations" => |_, _| json!({}),
    "create_project" => |ground, _| json!({ "slug": ground.fresh("project"), "title": "A project" }),
    "get_project" => |_, _| json!({ "project": PROJECT }),
    "create_environment" => |ground, _| json!({
        "project": PROJECT,
        "slug": ground.fresh("environment"),
        "document": { "base_url": "http://new.example/" },
    }),
    "get_environment" => |ground, _| json!({ "environment_id": ground.environment(ENVIRONMENTS[0]).await }),
    "validate_scenario" => |_, _| json!({ "project": PROJECT, "source": SOURCE }),
    "create_scenario" => |ground, _| json!({
        "project": PROJECT,
        "slug": ground.fresh("scenario"),
        "source": SOURCE,
    }),
    "submit_scenario_revision" => |ground, _| {
        let scenario = ground.scenario().await;
        let source = SOURCE.replace("Start", "Begin");
        json!({ "scenario_id": scenario["id"], "source": source, "expected_version": scenario["version"] })
    },
    "list_scenarios" => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "archive_scenario" => |ground, _| {
        let scenario = ground.scenario().await;
        json!({ "scenario_id": scenario["id"], "expected_version": scenario["version"] })
    },
    "get_scenario" => |ground, _| json!({ "scenario_id": ground.scenario().await["id"] }),
}
