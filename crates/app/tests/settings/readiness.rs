//! Readiness: what was tried is told with its time and outcome, and what never was is null.

use std::fs;

use pinhole_app::Settings;
use pinhole_core::Actor;
use pinhole_testkit::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    path::Path,
    rows::on_both_engines,
    support::{Bench, GOOD, refused},
};

on_both_engines! {
    nothing_is_told_that_was_not_tried
    probes_are_told_with_time_and_outcome
}

async fn readiness(bench: &Bench, actor: &Actor) -> Value {
    bench.call(actor, "get_readiness", json!({})).await.unwrap()
}

async fn nothing_is_told_that_was_not_tried(engine: Engine) {
    let path = Path::on(engine).await;
    // A catalog revision and its captures say nothing of what works today.
    path.materialised(GOOD, 0).await;
    let stranger = path.bench.person("Eve", &[]).await;
    let nothing = json!({ "storage": null, "capture": null, "publication": null, "log": null });
    assert_eq!(readiness(&path.bench, &stranger).await, nothing);
    let id = match &stranger.authority {
        pinhole_core::Authority::Token { id, .. } => *id,
        _ => panic!("the stranger has a token"),
    };
    path.bench.app.revoke_token(id).await.unwrap();
    let outcome = path.bench.call(&stranger, "get_readiness", json!({})).await;
    assert_eq!(refused(outcome).0, "unauthenticated");
}

async fn probes_are_told_with_time_and_outcome(engine: Engine) {
    let blobs = TempDir::with_prefix("pinhole-blobs-").unwrap();
    let folder = blobs.path().to_owned();
    let bench = Bench::keeping(engine, Settings::default(), blobs).await;
    bench.app.probe_storage().await.unwrap();
    bench.app.record_capture_canary(None).await.unwrap();
    let told = readiness(&bench, &bench.owner).await;
    assert_eq!((&told["storage"]["outcome"], &told["capture"]["outcome"]), (&json!("ok"), &json!("ok")));
    assert!(told["storage"]["at"].is_string() && told["publication"].is_null());
    assert_eq!(fs::read_dir(folder.join("probes")).map_or(0, Iterator::count), 0, "the probe left nothing behind");

    // A file where the folder should be: nothing can be written.
    let _absent = fs::remove_dir_all(folder.join("probes"));
    fs::write(folder.join("probes"), "in the way").unwrap();
    bench.app.probe_storage().await.unwrap();
    bench.app.record_capture_canary(Some("the browser did not start")).await.unwrap();
    let told = readiness(&bench, &bench.owner).await;
    assert_eq!(told["storage"]["outcome"], "failed");
    assert!(told["storage"]["detail"].as_str().unwrap().contains("storage"), "{told}");
    assert_eq!(told["capture"]["detail"], "the browser did not start");
}
