//! MCP in both eras, as raw JSON over HTTP.

use axum::{body::Body, http::Request};
use pinhole_contract::{Surfaces, specs};
use pinhole_server::ServerSettings;
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
async fn parameters_that_do_not_fit_their_method_are_told() {
    let world = World::new().await;
    for (method, name, params, field) in [
        ("tools/call", Some("whoami"), json!({ "name": "whoami", "arguments": [] }), "arguments"),
        ("tools/call", Some("whoami"), json!({ "name": "whoami", "arguments": "x" }), "arguments"),
        ("tools/call", None, json!({ "arguments": {} }), "params"),
    ] {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let initialized = world.mcp(&world.token, "2025-11-25", &message, &[]).await;
        for answer in [initialized, modern(&world, method, name, params.clone()).await] {
            let error = &answer.json()["error"];
            assert_eq!(error["code"], -32602, "{params}: {}", answer.text());
            if let Some(body) = error.get("data").filter(|data| data.get("code").is_some()) {
                assert_eq!((&body["code"], &body["details"]["field"]), (&json!("invalid_arguments"), &json!(field)));
            }
        }
    }
    let unknown = json!({ "jsonrpc": "2.0", "id": 7, "method": "no/such/method" });
    assert_eq!(world.mcp(&world.token, "2025-11-25", &unknown, &[]).await.json()["error"]["code"], -32601);
}

#[tokio::test]
async fn cursors_that_no_list_gave_are_refused() {
    let world = World::new().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "cursor": "made up" } });
    assert_eq!(world.mcp(&world.token, "2025-11-25", &list, &[]).await.json()["error"]["code"], -32602);
}

#[tokio::test]
async fn who_is_refused_is_told_where_to_ask() {
    let public = "https://pinhole.example".parse().unwrap();
    let settings = ServerSettings { public_url: Some(public), ..ServerSettings::default() };
    for (world, base) in
        [(World::new().await, "http://localhost"), (World::with(settings).await, "https://pinhole.example")]
    {
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let refused = world.mcp("phu_wrong", "2025-11-25", &list, &[]).await;
        let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
        assert_eq!(refused.status(), 401);
        let expected = format!("Bearer realm=\"pinhole\", error=\"invalid_token\", resource_metadata=\"{place}\"");
        assert_eq!(refused.header("www-authenticate"), expected);
        for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
            let answer = world.send(Request::get(path).header("host", "localhost").body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status(), 200, "{}", answer.text());
            let metadata = answer.json();
            assert_eq!(metadata["resource"], format!("{base}/mcp"));
            assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
            assert!(metadata["scopes_supported"].as_array().unwrap().contains(&json!("run.start")));
            assert!(metadata.get("authorization_servers").is_none(), "{metadata}");
        }
    }
}

#[tokio::test]
async fn a_missing_grant_or_scope_is_a_refusal_of_the_tool() {
    let world = World::new().await;
    let arguments = json!({ "slug": "b", "title": "B", "idempotency_key": "k" });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "create_project", "arguments": arguments } });
    let answer = world.mcp(&world.stranger, "2025-11-25", &call, &[]).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.json()["result"]["structuredContent"]["code"], "permission_denied");
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
