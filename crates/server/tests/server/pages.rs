//! Pages: signing in, what the cookie opens, and what it does not.

use axum::{body::Body, http::Request};
use pinhole_server::ServerSettings;

use crate::world::{Answer, World};

const RUN: &str = "run_00000000000000000000000000000007";

async fn sign_in(world: &World, token: &str, headers: &[(&str, &str)]) -> Answer {
    let request = Request::post("/session")
        .header("host", "localhost:8087")
        .header("content-type", "application/x-www-form-urlencoded");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    world.send(request.body(Body::from(format!("run={RUN}&token={token}"))).unwrap()).await
}

async fn page(world: &World, headers: &[(&str, &str)]) -> Answer {
    let request = Request::get(format!("/runs/{RUN}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    world.send(request.body(Body::empty()).unwrap()).await
}

const HOST: (&str, &str) = ("host", "localhost:8087");

#[tokio::test]
async fn a_browser_signs_in_with_a_token() {
    let world = World::new().await;
    let form = page(&world, &[HOST]).await;
    assert_eq!(form.status(), 401);
    assert!(form.text().contains("<form method=\"post\" action=\"/session\">"));
    assert!(form.header("content-security-policy").starts_with("default-src 'none'"));
    assert!(!form.header("content-security-policy").contains("script"));
    let signed_in = sign_in(&world, &world.token, &[]).await;
    assert_eq!(signed_in.status(), 303, "{}", signed_in.text());
    assert_eq!(signed_in.header("location"), format!("/runs/{RUN}"));
    let cookie = signed_in.header("set-cookie");
    assert_eq!(cookie, format!("pinhole_token={}; Path=/; HttpOnly; SameSite=Strict", world.token));
    let cookie = cookie.split(';').next().unwrap();
    // Signed in, the run that does not exist is simply not found.
    let missing = page(&world, &[HOST, ("cookie", cookie)]).await;
    assert_eq!(missing.status(), 404, "{}", missing.text());
    assert!(missing.header("content-type").starts_with("text/html"));
    assert!(missing.text().contains(missing.header("x-request-id")));
}

#[tokio::test]
async fn wrong_tokens_and_foreign_forms_set_no_cookie() {
    let world = World::new().await;
    let foreign: [&[(&str, &str)]; 3] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site"), ("origin", "http://localhost:8087")],
    ];
    for headers in foreign {
        let answer = sign_in(&world, &world.token, headers).await;
        assert_eq!(answer.status(), 403, "{headers:?}");
        assert_eq!(answer.header("set-cookie"), "");
    }
    for token in ["phu_wrong", "", "%22%3E%3Cscript%3E"] {
        let answer = sign_in(&world, token, &[("sec-fetch-site", "same-origin")]).await;
        assert_eq!(answer.status(), 401, "{token}");
        assert_eq!(answer.header("set-cookie"), "");
        assert!(!answer.text().contains("<script"));
    }
}

#[tokio::test]
async fn the_cookie_opens_pages_and_bytes_and_nothing_else() {
    let world = World::new().await;
    let cookie = format!("pinhole_token={}", world.token);
    let with_cookie = |path: &str| Request::get(path).header("host", "localhost").header("cookie", cookie.clone());
    let rest = world.send(with_cookie("/api/v1/me").body(Body::empty()).unwrap()).await;
    assert_eq!(rest.status(), 401);
    let bytes = "/api/v1/artifacts/art_00000000000000000000000000000007/content";
    let found = world.send(with_cookie(bytes).body(Body::empty()).unwrap()).await;
    assert_eq!(found.status(), 404);
    let cross = with_cookie(bytes).header("sec-fetch-site", "cross-site").body(Body::empty()).unwrap();
    assert_eq!(world.send(cross).await.status(), 401);
    let both = with_cookie(bytes).header("authorization", format!("Bearer {}", world.token));
    assert_eq!(world.send(both.body(Body::empty()).unwrap()).await.status(), 401);
}

#[tokio::test]
async fn signing_out_clears_the_cookie() {
    let world = World::new().await;
    let request = Request::post("/session/end").header("host", "localhost").body(Body::empty()).unwrap();
    let answer = world.send(request).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("set-cookie"), "pinhole_token=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
}

#[tokio::test]
async fn the_public_url_decides_hosts_and_secure_cookies() {
    let public_url = Some("https://pinhole.example".parse().unwrap());
    let world = World::with(ServerSettings { public_url, ..ServerSettings::default() }).await;
    assert_eq!(page(&world, &[("host", "pinhole.example")]).await.status(), 401);
    assert_eq!(page(&world, &[("host", "evil.example")]).await.status(), 403);
    assert_eq!(page(&world, &[]).await.status(), 403);
    assert!(sign_in(&world, &world.token, &[]).await.header("set-cookie").ends_with("; Secure"));
}
