//! What is pinned to a revision stays, byte for byte, whatever becomes of the baselines that it has.

use std::collections::BTreeMap;

use pinhole_core::{ArtifactId, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    lifecycle::Owned,
    path::darker,
    support::{GOOD, Look, PROJECT},
};

/// Everything about a run and the revision that it is pinned to.
#[derive(Debug, PartialEq, Eq)]
struct Pinned {
    /// The result as it is read, with pins and verdicts.
    result: String,
    /// The signed receipts and the bytes of every artifact behind result and entries, by name.
    bytes: BTreeMap<String, Vec<u8>>,
    revision: Value,
    /// The tree that is published for the revision.
    tree: BTreeMap<String, Vec<u8>>,
}

impl Owned {
    async fn pinned_by(&self, run: &Value) -> Pinned {
        let (bench, maker) = (self.bench(), &self.path.maker);
        let read =
            async |run: &Value| bench.call(maker, "get_scenario_run_result", json!({ "run_id": run })).await.unwrap();
        let result = read(&run["id"]).await;
        let mut results = vec![result.clone()];
        let input = json!({ "project": PROJECT });
        let entries = bench.call(maker, "list_baselines", input).await.unwrap()["baselines"].clone();
        let at_first = entries.as_array().unwrap().iter().filter(|entry| entry["since_revision"] == 1);
        for entry in at_first {
            let mut tx = bench.app.store().begin_read().await.unwrap();
            let receipt = entry["receipt_id"].as_str().unwrap().parse().unwrap();
            let receipt = tx.receipt(receipt).await.unwrap().unwrap();
            drop(tx);
            results.push(read(&json!(receipt.run_id)).await);
        }
        let mut bytes = BTreeMap::new();
        for checkpoint in results.iter().flat_map(|result| result["checkpoints"].as_array().unwrap()) {
            let input = json!({ "receipt_id": checkpoint["receipt_id"] });
            let receipt = bench.call(maker, "get_capture_receipt", input).await.unwrap();
            bytes.insert(receipt["id"].to_string(), receipt["envelope"].to_string().into_bytes());
            for artifact in
                [&checkpoint["picture"], &checkpoint["difference"]].into_iter().filter(|found| found.is_object())
            {
                let id: ArtifactId = artifact["id"].as_str().unwrap().parse().unwrap();
                let content = bench.app.artifact_content(maker, id).await.unwrap();
                bytes.insert(id.to_string(), content.read().await.unwrap());
            }
        }
        Pinned { result: result.to_string(), bytes, revision: self.pinned(1).await, tree: bench.tree("main", 1).await }
    }
}

impl Owned {
    /// What a run says that is made anew, pinned to the first revision: everything but its own ids and times, with the
    /// bytes of the pictures in the place of the artifacts.
    async fn run_anew(&self, look: Look) -> Value {
        let (bench, maker) = (self.bench(), &self.path.maker);
        let run = bench.start(maker, "staging", json!({ "line": "main", "revision": 1 })).await;
        bench.finish(&run, look).await;
        let input = json!({ "run_id": run["id"] });
        let result = bench.call(maker, "get_scenario_run_result", input).await.unwrap();
        let mut said = json!({ "pins": result["pins"], "verdict": result["verdict"], "checkpoints": [] });
        for checkpoint in result["checkpoints"].as_array().unwrap() {
            let mut shown = json!({ "baseline": checkpoint["baseline"]["id"] });
            for same in ["checkpoint", "profile", "verdict", "comparison"] {
                shown[same] = checkpoint[same].clone();
            }
            for picture in ["picture", "baseline", "difference"] {
                let Some(id) = checkpoint[picture]["id"].as_str() else { continue };
                let content = bench.app.artifact_content(maker, id.parse().unwrap()).await.unwrap();
                shown[format!("{picture} bytes")] = json!(content.read().await.unwrap());
            }
            said["checkpoints"].as_array_mut().unwrap().push(shown);
        }
        said
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pinned_to_a_revision_stays_through_rebaseline_retire_and_invalidate() {
    for engine in Engine::ALL {
        let owned = Owned::on(engine).await;
        let (bench, maker) = (owned.bench(), &owned.path.maker);
        let run = bench.start(maker, "staging", json!({ "line": "main", "revision": 1 })).await;
        let captured = bench.finish(&run, darker(120)).await;
        let before = owned.pinned_by(&run).await;
        let pictures = before.bytes.keys().filter(|name| name.starts_with("art_")).count();
        assert_eq!(
            pictures,
            6,
            "two of the baseline, two of the run, and their differences: {:?}",
            before.bytes.keys()
        );
        let anew = [owned.run_anew(GOOD).await, owned.run_anew(darker(120)).await];
        assert_eq!((&anew[0]["verdict"], &anew[1]["verdict"]), (&json!("passed"), &json!("changed")));
        for checkpoint in anew[1]["checkpoints"].as_array().unwrap() {
            assert!(checkpoint["comparison"].is_object() && checkpoint["difference bytes"].is_array(), "{checkpoint}");
        }
        bench.person("Otto", &[Role::Owner]).await;
        let human = owned.session("Otto").await;

        for (expected, operation) in [(1, "rebaseline"), (2, "retire_baseline"), (3, "invalidate_baseline")] {
            match operation {
                "rebaseline" => {
                    let input = json!({
                        "entry_id": owned.entry("cart").await["id"], "receipt_id": captured.receipts["cart"],
                        "reason": "new", "expected_version": expected,
                    });
                    let candidate = bench.keyed(maker, operation, input).await.unwrap();
                    assert_eq!(owned.pinned_by(&run).await, before, "{operation}, not yet consumed");
                    owned.materialise(&candidate, expected).await.unwrap();
                }
                "retire_baseline" => {
                    let entry = owned.entry("cart").await;
                    owned.end(&human, operation, &entry, json!({ "expected_version": expected })).await.unwrap();
                }
                _ => {
                    // This one stands in the pinned revision itself.
                    let entry = owned.entry("total").await;
                    assert_eq!(entry["since_revision"], 1);
                    owned.end(&human, operation, &entry, json!({ "expected_version": expected })).await.unwrap();
                }
            }
            assert_eq!(owned.pinned_by(&run).await, before, "{operation}");
            // The same captures, pinned to the same revision today, are told the same.
            for (look, before) in [(GOOD, &anew[0]), (darker(120), &anew[1])] {
                assert!(owned.run_anew(look).await == *before, "after {operation}");
            }
        }
    }
}
