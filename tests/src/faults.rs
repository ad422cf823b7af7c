//! What goes wrong while a run is at work: workers, browsers and servers that are killed or stopped, pages that never
//! end, rows of the job queue that vanish. Whatever happens, the run ends right and once, and no process is left.
//!
//! Everything runs at default settings: a lease lasts 10 s, a step 30 s.

mod browser;
mod jobs;
mod server;
mod worker;

use std::{collections::BTreeSet, process::Command, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use pinhole_testkit::{Behaviour, Site, wait_for};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::harness::{Finished, Project, Server, Setup, has_ended, uid};

/// How long something without a bound of its own may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first page of the scenario.
const PAGE: &str = "/index.html";
const SCENARIO: &str = "\
schema: pinhole.scenario.v1
title: Shop and cart
steps:
  - navigate: /index.html
  - capture: { name: shop }
  - navigate: /cart.html
  - capture: { name: cart }
";

/// A server at work on the demo's site.
struct Stage {
    server: Server,
    site: Site,
    project: Project,
    /// The checkpoints of its scenario, in order.
    checkpoints: &'static [&'static str],
}

impl Stage {
    async fn set(setup: Setup) -> Self {
        Self::with(setup, SCENARIO, &["shop", "cart"]).await
    }

    async fn with(setup: Setup, scenario: &str, checkpoints: &'static [&'static str]) -> Self {
        let site = Site::named("demo");
        let server = Server::start(setup).await;
        let project = Project::prepare(&server, &site, scenario).await;
        Self { server, site, project, checkpoints }
    }

    async fn start(&self, key: &str) -> String {
        self.project.start(key, &json!({ "none": true })).await
    }

    /// Starts a run whose first page does not answer, and waits until a browser waits for it; gives run and browser.
    async fn hang(&mut self, key: &str) -> (String, u32) {
        let asked = self.site.hits(PAGE);
        self.site.set_behaviour(PAGE, Behaviour::Silent);
        let run = self.start(key).await;
        (run, self.waiting(asked).await)
    }

    /// Waits until the first page was asked for more than `asked` times, and gives the browser that waits for it.
    async fn waiting(&mut self, asked: usize) -> u32 {
        wait_for(PATIENCE, "a browser waits for the page", async || {
            let browsers = self.server.browsers();
            browsers.first().copied().filter(|_| self.site.hits(PAGE) > asked)
        })
        .await
    }

    /// Waits for the end of a run that completes after attempts with these outcomes, and asserts that it gave one
    /// result with one receipt for each checkpoint, all of the last attempt; gives the run.
    async fn ends_right(&self, id: &str, expected: &[&str]) -> Value {
        let run = self.project.ended(id).await;
        assert_eq!(run["state"], "completed", "{run:#}");
        assert_eq!(outcomes(&run), expected, "{run:#}");
        let result = self.project.result(id).await;
        let checkpoints = result["checkpoints"].as_array().unwrap();
        let names: Vec<&str> = checkpoints.iter().map(|found| text(&found["checkpoint"])).collect();
        assert_eq!(names, self.checkpoints, "{result:#}");
        let receipts: Vec<&str> = checkpoints.iter().map(|found| text(&found["receipt_id"])).collect();
        let statement = predicate(&result["statement"]);
        let signed: Vec<&str> = list(&statement["receipts"]).iter().map(|found| text(&found["receipt"])).collect();
        assert_eq!(signed, receipts, "{statement:#}");
        for (receipt, name) in receipts.iter().zip(&names) {
            let envelope = self.project.author.get(&format!("/api/v1/receipts/{receipt}")).await.expect(200);
            let said = predicate(&envelope["envelope"]);
            assert_eq!((&said["run"], text(&said["checkpoint"])), (&json!(id), *name), "{said:#}");
            assert_eq!(said["attempt"], expected.len(), "{said:#}");
            assert_eq!(said["worker"], attempts(&run).last().unwrap()["worker"], "{said:#}");
            assert_eq!(said["sandbox"], json!({ "uid": self.browser_owner(), "sandboxed": true }), "{said:#}");
        }
        self.count(id);
        run
    }

    /// Who browsers run as; only root can choose.
    fn browser_owner(&self) -> u32 {
        uid(std::process::id()).filter(|own| *own != 0).unwrap_or_else(|| self.server.browser_uid())
    }

    /// The rows themselves, where there is a program to ask for them.
    fn count(&self, run: &str) {
        let Some(url) = self.server.database_url() else { return };
        let checkpoints = self.checkpoints.len();
        for (table, rows) in [("receipts", checkpoints), ("checkpoint_results", checkpoints), ("run_results", 1)] {
            let found = psql(url, &format!("SELECT count(*) FROM {table} WHERE run_id = '{run}'"));
            assert_eq!(found.trim(), rows.to_string(), "{table}");
        }
    }

    /// Everything that can be read of a run.
    async fn everything(&self, run: &str) -> Vec<Value> {
        let result = self.project.result(run).await;
        let mut all = vec![self.project.look(run).await];
        for checkpoint in list(&result["checkpoints"]) {
            let path = format!("/api/v1/receipts/{}", text(&checkpoint["receipt_id"]));
            all.push(self.project.author.get(&path).await.expect(200));
        }
        all.push(result);
        all
    }
}

/// The attempts of a run's only cell.
fn attempts(run: &Value) -> &[Value] {
    assert_eq!(list(&run["cells"]).len(), 1, "{run:#}");
    list(&run["cells"][0]["attempts"])
}

/// How the attempts ended.
fn outcomes(run: &Value) -> Vec<&str> {
    attempts(run).iter().map(|attempt| text(&attempt["outcome"])).collect()
}

/// The process that made an attempt; a worker's name ends with it.
fn worker_of(attempt: &Value) -> u32 {
    let name = text(&attempt["worker"]);
    name.rsplit('-').next().unwrap().parse().unwrap_or_else(|error| panic!("{error}: {name}"))
}

/// What a signed statement says, without a look at the signature.
fn predicate(envelope: &Value) -> Value {
    let payload = BASE64_STANDARD.decode(text(&envelope["payload"])).unwrap();
    serde_json::from_slice::<Value>(&payload).unwrap()["predicate"].clone()
}

#[track_caller]
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value:#}"))
}

#[track_caller]
fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value:#}"))
}

/// Sends a signal to a process of a server that this test started.
fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Whether none of these processes is left.
fn all_ended(pids: &BTreeSet<u32>) -> bool {
    pids.iter().all(|pid| has_ended(*pid))
}

/// What PostgreSQL's own client prints for these statements: values alone, a row in a line.
fn psql(url: &str, statements: &str) -> String {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", statements, url]);
    Finished::of(&mut psql).expect(0).to_owned()
}
