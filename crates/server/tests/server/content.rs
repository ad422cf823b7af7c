//! Bytes of artifacts, and the run page that shows them.

use std::collections::BTreeSet;

use axum::{body::Body, http::Request};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_core::{ArtifactId, ArtifactKind, Role, Sha256Digest};
use serde_json::Value;

use crate::{
    runs::picture,
    world::{Answer, World},
};

async fn fetch(world: &World, method: &str, path: &str, token: &str, headers: &[(&str, &str)]) -> Answer {
    let request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    world.send(request.body(Body::empty()).unwrap()).await
}

/// The headers, without the one that differs from call to call.
fn headers(answer: &Answer) -> BTreeSet<String> {
    let headers = answer.head.headers.iter().filter(|(name, _)| *name != "x-request-id");
    headers.map(|(name, value)| format!("{name}: {value:?}")).collect()
}

fn first_picture(result: &Value) -> &Value {
    &result["checkpoints"][0]["picture"]
}

#[tokio::test]
async fn bytes_whole_in_part_and_not_again() {
    let world = World::new().await;
    world.prepare().await;
    let result = world.run(200).await;
    let path = result["checkpoints"][0]["picture"]["content"]["path"].as_str().unwrap();
    let (bytes, token) = (picture(200), world.token.as_str());

    let whole = fetch(&world, "GET", path, token, &[]).await;
    assert_eq!(whole.status(), 200, "{}", whole.text());
    assert_eq!(whole.body, bytes);
    let sha256 = result["checkpoints"][0]["picture"]["sha256"].as_str().unwrap();
    let tag = format!("\"{}\"", sha256.replace(':', "-"));
    let digest = format!("sha-256=:{}:", STANDARD.encode(Sha256Digest::of(&bytes).as_bytes()));
    for (name, value) in [
        ("etag", tag.as_str()),
        ("content-type", "image/png"),
        ("content-disposition", "inline; filename=\"front-picture.png\""),
        ("cache-control", "private, no-cache"),
        ("vary", "Authorization, Cookie"),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("content-security-policy", "sandbox; default-src 'none'; frame-ancestors 'none'"),
        ("repr-digest", digest.as_str()),
    ] {
        assert_eq!(whole.header(name), value, "{name}");
    }
    assert_eq!(whole.header("content-length"), bytes.len().to_string());

    let head = fetch(&world, "HEAD", path, token, &[("range", "bytes=0-0")]).await;
    assert_eq!((head.status(), headers(&head)), (whole.status(), headers(&whole)));
    assert!(head.body.is_empty());

    let part = fetch(&world, "GET", path, token, &[("range", "bytes=1-3")]).await;
    assert_eq!((part.status().as_u16(), part.body.as_slice()), (206, &b"PNG"[..]));
    assert_eq!(part.header("content-range"), format!("bytes 1-3/{}", bytes.len()));
    assert_eq!(part.header("repr-digest"), whole.header("repr-digest"), "the digest is that of the whole");
    let many = format!("bytes={}", vec!["0-0"; 1000].join(","));
    let many = fetch(&world, "GET", path, token, &[("range", &many)]).await;
    assert_eq!((many.status().as_u16(), many.body.len()), (200, bytes.len()));
    let outside = fetch(&world, "GET", path, token, &[("range", "bytes=999999-")]).await;
    assert_eq!((outside.status().as_u16(), outside.json()["code"].as_str()), (416, Some("range_not_satisfiable")));
    assert_eq!(outside.header("content-range"), format!("bytes */{}", bytes.len()));

    let known = fetch(&world, "GET", path, token, &[("if-none-match", &tag)]).await;
    assert_eq!((known.status().as_u16(), known.body.len(), known.header("etag")), (304, 0, tag.as_str()));
    let other = fetch(&world, "GET", path, token, &[("if-match", "\"sha256-00\""), ("if-none-match", &tag)]).await;
    assert_eq!((other.status().as_u16(), other.json()["code"].as_str()), (409, Some("conflict")));
    assert_eq!(other.header("etag"), tag);
    let same = fetch(&world, "GET", path, token, &[("if-match", &tag), ("range", "bytes=0-0")]).await;
    assert_eq!(same.status(), 206);
}

