//! What holds for every request, whichever door it comes through.

use axum::{body::Body, http::Request};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn nobody_gets_in_without_a_valid_token() {
    let world = World::new().await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let rest = |headers: &[(&str, &str)]| {
        headers.iter().fold(Request::get("/api/v1/me"), |request, (name, value)| request.header(*name, *value))
    };
    let mcp = |headers: &[(&str, &str)]| {
        let request = Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
    };
    let (good, cookie) = (format!("Bearer {}", world.token), format!("__Host-pinhole={}", world.token));
    for headers in [
        &[][..],
        &[("authorization", "Bearer phu_wrong")],
        &[("authorization", "Basic YTpi")],
        &[("authorization", good.as_str()), ("authorization", good.as_str())],
        &[("cookie", cookie.as_str())],
        &[("authorization", good.as_str()), ("cookie", cookie.as_str())],
    ] {
        let on_rest = world.send(rest(headers).body(Body::empty()).unwrap()).await;
        let on_mcp = world.send(mcp(headers).body(Body::from(ping.clone())).unwrap()).await;
        for answer in [&on_rest, &on_mcp] {
            assert_eq!(answer.status(), 401, "{headers:?}: {}", answer.text());
            assert_eq!(answer.json()["code"], "unauthenticated");
            assert!(answer.header("www-authenticate").starts_with("Bearer realm="), "{headers:?}");
            assert_eq!(answer.header("content-type"), "application/problem+json");
        }
        assert_eq!(on_rest.error(), on_mcp.error(), "{headers:?}");
    }
}

#[tokio::test]
async fn every_answer_has_its_request_id_and_the_same_protection() {
    let world = World::new().await;
    let mut ids = std::collections::BTreeSet::new();
    for path in ["/livez", "/api/v1/me", "/api/v1/nothing", "/runs/nothing"] {
        let answer = world.get(path, &world.token).await;
        let id = answer.header("x-request-id");
        assert!(id.starts_with("req_"), "{path}: {id}");
        assert!(ids.insert(id.to_owned()), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"), "{path}");
        assert!(!answer.header("cache-control").is_empty(), "{path}");
    }
    let missing = world.get("/api/v1/nothing", &world.token).await;
    assert_eq!(missing.json()["request_id"], missing.header("x-request-id"));
}

#[tokio::test]
async fn the_router_answers_with_problems_of_its_own() {
    let world = World::new().await;
    let missing = world.get("/nothing", &world.token).await;
    assert_eq!((missing.status().as_u16(), missing.json()["code"].as_str()), (404, Some("not_found")));
    let delete = Request::delete("/api/v1/runs").header("authorization", format!("Bearer {}", world.token));
    let wrong = world.send(delete.body(Body::empty()).unwrap()).await;
    assert_eq!((wrong.status().as_u16(), wrong.json()["code"].as_str()), (405, Some("method_not_allowed")));
    let mut allowed: Vec<_> = wrong.header("allow").split(',').map(str::trim).collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
}

#[tokio::test]
async fn large_bodies_are_refused_alike_on_rest_and_mcp() {
    let world = World::new().await;
    let text = "x".repeat(World::MAX_BODY);
    let rest =
        world.post("/api/v1/scenarios/validate", &world.token, &json!({ "project": "shop", "source": text })).await;
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "validate_scenario", "arguments": { "project": "shop", "source": text } } });
    let mcp = world.mcp(&world.token, "2025-11-25", &message, &[]).await;
    for answer in [&rest, &mcp] {
        assert_eq!(answer.status(), 413);
        assert_eq!(answer.json()["details"]["limit"], World::MAX_BODY);
    }
    assert_eq!(rest.error(), mcp.error());
}

#[tokio::test]
async fn forms_have_a_smaller_limit() {
    let world = World::new().await;
    let form = Request::post("/sign-in").header("host", "localhost").body(Body::from("x".repeat(50_000))).unwrap();
    let answer = world.send(form).await;
    assert_eq!((answer.status().as_u16(), answer.json()["code"].as_str()), (413, Some("limit_exceeded")));
}

#[tokio::test]
async fn health_and_keys_are_for_everybody() {
    let world = World::new().await;
    for (path, member) in
        [("/livez", "status"), ("/readyz", "checks"), ("/.well-known/pinhole/receipt-keys.json", "keys")]
    {
        let answer = world.send(Request::get(path).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        assert!(!answer.json()[member].is_null(), "{path}");
    }
}

#[tokio::test]
async fn the_openapi_document_is_for_everybody() {
    let world = World::new().await;
    let answer = world.send(Request::get("/api/v1/openapi.json").body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status().as_u16(), answer.header("content-type")), (200, "application/json"));
    assert!(answer.header("cache-control").starts_with("public"));
    let document = answer.json();
    // What it has to say of the log is not there before the log is.
    world.app.sequence_log().await.unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    // What it says is there is there: no path is unknown to the router, and no method to its path.
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let id = path.replace(['{', '}'], "");
            let request =
                Request::builder().method(method.to_uppercase().as_str()).uri(&id).header("host", "localhost");
            let answer = world.send(request.body(Body::empty()).unwrap()).await;
            assert!(![404, 405].contains(&answer.status().as_u16()), "{method} {path}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn readiness_follows_the_database() {
    let world = World::new().await;
    world.app.store().close().await;
    let answer = world.send(Request::get("/readyz").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.json()["checks"], json!({ "database": "fail", "storage": "ok", "log": "fail" }));
    assert_eq!(world.send(Request::get("/livez").body(Body::empty()).unwrap()).await.status(), 200);
}
