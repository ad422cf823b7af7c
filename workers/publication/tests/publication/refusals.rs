//! What is refused before anything is queued.

use pinhole_core::{Code, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::world::{World, key, name, principal};

on_both_engines! {
    wrong_requests_are_refused
    one_publication_for_each_revision_and_branch
    only_a_publisher_publishes
}

async fn wrong_requests_are_refused(engine: Engine) {
    let world = World::new(engine).await;
    let empty = world.call("publish_baseline_catalog", world.request(0, json!({ "commit": null }))).await.unwrap_err();
    assert_eq!(empty.reason(), Some("empty_line"));
    world.revision(1).await;
    let other = world.ask(1, json!({ "commit": null })).await;
    let cases: [(&str, Value, Code, &str); 8] = [
        ("branch", json!("main"), Code::Conflict, "branch_not_allowed"),
        ("branch", json!("catalogue"), Code::Conflict, "branch_not_allowed"),
        ("expected_version", json!(2), Code::Conflict, "stale_version"),
        ("expected_version", Value::Null, Code::PreconditionRequired, ""),
        ("idempotency_key", Value::Null, Code::PreconditionRequired, ""),
        ("remote", json!("nowhere"), Code::NotFound, ""),
        ("expected_head", json!({ "commit": "HEAD" }), Code::InvalidArguments, "expected 40"),
        ("expected_head", json!({ "after": other }), Code::InvalidArguments, "another branch"),
    ];
    for (member, value, code, reason) in cases {
        let mut request = world.request(1, json!({ "commit": null }));
        request["branch"] = json!("release/1");
        request[member] = value.clone();
        let error = world.call("publish_baseline_catalog", request).await.unwrap_err();
        assert_eq!(error.code(), code, "{member} {value}: {error}");
        assert!(error.reason().unwrap_or_default().contains(reason), "{member} {value}: {error:?}");
    }
}

async fn one_publication_for_each_revision_and_branch(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let request = world.request(1, json!({ "commit": null }));
    let first = world.done("publish_baseline_catalog", request.clone()).await;
    let replayed = world.done("publish_baseline_catalog", request.clone()).await;
    assert_eq!((&replayed["id"], &replayed["replayed"]), (&first["id"], &json!(true)));

    let mut second = request.clone();
    second["idempotency_key"] = json!(key());
    let error = world.call("publish_baseline_catalog", second).await.unwrap_err();
    assert_eq!(error.reason(), Some("exists"));
    assert!(error.message().contains(first["id"].as_str().unwrap()), "{error}");
    let mut changed = request;
    changed["branch"] = json!("release/1");
    let error = world.call("publish_baseline_catalog", changed).await.unwrap_err();
    assert_eq!(error.reason(), Some("changed_intent"));

    let id = first["id"].as_str().unwrap().parse().unwrap();
    let error = world.ask_again(id, 1, json!({ "commit": null })).await.unwrap_err();
    assert_eq!(error.reason(), Some("exists"), "it is not in conflict: {error}");
    assert_eq!(world.try_once(id).await["state"], "published");
    let error = world.ask_again(id, 1, json!({ "commit": world.head() })).await.unwrap_err();
    assert_eq!(error.reason(), Some("exists"), "it is published: {error}");
}

async fn only_a_publisher_publishes(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let eve = principal(&world.app, "eve").await;
    let request = world.request(1, json!({ "commit": null }));
    let error = world.call_as(&eve, "publish_baseline_catalog", request.clone()).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let id = world.ask(1, json!({ "commit": null })).await;
    let get = json!({ "publication_id": id });
    assert_eq!(world.call_as(&eve, "get_publication", get.clone()).await.unwrap_err().code(), Code::NotFound);
    world.app.grant(&name("eve"), &"shop".parse().unwrap(), None, Role::Owner).await.unwrap();
    assert_eq!(world.call_as(&eve, "get_publication", get).await.unwrap()["state"], "queued");
    let error = world.call_as(&eve, "publish_baseline_catalog", request).await.unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
}
