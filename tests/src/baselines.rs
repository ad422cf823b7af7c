//! The path of a baseline as its people walk it: REST for the calls, `pinhole token create --ticket` for human authority,
//! plain Git for what was published.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use pinhole_testkit::{Engine, Site, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Finished, Project, Server, Setup, pinhole, python};

/// How long a publication may take.
const PUBLICATION: Duration = Duration::from_secs(60);
/// How long a record may wait for its leaf.
const SEQUENCER: Duration = Duration::from_secs(30);
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
    rotate(&server, &project).await;
    check_log(&server, &project, &result).await;

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
    let statement = "signed statements, all of them in the log of";
    assert!(valid.expect(0).contains(statement), "{valid:?}");
    assert!(valid.expect(0).trim_end().ends_with(": 1 signed ones of publications"), "{valid:?}");
    let bare = verify_bare(server, &keys);
    assert_eq!(bare.expect(0), valid.stdout, "the bare repository says the same");
    check_statements(&clone, &keys);
    check_approval(&clone, &keys);
    check_copies(&clone, &check);
    let again = Finished::of(
        pinhole().args(["verify", "catalog"]).arg(&clone).arg("--keys").arg(&keys).arg("--earlier").arg(&clone),
    );
    assert!(again.expect(0).contains("continues the earlier one"), "{again:?}");
    export(server, &clone, &keys);
    let manifest = clone.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replacen("sha256:", "sha256:0", 1)).unwrap();
    assert!(check(&clone).expect(1).starts_with("NOT valid: "));
    // Whoever hands over files also hands over what the repository says of itself.
    git(Command::new("git").arg("-C").arg(&clone).args(["config", "core.bare", "true"]));
    let as_bare = check(&clone);
    assert!(as_bare.expect(1).contains("what is checked out is not what the commit holds"), "{as_bare:?}");
    let beside = clone.with_file_name("beside.git");
    git(Command::new("git").args(["clone", "--quiet", "--bare"]).arg(clone.join(".git")).arg(&beside));
    assert_eq!(check(&beside).expect(0), valid.stdout);
    std::fs::copy(&manifest, beside.join("manifest.json")).unwrap();
    assert!(check(&beside).expect(1).starts_with("NOT valid: "));
}

/// Checks the repository that was published to.
fn verify_bare(server: &Server, keys: &Path) -> Finished {
    let mut command = pinhole();
    command.args(["verify", "catalog", "--branch", "main"]).arg(server.repository()).arg("--keys").arg(keys);
    Finished::of(&mut command)
}

/// Programs of others verify every statement of the clone.
fn check_statements(clone: &Path, keys: &Path) {
    let mut check = python("attestations", "check.py");
    let output = check.arg(keys).args(envelopes(clone)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let kinds = "approval-decision capture-receipt catalog-revision review-disposition";
    assert!(told.starts_with("checked: ") && told.trim_end().ends_with(kinds), "{told}");
}

/// The paths of all envelopes in the folder.
fn envelopes(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(envelopes(&path));
        } else if path.to_str().unwrap().ends_with(".dsse.json") {
            found.push(path);
        }
    }
    found
}

/// The decision behind the entries, alone and with the catalog; a receipt is none.
fn check_approval(clone: &Path, keys: &Path) {
    let named = |mark: &str| envelopes(clone).into_iter().find(|path| path.to_str().unwrap().contains(mark)).unwrap();
    let check = |file: &Path, catalog: bool| {
        let mut command = pinhole();
        command.args(["verify", "approval"]).arg(file).arg("--keys").arg(keys);
        if catalog {
            command.arg("--catalog").arg(clone);
        }
        Finished::of(&mut command)
    };
    let decision = named("/dec_");
    let alone = check(&decision, false);
    assert!(alone.expect(0).starts_with("valid: approval apr_"), "{alone:?}");
    assert!(alone.expect(0).contains("no catalog was looked at"), "{alone:?}");
    let with = check(&decision, true);
    assert!(
        with.expect(0).contains("that it caused: 1; entries that rest on it: 2: baselines/local/buyer/"),
        "{with:?}"
    );
    let other = check(&named("/rcp_"), false);
    assert!(other.expect(1).starts_with("NOT valid: ") && other.stdout.contains("approval-decision"), "{other:?}");
}

/// A copy of the files alone, and a clone to which others have committed.
fn check_copies(clone: &Path, check: &dyn Fn(&Path) -> Finished) {
    let copy = clone.with_file_name("copy");
    git(Command::new("cp").arg("-r").arg(clone).arg(&copy));
    std::fs::remove_dir_all(copy.join(".git")).unwrap();
    let plain = check(&copy);
    assert!(
        plain.expect(0).contains("this is no clone: commit signatures and trailers were not looked at"),
        "{plain:?}"
    );

    let theirs = clone.with_file_name("theirs");
    git(Command::new("git").args(["clone", "--quiet"]).arg(clone).arg(&theirs));
    let commit = |path: &str| {
        std::fs::write(theirs.join(path), "theirs\n").unwrap();
        git(Command::new("git").arg("-C").arg(&theirs).args(["add", path]));
        let identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"];
        git(Command::new("git").arg("-C").arg(&theirs).args(identity).args([
            "commit",
            "--quiet",
            "-m",
            "Write a file",
        ]));
    };
    commit("README.md");
    let beside = check(&theirs);
    assert!(beside.expect(0).trim_end().ends_with(", 1 by others that leave the catalog alone"), "{beside:?}");
    commit("log/checkpoint");
    assert!(check(&theirs).expect(1).contains("log/checkpoint"));
}

