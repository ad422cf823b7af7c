//! REST: how requests become one object.

use axum::{body::Body, http::Request};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn creations_answer_201_and_replays_of_them_the_same_object() {
    let world = World::new().await;
    let body = json!({ "slug": "second", "title": "Second" });
    let request = || {
        Request::post("/api/v1/projects")
            .header("authorization", format!("Bearer {}", world.token))
            .header("content-type", "application/json; charset=utf-8")
            .header("idempotency-key", "\"key-2\"")
            .body(Body::from(body.to_string()))
            .unwrap()
    };
    let (first, again) = (world.send(request()).await, world.send(request()).await);
    assert_eq!(first.status(), 201, "{}", first.text());
    assert_eq!(first.json()["id"], again.json()["id"], "{}", again.text());
    assert_eq!(world.get("/api/v1/projects/second", &world.token).await.json(), first.json());
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let world = World::new().await;
    let (token, path) = (&world.token, "/api/v1/projects");
    for (answer, status, code) in [
        (world.get("/api/v1/runs?project=shop&colour=red", token).await, 422, "invalid_arguments"),
        (world.get("/api/v1/runs?project=shop&limit=ten", token).await, 422, "invalid_arguments"),
        (world.get("/api/v1/runs?project=shop&limit=201", token).await, 422, "invalid_arguments"),
        (world.get("/api/v1/runs?project=shop&project=shop", token).await, 422, "invalid_arguments"),
        (world.get("/api/v1/projects/shop?project=shop", token).await, 422, "invalid_arguments"),
        (
            world.post(path, token, &json!({ "slug": "a", "title": "A", "colour": 1, "idempotency_key": "k" })).await,
            422,
            "invalid_arguments",
        ),
        (world.post_text(path, token, r#"{"slug":"a","slug":"a"}"#.into()).await, 422, "invalid_arguments"),
        (world.post_text(path, token, "[]".into()).await, 422, "invalid_arguments"),
        (world.post_text(path, token, "{".into()).await, 422, "invalid_arguments"),
        (world.post(path, token, &json!({ "slug": "a", "title": "A" })).await, 428, "precondition_required"),
    ] {
        assert_eq!(
            (answer.status().as_u16(), answer.json()["code"].as_str()),
            (status, Some(code)),
            "{}",
            answer.text()
        );
    }
    let twice = world.get("/api/v1/projects/shop?project=shop", token).await;
    assert_eq!(twice.json()["details"]["field"], "project");
}

#[tokio::test]
async fn bodies_of_other_types_are_refused() {
    let world = World::new().await;
    let request = Request::post("/api/v1/projects")
        .header("authorization", format!("Bearer {}", world.token))
        .header("content-type", "application/x-www-form-urlencoded");
    let answer = world.send(request.body(Body::from("slug=a")).unwrap()).await;
    assert_eq!((answer.status().as_u16(), answer.json()["code"].as_str()), (415, Some("unsupported_media_type")));
}

#[tokio::test]
async fn what_a_stranger_may_not_see_does_not_exist() {
    let world = World::new().await;
    let hidden = world.get("/api/v1/projects/shop", &world.stranger).await;
    let missing = world.get("/api/v1/projects/nothing", &world.stranger).await;
    assert_eq!((hidden.status(), missing.status()), (404.try_into().unwrap(), 404.try_into().unwrap()));
    assert_eq!(hidden.error(), missing.error());
    let names = |answer: &crate::world::Answer| answer.head.headers.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&hidden), names(&missing));
}

#[tokio::test]
async fn head_answers_like_get() {
    let world = World::new().await;
    let head = Request::head("/api/v1/projects/shop").header("authorization", format!("Bearer {}", world.token));
    let head = world.send(head.body(Body::empty()).unwrap()).await;
    let get = world.get("/api/v1/projects/shop", &world.token).await;
    assert_eq!(head.status(), 200);
    assert_eq!(head.header("content-length"), get.body.len().to_string());
    assert!(head.body.is_empty());
}

#[tokio::test]
async fn a_refusal_is_no_larger_than_what_it_refuses() {
    let world = World::new().await;
    let body = format!("{{\"{}\": 1}}", "x".repeat(60_000));
    let answer = world.post_text("/api/v1/projects", &world.token, body).await;
    assert_eq!((answer.status().as_u16(), answer.json()["code"].as_str()), (422, Some("invalid_arguments")));
    assert!(answer.body.len() < 20_000, "{} bytes", answer.body.len());
}
