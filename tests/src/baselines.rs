//! The path of a baseline as its people walk it: REST for the calls, `pinhole token create --ticket` for human authority,
//! plain Git for what was published.

use std::{path::Path, process::Command, time::Duration};

use pinhole_testkit::{Engine, Site, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Finished, Project, Server, Setup, pinhole};

/// How long a publication may take.
const PUBLICATION: Duration = Duration::from_secs(60);
const REASON: &str = "this is how it should look";
const SCENARIO: &str = "\
schema: pinhole.scenario.v1
title: Shop and cart
steps:
  - navigate: /index.html
  - capture: { name: shop }
  - navigate: /cart.html
  - capture: { name: cart }
";

#[tokio::test]
async fn two_pictures_become_a_published_catalog() {
    let site = Site::named("demo");
    let server = Server::start(Setup { engine: Engine::Postgres, ..Setup::default() }).await;
    git(Command::new("git").args(["init", "--quiet", "--bare"]).arg(server.repository()));
    let project = Project::prepare(&server, &site, SCENARIO).await;
    let result = project.run("first", &json!({ "none": true })).await;
    let items = review(&server, &project, &result).await;
    let intent = approve(&server, &project, &items).await;
    let consume = json!({ "intent_digest": intent.digest, "expected_version": 0 });
    let path = format!("/api/v1/approvals/{}/consume", intent.approval);
    let made = project.author.post_keyed(&path, "consume", &consume).await.expect(201);
    assert_eq!(made["revision"], 1, "{made:#}");
    publish(&project).await;
    verify(&server, &project).await;

    site.set_switch("new-price", true);
    let second = project.run("second", &json!({ "line": "main", "latest": true })).await;
    assert_eq!(second["verdict"], "changed", "{second:#}");
    let verdicts = second["checkpoints"].as_array().unwrap().iter().map(|checkpoint| &checkpoint["verdict"]);
    assert_eq!(verdicts.collect::<Vec<_>>(), ["matched", "changed"]);
}

/// A person accepts both pictures; each becomes a candidate.
async fn review(server: &Server, project: &Project, result: &Value) -> Vec<Value> {
    let checkpoints = result["checkpoints"].as_array().unwrap();
    let receipts: Vec<&str> = checkpoints.iter().map(|found| found["receipt_id"].as_str().unwrap()).collect();
    let mut review = json!({ "receipts": receipts, "disposition": "accept", "reason": REASON });
    let refused = project.reviewer.post_keyed("/api/v1/reviews", "review", &review).await.expect(403);
    assert_eq!(refused["details"]["reason"], "human_authority", "a token alone is no person: {refused:#}");
    review["ticket"] = server.ticket("rob", &receipts.join(","), "accept", REASON).into();
    let reviews = project.reviewer.post_keyed("/api/v1/reviews", "review", &review).await.expect(201);
    let mut items = Vec::new();
    for (index, receipt) in receipts.iter().enumerate() {
        let command = json!({ "receipt_id": receipt });
        let path = "/api/v1/baselines/capture-visual";
        let candidate = project.author.post_keyed(path, receipt, &command).await.expect(201);
        items.push(json!({ "candidate_id": candidate["id"], "review_id": reviews["reviews"][index]["id"] }));
    }
    items
}

/// What was approved.
struct Intent {
    approval: String,
    digest: String,
}

/// A person decides on exactly what was asked for; the ticket works once.
async fn approve(server: &Server, project: &Project, items: &[Value]) -> Intent {
    let request = json!({
        "project": "shop", "items": items, "release_label": "spring",
        "publication": { "remote": "local", "branch": "main" },
    });
    let approval = project.author.post_keyed("/api/v1/approvals", "approval", &request).await.expect(201);
    let text = |member: &str| approval[member].as_str().unwrap().to_owned();
    let intent = Intent { approval: text("id"), digest: text("intent_digest") };
    let version = approval["version"].as_u64().unwrap();
    let path = format!("/api/v1/approvals/{}/decision", intent.approval);
    let mut decision = json!({ "outcome": "approve", "reason": REASON, "ticket": "pht_0123456789abcdef" });
    project.reviewer.post_versioned(&path, version, &decision).await.expect(403);
    decision["ticket"] = server.ticket("rob", &intent.approval, "approve", REASON).into();
    // The ticket is for the version that the person saw; an attempt at another does not use it up.
    let refused = project.reviewer.post_versioned(&path, version + 1, &decision).await.expect(403);
    assert_eq!(refused["details"]["reason"], "decision_ticket", "{refused:#}");
    let decided = project.reviewer.post_versioned(&path, version, &decision).await.expect(200);
    assert_eq!(decided["state"], "approved", "{decided:#}");
    let again = project.reviewer.post_versioned(&path, version + 1, &decision).await.expect(403);
    assert_eq!(again["details"]["reason"], "decision_ticket", "{again:#}");
    intent
}

async fn publish(project: &Project) {
    let command = json!({
        "project": "shop", "remote": "local", "branch": "main",
        "expected_head": { "commit": null }, "expected_version": 1,
    });
    let publication = project.author.post_keyed("/api/v1/publications", "publication", &command).await.expect(201);
    let path = format!("/api/v1/publications/{}", publication["id"].as_str().unwrap());
    let ended = wait_for(PUBLICATION, "the publication ends", async || {
        let publication = project.author.get(&path).await.expect(200);
        publication["finished_at"].is_string().then_some(publication)
    })
    .await;
    assert_eq!(ended["state"], "published", "{ended:#}");
}

/// Clones as anybody would and checks with the keys that the server publishes.
async fn verify(server: &Server, project: &Project) {
    let directory = TempDir::with_prefix("pinhole-clone-").unwrap();
    let (clone, keys) = (directory.path().join("clone"), directory.path().join("keys.json"));
    git(Command::new("git").args(["clone", "--quiet", "--branch=main"]).arg(server.repository()).arg(&clone));
    let published = project.author.with_token(None).get("/.well-known/pinhole/receipt-keys.json").await;
    std::fs::write(&keys, &published.body).unwrap();
    let check = |tree: &Path| Finished::of(pinhole().args(["verify", "catalog"]).arg(tree).arg("--keys").arg(&keys));
    let valid = check(&clone);
    assert!(valid.expect(0).starts_with("valid: catalog shop line main revision 1: 2 active entries"), "{valid:?}");
    let manifest = clone.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replacen("sha256:", "sha256:0", 1)).unwrap();
    assert!(check(&clone).expect(1).starts_with("NOT valid: "));
}

fn git(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
