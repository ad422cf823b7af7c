//! What a capture worker does with a claimed cell, a step at a time, so that a test can do one of them wrongly.

use pinhole_app::{Claim, Lease};
use pinhole_core::{ArtifactKind, CellFailure, CellId, FailureReason, Slug, StagedCheckpoint, Submission};
use pinhole_testkit::worker;
use serde_json::{Value, json};

use crate::{
    pictures::{HEIGHT, WIDTH},
    support::{Bench, PROJECT, authenticate},
};

/// A scenario with one checkpoint and no matrix.
pub(crate) const ONE: &str =
    "schema: pinhole.scenario.v1\ntitle: One\nsteps:\n  - navigate: /\n  - capture: { name: home }\n";

/// A scenario with one checkpoint and two matrix rows.
pub(crate) const TWO_CELLS: &str = "schema: pinhole.scenario.v1\ntitle: Two\nmatrix:\n  - { name: desktop }\n  - { name: phone, scale: 2 }\nsteps:\n  - navigate: /\n  - capture: { name: home }\n";

impl Bench {
    /// Adds a scenario to the project and returns its view.
    pub(crate) async fn scenario(&self, slug: &str, source: &str) -> Value {
        let writer = authenticate(&self.app, "Wanda").await;
        let input = json!({ "project": PROJECT, "slug": slug, "source": source });
        self.keyed(&writer, "create_scenario", input).await.unwrap()
    }

    /// Makes `source` the head of a scenario.
    pub(crate) async fn revise(&self, scenario: &Value, source: &str) -> Value {
        let writer = authenticate(&self.app, "Wanda").await;
        let input = json!({
            "scenario_id": scenario["id"], "source": source, "expected_version": scenario["version"],
        });
        self.call(&writer, "submit_scenario_revision", input).await.unwrap()
    }

    /// The run as the project's owner reads it.
    pub(crate) async fn run(&self, id: &Value) -> Value {
        self.call(&self.owner, "get_scenario_run", json!({ "run_id": id })).await.unwrap()
    }

    /// The result as the project's owner reads it.
    pub(crate) async fn result(&self, id: &Value) -> Value {
        self.call(&self.owner, "get_scenario_run_result", json!({ "run_id": id })).await.unwrap()
    }

    /// Claims a cell of a run, which is to be had.
    pub(crate) async fn claim(&self, run: &Value, index: usize) -> Claim {
        self.app.claim(cell(run, index), "worker-1").await.unwrap().expect("the cell can be claimed")
    }

    /// Stages `file` for each capture and says what an honest worker says.
    pub(crate) async fn shoot(&self, claim: &Claim, file: &[u8]) -> Submission {
        let mut checkpoints = Vec::new();
        for capture in claim.scenario.captures() {
            checkpoints.push(self.checkpoint(claim, &capture.name, file).await);
        }
        worker::submission(checkpoints)
    }

    async fn checkpoint(&self, claim: &Claim, name: &Slug, file: &[u8]) -> StagedCheckpoint {
        let file_name = format!("picture-{name}");
        let picture = self.app.stage(&claim.lease, ArtifactKind::Picture, &file_name, file.to_vec()).await.unwrap();
        worker::checkpoint(name, picture, [WIDTH, HEIGHT], &claim.profile)
    }

    /// Submits under a lease that lasts, and lets the registrar work.
    pub(crate) async fn hand_in(&self, lease: &Lease, submission: &Submission) {
        assert!(self.app.submit(lease, submission).await.unwrap(), "the lease lasts");
        self.app.register(lease.cell, lease.attempt).await.unwrap();
    }

    /// An honest worker's whole work on every cell of a run with this file; the result.
    pub(crate) async fn complete(&self, run: &Value, file: &[u8]) -> Value {
        self.complete_with(run, file, |_, _| {}).await
    }

    /// The same, with what is submitted for each cell changed by `edit`, which is told the cell's place.
    pub(crate) async fn complete_with(&self, run: &Value, file: &[u8], edit: impl Fn(usize, &mut Submission)) -> Value {
        for index in 0..run["cells"].as_array().unwrap().len() {
            // A cell that the test itself has worked on is left as it is.
            let Some(claim) = self.app.claim(cell(run, index), "worker-1").await.unwrap() else { continue };
            let mut submission = self.shoot(&claim, file).await;
            edit(index, &mut submission);
            self.hand_in(&claim.lease, &submission).await;
        }
        self.result(&run["id"]).await
    }
}

/// The id of a cell.
pub(crate) fn cell(run: &Value, index: usize) -> CellId {
    run["cells"][index]["id"].as_str().unwrap().parse().unwrap()
}

/// A worker's word that it came to nothing.
pub(crate) fn failed(reason: FailureReason) -> Submission {
    let failure = CellFailure { reason, step: Some(1), message: format!("it was {reason}") };
    Submission { failure: Some(failure), ..worker::submission(Vec::new()) }
}

/// The input of `start_scenario_run` for the head of a scenario in staging without a baseline.
pub(crate) fn order(scenario: &str) -> Value {
    json!({
        "project": PROJECT,
        "scenario": scenario,
        "revision": { "head": true },
        "environment": "staging",
        "environment_revision": { "latest": true },
        "baseline": { "none": true },
    })
}

/// An order with one member in another form.
pub(crate) fn order_with(scenario: &str, member: &str, value: Value) -> Value {
    let mut order = order(scenario);
    order[member] = value;
    order
}
