//! The story itself: from a scenario to a published catalog, and on to the first difference that is found.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use pinhole_app::App;
use pinhole_contract::{CheckpointView, RunResultView};
use pinhole_core::{ApprovalId, Disposition, Error, LineName, Name, Outcome, Reason, ReceiptId, Result, Role, Slug};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{api::Api, site::DemoSite};
use crate::{exit::say, file::write, try_page::tell_regions, verify};

/// How long a run or a publication may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// Two checkpoints on the way of a buyer.
const SCENARIO: &str = "\
schema: pinhole.scenario.v1
title: From the shop window to the cart
evidence: [console]
steps:
  - navigate: /index.html
  - capture: { name: shop }
  - click: { css: \"#cart-link\" }
  - wait_for: { visible: { css: \"#total\" } }
  - assert: { text: { of: { css: h1 }, equals: Your cart } }
  - capture: { name: cart }
";

/// What the story needs.
pub(super) struct Story<'a> {
    pub(super) app: &'a App,
    pub(super) site: &'a DemoSite,
    pub(super) author: Api,
    pub(super) reviewer: Api,
    pub(super) directory: &'a Path,
    pub(super) repository: &'a Path,
    pub(super) public_keys: Vec<u8>,
}

impl Story<'_> {
    /// Plays it, and gives the id of the run that found the change.
    pub(super) async fn play(&mut self) -> Result<String> {
        self.set_up().await?;
        let first = self.run("first-run", json!({ "none": true })).await?;
        let result = self.result(&first).await?;
        expect(result.checkpoints.len() == 2, "two checkpoints were captured")?;
        for checkpoint in &result.checkpoints {
            say!("  {} captured, receipt {}", checkpoint.checkpoint, checkpoint.receipt_id);
        }
        let revision = self.approve(&result).await?;
        self.publish(revision).await?;
        self.site.raise_price();
        say!("\n6. The shop raises a price, and the same scenario runs against the pinned baseline");
        let second = self.run("second-run", json!({ "line": "main", "revision": revision })).await?;
        self.tell_change(&second).await?;
        self.verify(&result.checkpoints[0]).await?;
        Ok(second)
    }

    async fn set_up(&self) -> Result<()> {
        say!("1. A project, an environment and a scenario with two checkpoints");
        let project = json!({ "slug": "shop", "title": "The demo shop" });
        self.author.post("/api/v1/projects", "project", project).await?;
        let (author, reviewer) = ("demo-author".parse()?, "demo-reviewer".parse()?);
        let shop: Slug = "shop".parse()?;
        for role in [Role::Author, Role::Operator, Role::Publisher] {
            self.app.grant(&author, &shop, None, role).await?;
        }
        for role in [Role::Reviewer, Role::Approver] {
            self.app.grant(&reviewer, &shop, None, role).await?;
        }
        let environment = json!({
            "project": "shop", "slug": "local", "document": { "base_url": self.site.url() },
        });
        self.author.post("/api/v1/environments", "environment", environment).await?;
        let scenario = json!({ "project": "shop", "slug": "buyer", "source": SCENARIO });
        let scenario = self.author.post("/api/v1/scenarios", "scenario", scenario).await?;
        say!("  scenario revision {}", text(&scenario, "digest")?);
        say!("\n2. It is captured: registered pictures with signed receipts");
        Ok(())
    }

    /// Starts a run and waits for its end.
    async fn run(&self, key: &str, baseline: Value) -> Result<String> {
        let command = json!({
            "project": "shop", "scenario": "buyer", "revision": { "head": true },
            "environment": "local", "environment_revision": { "latest": true }, "baseline": baseline,
        });
        let run = self.author.post("/api/v1/runs", key, command).await?;
        let id = text(&run, "id")?;
        let path = format!("/api/v1/runs/{id}");
        let ended = wait(&self.author, &path, |run| run["finished_at"].is_string()).await?;
        let (state, verdict) = (&ended["state"], &ended["verdict"]);
        say!("  run {id} {state}, verdict {verdict}");
        if state != "completed" {
            return Err(Error::unavailable("run", format!("the run did not complete: {ended}")));
        }
        Ok(id)
    }

    async fn result(&self, run: &str) -> Result<RunResultView> {
        let result = self.author.get(&format!("/api/v1/runs/{run}/result")).await?;
        serde_json::from_value(result).map_err(Error::internal)
    }

    /// Review, one approval with both items, decision, consumption.
    async fn approve(&self, result: &RunResultView) -> Result<u64> {
        say!("\n3. A person looks at the pictures and accepts them");
        let reviewer: Name = "demo-reviewer".parse()?;
        let reason: Reason = "this is how the shop should look".parse()?;
        let receipts: Vec<ReceiptId> = result.checkpoints.iter().map(|checkpoint| checkpoint.receipt_id).collect();
        let ticket = self.app.create_review_ticket(&reviewer, &receipts, Disposition::Accept, &reason).await?;
        let review = json!({
            "receipts": receipts, "disposition": "accept", "reason": reason, "ticket": ticket.secret,
        });
        let reviews = self.reviewer.post("/api/v1/reviews", "review", review).await?;
        let mut items = Vec::new();
        for (index, receipt) in receipts.iter().enumerate() {
            let candidate = json!({ "receipt_id": receipt });
            let key = format!("candidate-{index}");
            let candidate = self.author.post("/api/v1/baselines/capture-visual", &key, candidate).await?;
            let review = text(&reviews["reviews"][index], "id")?;
            say!("  {} accepted by review {review}", candidate["key"]["checkpoint"]);
            items.push(json!({ "candidate_id": candidate["id"], "review_id": review }));
        }
        say!("\n4. One approval with both items is requested, decided and consumed");
        let request = json!({
            "project": "shop", "items": items, "release_label": "demo",
            "publication": { "remote": "local", "branch": "main" },
        });
        let approval = self.author.post("/api/v1/approvals", "approval", request).await?;
        let id = text(&approval, "id")?;
        let intent = text(&approval, "intent_digest")?;
        say!("  approval {id} {}, intent {intent}", approval["state"]);
        let version = approval["version"].as_u64().unwrap_or_default();
        let ticket =
            self.app.create_decision_ticket(&reviewer, id.parse::<ApprovalId>()?, Outcome::Approve, &reason).await?;
        let decision = json!({ "outcome": "approve", "reason": reason, "ticket": ticket.secret });
        let decided = self.reviewer.decide(&format!("/api/v1/approvals/{id}/decision"), version, decision).await?;
        expect(decided["state"] == "approved", "the approval is approved")?;
        say!("  approved by demo-reviewer");
        let consume = json!({ "intent_digest": intent, "expected_version": 0 });
        let made = self.author.post(&format!("/api/v1/approvals/{id}/consume"), "consume", consume).await?;
        let revision = made["revision"].as_u64().unwrap_or_default();
        expect(revision == 1, "the catalog has revision 1")?;
        say!("  {} as catalog revision {revision}, {}", made["outcome"], text(&made, "digest")?);
        Ok(revision)
    }

    async fn publish(&self, revision: u64) -> Result<()> {
        say!("\n5. The catalog is published to Git and read back");
        let command = json!({
            "project": "shop", "remote": "local", "branch": "main",
            "expected_head": { "commit": null }, "expected_version": revision,
        });
        let publication = self.author.post("/api/v1/publications", "publication", command).await?;
        let path = format!("/api/v1/publications/{}", text(&publication, "id")?);
        let ended = wait(&self.author, &path, |publication| publication["finished_at"].is_string()).await?;
        if ended["state"] != "published" {
            return Err(Error::unavailable("publication", format!("the catalog was not published: {ended}")));
        }
        let commit = &ended["attempts"][0]["commit"];
        say!("  published as commit {commit} on branch main of {}", self.repository.display());
        Ok(())
    }

    async fn tell_change(&self, run: &str) -> Result<()> {
        let result = self.result(run).await?;
        expect(result.verdict.is_some_and(|verdict| verdict.as_str() == "changed"), "the verdict is changed")?;
        for checkpoint in &result.checkpoints {
            let name = checkpoint.checkpoint.as_str();
            say!("  {name}: {}", checkpoint.verdict);
            let Some(difference) = &checkpoint.difference else { continue };
            tell_regions(checkpoint);
            let baseline = checkpoint.baseline.as_ref().ok_or_else(|| Error::internal("a change without baseline"))?;
            for (what, picture) in [("before", baseline), ("now", &checkpoint.picture), ("difference", difference)] {
                let file = self.directory.join(format!("{name}-{what}.png"));
                write(&file, &self.author.bytes(&picture.content.path).await?)?;
                say!("  {what}: {}", file.display());
            }
        }
        Ok(())
    }

    /// `pinhole verify` on a receipt and on the catalog, before and after one byte of either is altered.
    async fn verify(&self, checkpoint: &CheckpointView) -> Result<()> {
        say!("\n7. Receipt and catalog verify offline, and stop verifying after one byte is altered");
        let keys = self.directory.join("receipt-keys.json");
        write(&keys, &self.public_keys)?;
        let receipt = self.directory.join("receipt.dsse.json");
        let view = self.author.get(&format!("/api/v1/receipts/{}", checkpoint.receipt_id)).await?;
        write(&receipt, &serde_json::to_vec(&view["envelope"]).map_err(Error::internal)?)?;
        let picture = self.directory.join("receipt-picture.png");
        write(&picture, &self.author.bytes(&checkpoint.picture.content.path).await?)?;
        let checkout = self.directory.join("checkout");
        let branch = LineName::default();
        pinhole_worker_publication::checkout(self.repository, &branch, &checkout)?;
        say!("  pinhole verify receipt {} --keys {}", receipt.display(), keys.display());
        let found = verify::receipt(&receipt, &keys, Some(&picture))?;
        say!("    yes: {}", found.map_err(|wrong| refused(&wrong))?);
        say!("  pinhole verify catalog {} --keys {}", checkout.display(), keys.display());
        let found = verify::catalog(&checkout, &keys, None, &verify::Tip::default())?;
        say!("    yes: {}", found.map_err(|wrong| refused(&wrong))?);
        alter(&picture)?;
        let wrong = verify::receipt(&receipt, &keys, Some(&picture))?.err();
        say!("    picture altered, no: {}", told(wrong)?);
        alter(&receipt)?;
        let wrong = verify::receipt(&receipt, &keys, None)?.err();
        say!("    receipt altered, no: {}", told(wrong)?);
        let entry = first_file(&checkout.join("baselines"))?;
        alter(&entry)?;
        let wrong = verify::catalog(&checkout, &keys, None, &verify::Tip::default())?.err();
        say!("    catalog altered, no: {}", told(wrong)?);
        Ok(())
    }
}

fn refused(wrong: &pinhole_receipt::VerifyError) -> Error {
    Error::unavailable("verify", format!("what was signed does not verify: {wrong}"))
}

fn told(wrong: Option<pinhole_receipt::VerifyError>) -> Result<String> {
    wrong.map(|wrong| wrong.to_string()).ok_or_else(|| Error::internal("an altered file still verifies"))
}

fn expect(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::internal(format!("the story went wrong: not true that {what}"))) }
}

fn text(value: &Value, member: &str) -> Result<String> {
    value[member].as_str().map(str::to_owned).ok_or_else(|| Error::internal(format!("no {member} in {value}")))
}

async fn wait(api: &Api, path: &str, done: impl Fn(&Value) -> bool) -> Result<Value> {
    let patience = Instant::now() + PATIENCE;
    loop {
        let value = api.get(path).await?;
        if done(&value) {
            return Ok(value);
        }
        if Instant::now() > patience {
            return Err(Error::unavailable("patience", format!("{path} did not end in time: {value}")));
        }
        sleep(LOOK).await;
    }
}

/// Flips one bit in the middle of a file.
fn alter(path: &Path) -> Result<()> {
    let mut bytes = std::fs::read(path).map_err(Error::internal)?;
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    write(path, &bytes)
}

fn first_file(directory: &Path) -> Result<PathBuf> {
    let mut path = directory.to_path_buf();
    while path.is_dir() {
        let mut entries = std::fs::read_dir(&path).map_err(Error::internal)?;
        let entry = entries.next().ok_or_else(|| Error::internal("an empty folder in the checkout"))?;
        path = entry.map_err(Error::internal)?.path();
    }
    Ok(path)
}
