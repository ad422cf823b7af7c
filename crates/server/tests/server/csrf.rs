//! What a session's cookie opens on REST, from where, and with which token beside it.

use axum::{body::Body, http::Request};
use serde_json::json;

use crate::world::World;

const CONTENT: &str = "/api/v1/artifacts/art_00000000000000000000000000000007/content";

#[tokio::test]
async fn a_cookie_reads_for_pages_of_this_server_alone() {
    let world = World::new().await;
    let session = world.sign_in("ada").await;
    for (site, me, content) in [
        (None, 200, 404),
        (Some("same-origin"), 200, 404),
        (Some("none"), 200, 404),
        (Some("same-site"), 401, 401),
        (Some("cross-site"), 401, 401),
    ] {
        for (path, status) in [("/api/v1/me", me), (CONTENT, content)] {
            let request = Request::get(path).header("host", "localhost").header("cookie", session.cookie());
            let request = site.into_iter().fold(request, |request, site| request.header("sec-fetch-site", site));
            let answer = world.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status(), status, "{path} {site:?}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn a_cookie_changes_something_only_with_origin_and_token() {
    let world = World::new().await;
    let session = world.sign_in("ada").await;
    let other = world.sign_in("ada").await;
    let (own, wrong) = (session.csrf.as_str(), other.csrf.as_str());
    let same = ("sec-fetch-site", "same-origin");
    let origin = ("origin", "http://localhost:8087");
    for (headers, reason) in [
        (&[same, ("x-csrf-token", own)][..], None),
        (&[("sec-fetch-site", "none"), ("x-csrf-token", own)], None),
        (&[origin, ("x-csrf-token", own)], None),
        (&[same], Some("csrf_token")),
        (&[origin], Some("csrf_token")),
        (&[same, ("x-csrf-token", "")], Some("csrf_token")),
        (&[same, ("x-csrf-token", wrong)], Some("csrf_token")),
        (&[same, ("x-csrf-token", own), ("x-csrf-token", own)], Some("csrf_token")),
        (&[("x-csrf-token", own)], Some("same_origin")),
        (&[("origin", "null"), ("x-csrf-token", own)], Some("same_origin")),
        (&[("origin", "http://localhost:8088"), ("x-csrf-token", own)], Some("same_origin")),
        (&[("origin", "https://evil.example"), ("x-csrf-token", own)], Some("same_origin")),
        (&[origin, ("sec-fetch-site", "cross-site"), ("x-csrf-token", own)], Some("same_origin")),
        (&[origin, ("sec-fetch-site", "same-site"), ("x-csrf-token", own)], Some("same_origin")),
    ] {
        let request = Request::post("/api/v1/scenarios/validate")
            .header("host", "localhost:8087")
            .header("content-type", "application/json")
            .header("cookie", session.cookie());
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let body = json!({ "project": "shop", "source": "x" }).to_string();
        let answer = world.send(request.body(Body::from(body)).unwrap()).await;
        match reason {
            None => assert_eq!(answer.status(), 200, "{headers:?}: {}", answer.text()),
            Some(reason) => {
                assert_eq!(answer.status(), 403, "{headers:?}: {}", answer.text());
                assert_eq!(answer.json()["details"]["reason"], reason, "{headers:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_bearer_token_needs_neither() {
    let world = World::new().await;
    let body = json!({ "project": "shop", "source": "x" });
    assert_eq!(world.post("/api/v1/scenarios/validate", &world.token, &body).await.status(), 200);
}

#[tokio::test]
async fn both_credentials_at_once_are_refused_everywhere() {
    let world = World::new().await;
    let session = world.sign_in("ada").await;
    for path in ["/api/v1/me", CONTENT, "/mcp", "/runs/run_00000000000000000000000000000007"] {
        let request = Request::get(path)
            .header("host", "localhost")
            .header("cookie", session.cookie())
            .header("authorization", format!("Bearer {}", world.token));
        assert_eq!(world.send(request.body(Body::empty()).unwrap()).await.status(), 401, "{path}");
    }
}

#[tokio::test]
async fn mcp_takes_no_cookie() {
    let world = World::new().await;
    let session = world.sign_in("ada").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("sec-fetch-site", "same-origin")
        .header("x-csrf-token", &session.csrf)
        .header("cookie", session.cookie());
    assert_eq!(world.send(request.body(Body::from(ping)).unwrap()).await.status(), 401);
}