/// Replaces the keys of a running server, and revokes one.
async fn rotate(server: &Server, project: &Project) {
    let folder = TempDir::with_prefix("pinhole-keys-").unwrap();
    let published = async || {
        let answer = project.author.with_token(None).get("/.well-known/pinhole/receipt-keys.json").await;
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let status = |keys: &Value, purpose: &str| {
        let keys = keys["keys"].as_array().unwrap().iter().filter(|key| key["pinhole_use"] == purpose);
        keys.map(|key| key["pinhole_status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = published().await;
    let rotated = Finished::of(&mut server.command_of(&["key", "rotate-signing"]));
    let key = rotated.expect(0).trim().to_owned();
    Finished::of(&mut server.command_of(&["key", "rotate-signing", "--commit"])).expect(0);
    let refused = Finished::of(&mut server.command_of(&["key", "rotate-signing", "--log"]));
    assert!(refused.code() == Some(2) && refused.stderr.contains("cannot be rotated"), "{refused:?}");
    let after = published().await;
    for (purpose, expected) in [("statement", 2), ("commit", 2), ("log", 1)] {
        let all: Vec<_> = ["retired", "active"].into_iter().skip(2 - expected).collect();
        assert_eq!(status(&after, purpose), all, "{after:#}");
    }

    // The running server signs with the new key, which the key file of before does not have.
    let result = project.run("rotated", &json!({ "line": "main", "latest": true })).await;
    let id = result["checkpoints"][0]["receipt_id"].as_str().unwrap();
    let receipt = folder.path().join("receipt.dsse.json");
    let found = project.author.get(&format!("/api/v1/receipts/{id}")).await.expect(200);
    std::fs::write(&receipt, found["envelope"].to_string()).unwrap();
    let check = |keys: &Value| {
        let path = folder.path().join("keys.json");
        std::fs::write(&path, keys.to_string()).unwrap();
        Finished::of(pinhole().args(["verify", "receipt"]).arg(&receipt).arg("--keys").arg(path))
    };
    check(&after).expect(0);
    let missing = check(&before);
    assert!(missing.expect(1).contains(&format!("it is by {key}, which the key file does not have")), "{missing:?}");

    let active = Finished::of(&mut server.command_of(&["key", "revoke", &key, "--reason", "it was shown"]));
    assert!(active.code() == Some(2) && active.stderr.contains("this key signs now"), "{active:?}");
    let first = before["keys"][0]["kid"].as_str().unwrap();
    let revoked = Finished::of(&mut server.command_of(&["key", "revoke", first, "--reason", "it was shown"]));
    assert!(revoked.expect(0).contains(first) && revoked.stderr.contains("signed anew"), "{revoked:?}");
    assert!(revoked.stderr.contains("2 reviews, 1 decisions, 1 catalog revisions and 1 publication"), "{revoked:?}");
    let keys = published().await;
    assert_eq!(status(&keys, "statement"), ["revoked", "active"]);
    assert_eq!(keys["keys"][0]["pinhole_reason"], "it was shown");
    let audited = project.author.get("/api/v1/admin/audit?operation=revoke_signing_key").await.expect(200);
    assert_eq!(audited["entries"].as_array().unwrap().len(), 1, "{audited:#}");
    let path = folder.path().join("keys.json");
    std::fs::write(&path, keys.to_string()).unwrap();
    let catalog = verify_bare(server, &path);
    let told = catalog.expect(1);
    assert!(told.contains("the key is revoked (it was shown)") && told.contains("signed anew"), "{told}");
}

/// Exports the audit and checks it against the checkpoint in the clone; one row less, and it is refused.
fn export(server: &Server, clone: &Path, keys: &Path) {
    let file = clone.with_file_name("audit.ndjson");
    Finished::of(server.command_of(&["audit", "export"]).arg("--output").arg(&file)).expect(0);
    let check = || {
        let mut command = pinhole();
        command.args(["verify", "audit"]).arg(&file).arg("--keys").arg(keys).arg("--checkpoint").arg(clone);
        Finished::of(&mut command)
    };
    let valid = check();
    assert!(valid.expect(0).starts_with("valid: audit of "), "{valid:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let row = text.lines().find(|line| line.contains("decide_approval")).unwrap();
    std::fs::write(&file, text.replacen(&format!("{row}\n"), "", 1)).unwrap();
    assert!(check().expect(1).starts_with("NOT valid: "));
}

/// Somebody else's program finds a receipt in the log.
async fn check_log(server: &Server, project: &Project, result: &Value) {
    let folder = TempDir::with_prefix("pinhole-log-").unwrap();
    let (record, proof) = (folder.path().join("receipt.dsse.json"), folder.path().join("proof.json"));
    let id = result["checkpoints"][0]["receipt_id"].as_str().unwrap();
    let receipt = project.author.get(&format!("/api/v1/receipts/{id}")).await.expect(200);
    // Members in order and no white space: the canonical form of an envelope, which holds texts only.
    std::fs::write(&record, receipt["envelope"].to_string()).unwrap();
    let answer = wait_for(SEQUENCER, "the receipt is in the log", async || {
        let answer = project.author.get(&format!("/api/v1/log/records/{id}")).await;
        (answer.status == 200).then_some(answer.body)
    });
    std::fs::write(&proof, answer.await).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("log/check.py");
    let mut check = Command::new("python3");
    check.arg(script).arg(server.url().as_str()).arg(&record).arg("capture_receipt").arg(&proof);
    let output = check.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("checked: "));
}

fn git(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
