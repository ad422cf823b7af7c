//! The steps of the path, each done by somebody who has the one role for it.

use std::time::Duration;

use pinhole_core::{Actor, ApprovalId, Disposition, Outcome, Reason, ReceiptId, Result, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::support::{Bench, Captured, GOOD, Look, PROJECT};

pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

/// A bench with the people that the path needs, each with one role.
pub(crate) struct Path {
    pub(crate) bench: Bench,
    /// Runs, captures, requests and consumes.
    pub(crate) maker: Actor,
    pub(crate) reviewer: Actor,
    pub(crate) approver: Actor,
}

impl Path {
    pub(crate) async fn on(engine: Engine) -> Self {
        let bench = Bench::on(engine).await;
        let maker = bench.service("builder", &[Role::Operator, Role::Author]).await;
        let reviewer = bench.person("Rita", &[Role::Reviewer]).await;
        let approver = bench.person("Anna", &[Role::Approver]).await;
        Self { bench, maker, reviewer, approver }
    }

    pub(crate) async fn capture(&self, look: Look) -> Captured {
        self.bench.capture(&self.maker, "staging", look).await
    }

    pub(crate) async fn candidate(&self, receipt: ReceiptId) -> Result<Value> {
        self.bench.keyed(&self.maker, "capture_visual_baseline", json!({ "receipt_id": receipt })).await
    }

    /// Reviews with a ticket that was made for exactly this.
    pub(crate) async fn review(&self, receipts: &[ReceiptId], disposition: Disposition) -> Value {
        let (name, reason) = ("Rita".parse().unwrap(), reason("I looked"));
        let ticket = self.bench.app.create_review_ticket(&name, receipts, disposition, &reason).await.unwrap();
        let input = json!({
            "receipts": receipts,
            "disposition": disposition,
            "reason": reason,
            "ticket": ticket.secret,
        });
        self.bench.keyed(&self.reviewer, "review_visual_baseline", input).await.unwrap()
    }

    /// Captures, proposes, accepts and requests both checkpoints.
    pub(crate) async fn requested(&self, look: Look) -> Value {
        let items = self.items(look).await;
        self.request(items).await.unwrap()
    }

    pub(crate) async fn items(&self, look: Look) -> Value {
        let captured = self.capture(look).await;
        let receipts: Vec<_> = captured.receipts.values().copied().collect();
        let reviews = self.review(&receipts, Disposition::Accept).await;
        let mut items = Vec::new();
        for (receipt, review) in receipts.into_iter().zip(reviews["reviews"].as_array().unwrap()) {
            let candidate = self.candidate(receipt).await.unwrap();
            items.push(json!({ "candidate_id": candidate["id"], "review_id": review["id"] }));
        }
        items.into()
    }

    pub(crate) async fn request(&self, items: Value) -> Result<Value> {
        let input = json!({ "project": PROJECT, "items": items, "release_label": "2026-01" });
        self.bench.keyed(&self.maker, "request_baseline_approval", input).await
    }

    pub(crate) async fn decide(&self, approval: &Value, outcome: Outcome) -> Result<Value> {
        self.decide_as(&self.approver, "Anna", approval, outcome).await
    }

    pub(crate) async fn decide_as(
        &self,
        actor: &Actor,
        name: &str,
        approval: &Value,
        outcome: Outcome,
    ) -> Result<Value> {
        let reason = reason("as agreed");
        let ticket =
            self.bench.app.create_decision_ticket(&name.parse().unwrap(), id(approval), outcome, &reason).await?;
        let input = json!({
            "approval_id": approval["id"],
            "outcome": outcome,
            "reason": reason,
            "ticket": ticket.secret,
            "expected_version": approval["version"],
        });
        self.bench.call(actor, "decide_approval", input).await
    }

    pub(crate) async fn consume(&self, approval: &Value, expected: u32) -> Result<Value> {
        self.bench.keyed(&self.maker, "consume_baseline_approval", consumption(approval, expected)).await
    }

    /// From capture to catalog revision.
    pub(crate) async fn materialised(&self, look: Look, expected: u32) -> (Value, Value) {
        let approval = self.requested(look).await;
        let approval = self.decide(&approval, Outcome::Approve).await.unwrap();
        let view = self.consume(&approval, expected).await.unwrap();
        (approval, view)
    }

    pub(crate) async fn state(&self, approval: &Value) -> Value {
        let input = json!({ "approval_id": approval["id"] });
        self.bench.call(&self.maker, "get_approval", input).await.unwrap()["state"].clone()
    }
}

pub(crate) fn consumption(approval: &Value, expected: u32) -> Value {
    json!({
        "approval_id": approval["id"],
        "intent_digest": approval["intent_digest"],
        "expected_version": expected,
    })
}

pub(crate) fn id(approval: &Value) -> ApprovalId {
    approval["id"].as_str().unwrap().parse().unwrap()
}

pub(crate) fn reason(text: &str) -> Reason {
    text.parse().unwrap()
}

pub(crate) fn darker(shade: u8) -> Look {
    Look { shade, ..GOOD }
}
