//! MCP in both eras, as raw JSON over HTTP.

use axum::{body::Body, http::Request};
use pinhole_contract::{Surfaces, specs};
use serde_json::{Value, json};

use crate::world::World;

const MODERN: &str = "2026-07-28";

/// A message as a client of the session-less revision sends it.
async fn modern(world: &World, method: &str, name: Option<&str>, mut params: Value) -> crate::world::Answer {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut headers = vec![("mcp-method", method)];
    headers.extend(name.map(|name| ("mcp-name", name)));
    world.mcp(&world.token, MODERN, &message, &headers).await
}

fn tool_names(result: &Value) -> Vec<String> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn clients_that_initialize_are_served_without_a_session() {
    let world = World::new().await;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    let answer = world.mcp(&world.token, "2025-11-25", &hello, &[]).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(answer.head.headers.get("mcp-session-id").is_none());
    let result = &answer.json()["result"];
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"], json!({ "name": "pinhole", "version": env!("CARGO_PKG_VERSION") }));
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let listed = world.mcp(&world.token, "2025-11-25", &list, &[]).await.json();
    let expected: Vec<_> =
        specs().iter().filter(|o| o.spec.surfaces == Surfaces::RestAndMcp).map(|o| o.spec.name).collect();
    assert_eq!(tool_names(&listed["result"]), expected);
    let me = world.tool(&world.token, "whoami", &json!({})).await;
    assert_eq!(me["isError"], false);
    assert_eq!(me["structuredContent"]["name"], "ada");
}

#[tokio::test]
async fn clients_without_sessions_are_served_too() {
    let world = World::new().await;
    let discovered = modern(&world, "server/discover", None, json!({})).await;
    assert_eq!(discovered.status(), 200, "{}", discovered.text());
    let listed = modern(&world, "tools/list", None, json!({})).await.json();
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert!(tool_names(&listed["result"]).contains(&"start_scenario_run".to_owned()));
    let called = modern(&world, "tools/call", Some("whoami"), json!({ "name": "whoami", "arguments": {} })).await;
    assert_eq!(called.status(), 200, "{}", called.text());
    assert_eq!(called.json()["result"]["structuredContent"]["name"], "ada");
    assert_eq!(called.json()["result"]["resultType"], "complete");
}

#[tokio::test]
async fn an_unknown_tool_is_a_mistake_of_the_protocol() {
    let world = World::new().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "no_tool" } });
    let answer = world.mcp(&world.token, "2025-11-25", &call, &[]).await.json();
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn names_given_twice_are_refused() {
    let world = World::new().await;
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","name":"get_project"}}"#;
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", world.token))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let answer = world.send(request.body(Body::from(text)).unwrap()).await;
    assert_eq!((answer.status().as_u16(), answer.json()["error"]["code"].as_i64()), (400, Some(-32600)));
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let world = World::new().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let evil = world.mcp(&world.token, "2025-11-25", &list, &[("origin", "https://evil.example")]).await;
    assert_eq!(evil.status(), 403);
    let ours = world.mcp(&world.token, "2025-11-25", &list, &[("origin", "http://localhost:6274")]).await;
    assert_eq!(ours.status(), 200);
    let rebound = Request::post("/mcp")
        .header("host", "evil.example")
        .header("authorization", format!("Bearer {}", world.token))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    assert_eq!(world.send(rebound.body(Body::from(list.to_string())).unwrap()).await.status(), 403);
}

#[tokio::test]
async fn answers_fit_the_schema_that_the_tool_declares() {
    let world = World::new().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let tools = world.mcp(&world.token, "2025-11-25", &list, &[]).await.json()["result"]["tools"].clone();
    for (name, arguments, is_error) in [
        ("whoami", json!({}), false),
        ("whoami", json!({ "colour": 1 }), true),
        ("list_operations", json!({}), false),
        ("get_project", json!({ "project": "shop" }), false),
        ("get_project", json!({ "project": "nothing" }), true),
        ("list_scenario_runs", json!({ "project": "shop" }), false),
        ("create_project", json!({ "slug": "a", "title": "A" }), true),
    ] {
        let schema =
            tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"].clone();
        let result = world.tool(&world.token, name, &arguments).await;
        assert_eq!(result["isError"], is_error, "{name}: {result}");
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mistakes: Vec<_> = validator.iter_errors(&result["structuredContent"]).map(|e| e.to_string()).collect();
        assert!(mistakes.is_empty(), "{name}: {mistakes:?}");
        assert!(!validator.is_valid(&json!({})), "{name}: a schema that takes everything says nothing");
    }
}
