//! What is written wrongly is refused over REST and over MCP with the same code, message and details, wherever in a
//! request it stands: body, path or query.

use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn mistakes_are_told_alike() {
    let world = World::new().await;
    for (tool, path, arguments) in [
        ("create_project", "/api/v1/projects", json!({ "slug": "A B", "title": "A", "idempotency_key": "k" })),
        ("create_project", "/api/v1/projects", json!({})),
        (
            "start_scenario_run",
            "/api/v1/runs",
            json!({ "project": "shop", "scenario": "none", "revision": { "newest": true } }),
        ),
    ] {
        let rest = world.post(path, &world.token, &arguments).await;
        assert_eq!(rest.status(), 422, "{tool} {arguments}: {}", rest.text());
        assert_eq!(essence(&world.tool(&world.token, tool, &arguments).await), rest.error(), "{tool} {arguments}");
    }
    for (tool, path, arguments) in [
        ("get_scenario_run", "/api/v1/runs/7", json!({ "run_id": "7" })),
        ("list_scenario_runs", "/api/v1/runs?project=shop&limit=0", json!({ "project": "shop", "limit": 0 })),
        ("list_scenario_runs", "/api/v1/runs", json!({})),
    ] {
        let rest = world.get(path, &world.token).await;
        assert_eq!(rest.status(), 422, "{path}: {}", rest.text());
        assert_eq!(essence(&world.tool(&world.token, tool, &arguments).await), rest.error(), "{path}");
    }
}

/// The members that the body of a refusal has on REST too; the text says the same.
fn essence(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    let body = &result["structuredContent"];
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, body);
    assert!(body["request_id"].as_str().unwrap().starts_with("req_"));
    json!({ "code": body["code"], "message": body["message"], "details": body["details"] })
}
