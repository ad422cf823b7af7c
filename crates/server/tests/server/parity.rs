//! The same call refused over REST and over MCP has the same code, message and details.

use serde_json::{Value, json};

use crate::world::World;

fn essence(result: &Value) -> Value {
    let body = &result["structuredContent"];
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, body);
    assert!(body["request_id"].as_str().unwrap().starts_with("req_"));
    json!({ "code": body["code"], "message": body["message"], "details": body["details"] })
}

#[tokio::test]
async fn refusals_are_the_same() {
    let world = World::new().await;
    let run = "run_00000000000000000000000000000007";
    let project = json!({ "slug": "shop", "title": "Again", "idempotency_key": "another" });
    let changed = json!({ "slug": "shop", "title": "Changed", "idempotency_key": "project" });
    for (tool, path, arguments) in [
        ("create_project", "/api/v1/projects", json!({ "slug": "a", "title": "A" })),
        ("create_project", "/api/v1/projects", json!({ "slug": "A B", "title": "A", "idempotency_key": "k" })),
        (
            "create_project",
            "/api/v1/projects",
            json!({ "slug": "a", "title": "A", "colour": 1, "idempotency_key": "k" }),
        ),
        ("create_project", "/api/v1/projects", json!({})),
        ("create_project", "/api/v1/projects", project),
        ("create_project", "/api/v1/projects", changed),
        ("validate_scenario", "/api/v1/scenarios/validate", json!({ "project": "nothing", "source": "" })),
        (
            "start_scenario_run",
            "/api/v1/runs",
            json!({ "project": "shop", "scenario": "none", "revision": { "newest": true } }),
        ),
    ] {
        let rest = world.post(path, &world.token, &arguments).await;
        assert!(rest.status().is_client_error(), "{tool} {arguments}: {}", rest.text());
        let mcp = world.tool(&world.token, tool, &arguments).await;
        assert_eq!(mcp["isError"], true, "{tool} {arguments}");
        assert_eq!(essence(&mcp), rest.error(), "{tool} {arguments}");
    }
    for (tool, path, arguments) in [
        ("get_scenario_run", format!("/api/v1/runs/{run}"), json!({ "run_id": run })),
        ("get_scenario_run", "/api/v1/runs/7".into(), json!({ "run_id": "7" })),
        ("list_scenario_runs", "/api/v1/runs?project=shop&limit=0".into(), json!({ "project": "shop", "limit": 0 })),
        ("list_scenario_runs", "/api/v1/runs".into(), json!({})),
    ] {
        let rest = world.get(&path, &world.token).await;
        let mcp = world.tool(&world.token, tool, &arguments).await;
        assert_eq!(essence(&mcp), rest.error(), "{path}");
    }
}

#[tokio::test]
async fn successes_are_the_same() {
    let world = World::new().await;
    let source = "schema: none\n";
    for (tool, path, arguments) in [
        ("whoami", "/api/v1/me", None),
        ("get_project", "/api/v1/projects/shop", None),
        ("list_operations", "/api/v1/operations", None),
        ("validate_scenario", "/api/v1/scenarios/validate", Some(json!({ "project": "shop", "source": source }))),
    ] {
        let rest = match &arguments {
            Some(body) => world.post(path, &world.token, body).await,
            None => world.get(path, &world.token).await,
        };
        assert_eq!(rest.status(), 200, "{path}: {}", rest.text());
        let arguments =
            arguments.unwrap_or_else(|| if tool == "get_project" { json!({ "project": "shop" }) } else { json!({}) });
        assert_eq!(world.tool(&world.token, tool, &arguments).await["structuredContent"], rest.json(), "{tool}");
    }
}
