//! Many at once: every consumption makes one revision, and whoever comes too late is told where the line is now.

use pinhole_core::{Disposition, Outcome, ReceiptId};
use pinhole_receipt::verify_statements;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker},
    rows::on_both_engines,
    support::{GOOD, PROJECT},
};

on_both_engines! {
    twenty_approved_requests_over_different_keys_are_all_consumed_at_once
    of_two_writers_one_makes_the_revision_and_the_other_is_told
}

/// How many requests there are at once.
const REQUESTS: u32 = 20;

impl Path {
    /// Approved requests over different keys: one for each checkpoint of a scenario of its own.
    async fn approved_apart(&self) -> Vec<Value> {
        let captures: String = (0..REQUESTS).map(|n| format!("  - capture: {{ name: view-{n} }}\n")).collect();
        let source = format!("schema: pinhole.scenario.v1\ntitle: Views\nsteps:\n  - navigate: /\n{captures}");
        let scenario = json!({ "project": PROJECT, "slug": "views", "source": source });
        self.bench.keyed(&self.maker, "create_scenario", scenario).await.unwrap();
        let order = json!({
            "project": PROJECT, "scenario": "views", "revision": { "head": true }, "environment": "staging",
            "environment_revision": { "latest": true }, "baseline": { "none": true },
        });
        let run = self.bench.keyed(&self.maker, "start_scenario_run", order).await.unwrap();
        let receipts: Vec<ReceiptId> = self.bench.finish(&run, GOOD).await.receipts.into_values().collect();
        let reviews = self.review(&receipts, Disposition::Accept).await;
        let mut approvals = Vec::new();
        for (receipt, review) in receipts.into_iter().zip(reviews["reviews"].as_array().unwrap()) {
            let candidate = self.candidate(receipt).await.unwrap();
            let items = json!([{ "candidate_id": candidate["id"], "review_id": review["id"] }]);
            let approval = self.request(items).await.unwrap();
            approvals.push(self.decide(&approval, Outcome::Approve).await.unwrap());
        }
        approvals
    }

    /// Consumes from where the line is said to be, as often as that was no longer so; answers the revision and how often
    /// it was.
    async fn consume_at_last(&self, approval: &Value) -> (u32, u32) {
        let (mut head, mut conflicts) = (0, 0);
        loop {
            match self.consume(approval, head).await {
                Ok(made) => return (made["revision"].as_u64().unwrap().try_into().unwrap(), conflicts),
                Err(error) => {
                    assert_eq!(error.reason(), Some("stale_version"), "{error:?}");
                    assert_eq!(error.details().expected.as_deref(), Some(head.to_string().as_str()));
                    let actual: u32 = error.details().actual.as_deref().unwrap().parse().unwrap();
                    assert!(actual > head, "the line moves on");
                    (head, conflicts) = (actual, conflicts + 1);
                }
            }
        }
    }
}

async fn twenty_approved_requests_over_different_keys_are_all_consumed_at_once(engine: Engine) {
    let path = Path::on(engine).await;
    let approvals = path.approved_apart().await;
    assert_eq!(approvals.len(), REQUESTS as usize);
    let decisions = path.bench.counts_of("decisions");
    let made = futures::future::join_all(approvals.iter().map(|approval| path.consume_at_last(approval))).await;
    let mut revisions: Vec<_> = made.iter().map(|(revision, _)| *revision).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=REQUESTS).collect::<Vec<_>>(), "one revision each");
    assert!(made.iter().any(|(_, conflicts)| *conflicts > 0), "nobody met anybody");
    assert_eq!(path.bench.counts_of("decisions"), decisions, "nobody decided twice");
    for approval in &approvals {
        assert_eq!(path.state(approval).await, "consumed");
    }
    let report = verify_statements(&path.bench.tree("main", REQUESTS).await, &path.bench.keys).unwrap();
    assert_eq!(report.active_entries, REQUESTS as usize);
}

async fn of_two_writers_one_makes_the_revision_and_the_other_is_told(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    for head in 1..6_u32 {
        // Whatever order they come in: over different keys they are in each other's way on the line alone.
        let shade = u8::try_from(10 * head + 20).unwrap();
        let (_, one) = path.approved_on("main", "cart", darker(shade)).await;
        let (_, two) = path.approved_on("main", "total", darker(shade)).await;
        let (first, second) = tokio::join!(path.consume(&one, head), path.consume(&two, head));
        let (made, error, late) = match (first, second) {
            (Ok(made), Err(error)) => (made, error, two),
            (Err(error), Ok(made)) => (made, error, one),
            other => panic!("one revision and one conflict: {other:?}"),
        };
        assert_eq!(made["revision"], head + 1);
        assert_eq!((error.code().as_str(), error.reason()), ("conflict", Some("stale_version")), "{error:?}");
        assert_eq!(path.head().await, head + 1);
        assert_eq!(path.state(&late).await, "approved", "who came too late is approved as before");
    }
}
