//! Host patterns: asked for by an owner, approved by an administrator for one revision, used by the caller of a run.

use pinhole_core::Role;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    rows::on_both_engines,
    support::{Bench, refused},
};

on_both_engines! {
    a_base_url_is_overridden_within_an_approved_pattern_alone
    an_administrator_approves_what_the_latest_revision_asks_for
}

const PREVIEWS: &str = "https://pr-*.preview.example";
const PREVIEW: &str = "https://pr-7.preview.example/shop/";

async fn approve(bench: &Bench, id: &Value, pattern: &str, version: u32) -> pinhole_core::Result<Value> {
    let input = json!({ "environment_id": id, "patterns": [pattern], "expected_version": version });
    bench.call(&bench.owner, "approve_host_patterns", input).await
}

async fn a_base_url_is_overridden_within_an_approved_pattern_alone(engine: Engine) {
    let bench = Bench::on(engine).await;
    let operator = bench.service("operator", &[Role::Operator]).await;
    let start = async |base_url: &str| {
        bench.keyed(&operator, "start_scenario_run", Bench::order(json!({ "base_url": base_url }))).await
    };
    let id = bench.staging().await["id"].clone();
    bench.revise_staging(json!({ "host_patterns": [PREVIEWS] })).await.unwrap();
    assert_eq!(refused(start(PREVIEW).await), ("permission_denied", "host_pattern".into()));
    let approved = approve(&bench, &id, PREVIEWS, 2).await.unwrap();
    assert_eq!(approved["approved_host_patterns"], json!([PREVIEWS]));
    assert_eq!(bench.staging().await["approved_host_patterns"], json!([PREVIEWS]));

    let run = start(PREVIEW).await.unwrap();
    assert_eq!(run["pins"]["base_url"], PREVIEW);
    let cell = run["cells"][0]["id"].as_str().unwrap().parse().unwrap();
    let claim = bench.app.claim(cell, "worker-1").await.unwrap().unwrap();
    assert_eq!(claim.base_url.as_str(), PREVIEW);
    for elsewhere in [
        "https://preview.example/",
        "https://pr-7.preview.example:8443/",
        "http://pr-7.preview.example/",
        "https://evil.example/",
    ] {
        assert_eq!(refused(start(elsewhere).await), ("permission_denied", "host_pattern".into()), "{elsewhere}");
    }
    for wrong in ["", "ftp://pr-7.preview.example/", "https://u:p@pr-7.preview.example/", "//pr-7.preview.example"] {
        assert_eq!(refused(start(wrong).await).0, "invalid_arguments", "{wrong}");
    }
    // The approval was for the revision, and the next one has not been looked at.
    bench
        .revise_staging(json!({ "host_patterns": [PREVIEWS], "protected": false, "allowed_hosts": ["a.example"] }))
        .await
        .unwrap();
    assert_eq!(refused(start(PREVIEW).await), ("permission_denied", "host_pattern".into()));
}

async fn an_administrator_approves_what_the_latest_revision_asks_for(engine: Engine) {
    let bench = Bench::on(engine).await;
    let id = bench.revise_staging(json!({ "host_patterns": [PREVIEWS] })).await.unwrap()["id"].clone();
    let owner = bench.person("Otto", &[Role::Owner]).await;
    let input = json!({ "environment_id": id, "patterns": [PREVIEWS], "expected_version": 2 });
    let outcome = bench.call(&owner, "approve_host_patterns", input).await;
    assert_eq!(refused(outcome), ("permission_denied", "admin".into()));
    assert_eq!(refused(approve(&bench, &id, PREVIEWS, 1).await), ("conflict", "stale_version".into()));
    let other = "https://*.other.example";
    assert_eq!(refused(approve(&bench, &id, other, 2).await), ("conflict", "not_requested".into()));
    let missing = json!("env_00000000000000000000000000000001");
    assert_eq!(refused(approve(&bench, &missing, PREVIEWS, 1).await), ("not_found", String::new()));
    approve(&bench, &id, PREVIEWS, 2).await.unwrap();
    approve(&bench, &id, PREVIEWS, 2).await.unwrap();
}
