//! Pages: what the cookie opens, and what it does not.

use std::num::NonZeroU32;

use axum::{body::Body, http::Request};
use pinhole_server::{RateLimits, ServerSettings};

use crate::world::{Answer, World};

const RUN: &str = "run_00000000000000000000000000000007";
const HOST: (&str, &str) = ("host", "localhost:8087");

async fn page(world: &World, headers: &[(&str, &str)]) -> Answer {
    let request = Request::get(format!("/runs/{RUN}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    world.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_page_is_for_those_who_are_signed_in() {
    let world = World::new().await;
    let form = page(&world, &[HOST]).await;
    assert_eq!(form.status(), 401);
    assert!(form.text().contains("<form method=\"post\" action=\"/sign-in\">"));
    assert!(form.text().contains(&format!("name=\"return_to\" value=\"/runs/{RUN}\"")), "{}", form.text());
    assert!(form.header("content-security-policy").starts_with("default-src 'none'"));
    assert!(!form.header("content-security-policy").contains("script"));
    let session = world.sign_in("ada").await;
    // Signed in, the run that does not exist is simply not found.
    let missing = page(&world, &[HOST, ("cookie", &session.cookie())]).await;
    assert_eq!(missing.status(), 404, "{}", missing.text());
    assert!(missing.header("content-type").starts_with("text/html"));
    assert!(missing.text().contains(missing.header("x-request-id")));
    let stale = page(&world, &[HOST, ("cookie", "__Host-pinhole=phn_stale")]).await;
    assert_eq!(stale.status(), 401);
    assert!(stale.text().contains("action=\"/sign-in\""));
}

#[tokio::test]
async fn a_link_elsewhere_leads_to_a_page_and_nothing_else_of_another_site_does() {
    let world = World::new().await;
    let cookie = world.sign_in("ada").await.cookie();
    let from = |headers: &[(&'static str, &'static str)]| {
        let mut all = vec![HOST, ("cookie", cookie.as_str()), ("sec-fetch-site", "cross-site")];
        all.extend(headers);
        all
    };
    let followed = page(&world, &from(&[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")])).await;
    assert_eq!(followed.status(), 404);
    for embedded in [
        &[][..],
        &[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")],
        &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")],
    ] {
        assert_eq!(page(&world, &from(embedded)).await.status(), 401, "{embedded:?}");
    }
}

#[tokio::test]
async fn the_front_page_leads_to_the_projects() {
    let world = World::new().await;
    let request = Request::get("/").header("host", "localhost").body(Body::empty()).unwrap();
    let answer = world.send(request).await;
    assert_eq!((answer.status().as_u16(), answer.header("location")), (303, "/projects"));
}

#[tokio::test]
async fn the_public_url_decides_hosts() {
    let public_url = Some("https://pinhole.example".parse().unwrap());
    let world = World::with(ServerSettings { public_url, ..ServerSettings::default() }).await;
    assert_eq!(page(&world, &[("host", "pinhole.example")]).await.status(), 401);
    assert_eq!(page(&world, &[("host", "evil.example")]).await.status(), 403);
    assert_eq!(page(&world, &[]).await.status(), 403);
}

#[tokio::test]
async fn pages_are_no_way_around_the_limits() {
    let (burst, tried) = (NonZeroU32::new(4).unwrap(), "phu_0123456789abcdef");
    let limits = RateLimits { stranger_per_second: NonZeroU32::MIN, stranger_burst: burst, ..RateLimits::default() };
    let world = World::with(ServerSettings { limits, ..ServerSettings::default() }).await;
    let cookie = world.sign_in("ada").await.cookie();
    let (token, stale) = (format!("Bearer {tried}"), "__Host-pinhole=phn_stale");
    for headers in [&[HOST][..], &[HOST, ("authorization", &token)], &[HOST, ("cookie", stale)]] {
        assert_eq!(page(&world, headers).await.status(), 401, "{headers:?}");
    }
    let form = async || {
        let request = Request::get("/sign-in").header("host", "localhost:8087");
        world.send(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(form().await.status(), 200);
    for headers in [&[HOST][..], &[HOST, ("authorization", &token)], &[HOST, ("cookie", stale)]] {
        let limited = page(&world, headers).await;
        assert_eq!((limited.status().as_u16(), limited.header("retry-after")), (429, "1"), "{headers:?}");
        assert!(limited.header("content-type").starts_with("text/html"));
    }
    assert_eq!(form().await.status(), 429);
    // REST counts in the same bucket, and whoever is signed in does not count there.
    assert_eq!(world.get("/api/v1/me", tried).await.status(), 429);
    assert_eq!(page(&world, &[HOST, ("cookie", &cookie)]).await.status(), 404);
}