#[tokio::test]
async fn head_says_what_get_says_for_every_kind() {
    let world = World::new().await;
    world.prepare().await;
    let result = world.run(200).await;
    let beside: ArtifactId = first_picture(&result)["id"].as_str().unwrap().parse().unwrap();
    for &kind in ArtifactKind::ALL {
        let bytes = format!("<script>alert('{kind}')</script>").into_bytes();
        let path = world.add_artifact(beside, kind, &bytes).await;
        let (get, head) = (
            fetch(&world, "GET", &path, &world.token, &[]).await,
            fetch(&world, "HEAD", &path, &world.token, &[]).await,
        );
        assert_eq!((get.status().as_u16(), &get.body), (200, &bytes), "{kind}");
        assert_eq!((head.status(), headers(&head), head.body.len()), (get.status(), headers(&get), 0), "{kind}");
        assert_eq!(get.header("content-type"), kind.media_type(), "{kind}");
        assert!(get.header("content-security-policy").starts_with("sandbox;"), "{kind}");
        let shown = get.header("content-disposition").starts_with("inline;");
        assert_eq!(shown, kind.media_type() == "image/png", "only pictures are shown: {kind}");
    }
}

#[tokio::test]
async fn every_range_is_authorised_on_its_own() {
    let world = World::new().await;
    world.prepare().await;
    let result = world.run(200).await;
    let path = first_picture(&result)["content"]["path"].as_str().unwrap();
    let range = async |range| fetch(&world, "GET", path, &world.stranger, &[("range", range)]).await.status().as_u16();
    let (eve, shop) = ("eve".parse().unwrap(), "shop".parse().unwrap());
    world.app.grant(&eve, &shop, None, Role::Viewer).await.unwrap();
    assert_eq!(range("bytes=0-9").await, 206);
    world.app.revoke_grant(&eve, &shop, None, Role::Viewer).await.unwrap();
    assert_eq!(range("bytes=10-19").await, 404);
}

#[tokio::test]
async fn conditions_are_looked_at_only_after_authorisation() {
    let world = World::new().await;
    world.prepare().await;
    let result = world.run(200).await;
    let path = result["checkpoints"][0]["picture"]["content"]["path"].as_str().unwrap();
    for headers in [&[][..], &[("if-none-match", "*")], &[("range", "bytes=0-0")], &[("range", "bytes=999999-")]] {
        for method in ["GET", "HEAD"] {
            let hidden = fetch(&world, method, path, &world.stranger, headers).await;
            assert_eq!(hidden.status(), 404, "{method} {headers:?}");
            assert_eq!(fetch(&world, method, path, "phu_wrong", headers).await.status(), 401, "{method} {headers:?}");
        }
    }
}

#[tokio::test]
async fn the_run_page_shows_the_pictures_side_by_side() {
    let world = World::new().await;
    world.prepare().await;
    world.run(200).await;
    let result = world.run(120).await;
    let checkpoint = &result["checkpoints"][0];
    assert_eq!(checkpoint["verdict"], "changed", "{result}");
    let request = Request::get(format!("/runs/{}", result["run_id"].as_str().unwrap()))
        .header("host", "localhost")
        .header("cookie", format!("__Host-pinhole={}", world.sign_in("ada").await.secret));
    let page = world.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(page.status(), 200, "{}", page.text());
    let html = page.text();
    for artifact in ["baseline", "picture", "difference"] {
        let path = checkpoint[artifact]["content"]["path"].as_str().unwrap();
        assert!(html.contains(&format!("<img src=\"{path}\"")), "{artifact}: {html}");
        let bytes = fetch(&world, "GET", path, &world.token, &[]).await;
        assert_eq!((bytes.status().as_u16(), bytes.header("content-type")), (200, "image/png"), "{artifact}");
    }
    for text in ["front", "changed", result["pins"]["scenario_digest"].as_str().unwrap(), "https://shop.example/"] {
        assert!(html.contains(text), "{text}");
    }
    assert!(!html.contains("<script") && !html.contains(&world.token));
    assert!(!html.contains("http-equiv=\"refresh\""), "a run that has ended is not loaded again");
}
