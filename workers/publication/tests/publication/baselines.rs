//! From a picture to a catalog revision, without a browser: the test takes the capture worker's part.

use pinhole_core::{ApprovalId, ArtifactKind, CellId, Disposition, Outcome, Reason, ReceiptId};
use pinhole_testkit::worker;
use serde_json::json;

use crate::world::{World, key, name};

const SCENARIO: &str =
    "schema: pinhole.scenario.v1\ntitle: Front page\nsteps:\n  - navigate: /\n  - capture: { name: front }\n";
/// Size of the pictures.
const SIZE: [u32; 2] = [64, 40];

impl World {
    pub(crate) async fn prepare_baselines(&self) {
        let document = json!({ "base_url": "https://shop.example/" });
        let environment = json!({ "project": "shop", "slug": "web", "idempotency_key": "web", "document": document });
        self.done("create_environment", environment).await;
        let scenario = json!({ "project": "shop", "slug": "front", "idempotency_key": "front", "source": SCENARIO });
        self.done("create_scenario", scenario).await;
    }

    /// Captures a picture, has it approved, and makes revision `number` of it.
    pub(crate) async fn revision(&self, number: u32) {
        self.revision_of("front", &["front"], number).await;
    }

    /// Captures every one of a scenario's checkpoints, has them approved, and makes revision `number` of them.
    pub(crate) async fn revision_of(&self, scenario: &str, checkpoints: &[&str], number: u32) {
        let receipts = self.capture(scenario, checkpoints, number).await;
        let reason: Reason = "as designed".parse().unwrap();
        let ticket =
            self.app.create_review_ticket(&name("ada"), &receipts, Disposition::Accept, &reason).await.unwrap();
        let review = json!({ "receipts": receipts, "disposition": "accept", "reason": reason,
            "ticket": ticket.secret, "idempotency_key": key() });
        let reviews = self.done("review_visual_baseline", review).await;
        let mut items = Vec::new();
        for (index, receipt) in receipts.iter().enumerate() {
            let command = json!({ "receipt_id": receipt, "idempotency_key": key() });
            let candidate = self.done("capture_visual_baseline", command).await;
            items.push(json!({ "candidate_id": candidate["id"], "review_id": reviews["reviews"][index]["id"] }));
        }
        let request = json!({ "project": "shop", "items": items, "idempotency_key": key() });
        let approval = self.done("request_baseline_approval", request).await;
        let id: ApprovalId = approval["id"].as_str().unwrap().parse().unwrap();
        let ticket = self.app.create_decision_ticket(&name("ada"), id, Outcome::Approve, &reason).await.unwrap();
        let decision = json!({ "approval_id": id, "outcome": "approve", "reason": reason, "ticket": ticket.secret,
            "expected_version": approval["version"] });
        self.done("decide_approval", decision).await;
        let consume = json!({ "approval_id": id, "intent_digest": approval["intent_digest"],
            "expected_version": number - 1, "idempotency_key": key() });
        assert_eq!(self.done("consume_baseline_approval", consume).await["revision"], number);
    }

    async fn capture(&self, scenario: &str, checkpoints: &[&str], number: u32) -> Vec<ReceiptId> {
        let start = json!({ "project": "shop", "scenario": scenario, "revision": { "head": true },
            "environment": "web", "environment_revision": { "latest": true }, "baseline": { "receipt": "previous" },
            "idempotency_key": key() });
        let run = self.done("start_scenario_run", start).await;
        let cell: CellId = run["cells"][0]["id"].as_str().unwrap().parse().unwrap();
        self.work(cell, checkpoints, &picture(number)).await;
        let result = self.done("get_scenario_run_result", json!({ "run_id": run["id"] })).await;
        assert_eq!(result["state"], "completed", "{result}");
        let receipts = result["checkpoints"].as_array().unwrap().iter();
        receipts.map(|found| found["receipt_id"].as_str().unwrap().parse().unwrap()).collect()
    }

    async fn work(&self, cell: CellId, checkpoints: &[&str], picture: &[u8]) {
        let claim = self.app.claim(cell, "test").await.unwrap().expect("the cell is queued");
        let mut taken = Vec::new();
        for name in checkpoints {
            let staged = self.app.stage(&claim.lease, ArtifactKind::Picture, name, picture.to_vec()).await.unwrap();
            taken.push(worker::checkpoint(&name.parse().unwrap(), staged, SIZE, &claim.profile));
        }
        assert!(self.app.submit(&claim.lease, &worker::submission(taken)).await.unwrap());
        self.app.register(cell, claim.lease.attempt).await.unwrap();
    }
}

/// A page with as many coloured pixels as `number` says, 8 for each.
fn picture(number: u32) -> Vec<u8> {
    let pixel = |place: u32| if place < 8 * number { [42, 91, 215] } else { [255, 255, 255] };
    let pixels: Vec<u8> = (0..SIZE[0] * SIZE[1]).flat_map(pixel).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE[0], SIZE[1]);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    bytes
}
