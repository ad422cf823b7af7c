//! The product as the harness sees it: a program that takes captures from its standard input, a JSON line each, and
//! answers each on its standard output once the run's result is registered.
//!
//! One process is one round: it starts a server on the prepared data directory and ends it with its input. Its CPU time
//! and that of everything below it, browsers included, is the harness's to account.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Mutex,
    thread::{self, sleep},
    time::{Duration, Instant, SystemTime},
};

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Mode, Plan,
    api::{Api, text},
    phases::{self, Taken},
    server::Server,
    setup::{ENVIRONMENT, PROJECT},
};
use crate::Outcome;

/// When a run is asked after for the second time; no capture ends sooner.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// From then on it is asked after whenever it has taken this part longer. A closer look would see the end sooner, but
/// each costs the server CPU time that no capture needs.
const PART: u32 = 16;
/// Longest time for one run.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Driver {
    /// The file with the plan.
    #[arg(long)]
    plan: PathBuf,
    /// Browsers, and captures that the harness asks for at the same time.
    #[arg(long)]
    lanes: u32,
}

/// A line of the harness.
#[derive(Deserialize)]
struct Order {
    id: u64,
    url: String,
}

impl Driver {
    pub(crate) fn run(self) -> Outcome {
        let plan = std::fs::read(&self.plan).map_err(|e| format!("{}: {e}", self.plan.display()))?;
        let plan: Plan = serde_json::from_slice(&plan).map_err(|e| format!("{}: {e}", self.plan.display()))?;
        let server = Server::start(&plan.pinhole, &plan.work, self.lanes)?;
        let api = Api::new(server.base(), &plan.token);
        let taken = Mutex::new(Vec::new());
        let process = std::process::id();
        thread::scope(|scope| {
            for line in std::io::stdin().lines() {
                let line = line.map_err(|e| format!("standard input: {e}"))?;
                let order: Order = serde_json::from_str(&line).map_err(|e| format!("standard input: {e}: {line}"))?;
                let (api, plan, taken) = (&api, &plan, &taken);
                scope.spawn(move || {
                    let key = format!("{}-{process}-{}", plan.mode.name(), order.id);
                    let outcome = page(&order.url).and_then(|page| start_and_await(api, plan, page, &key));
                    answer(&order, &outcome);
                    // The first one warms up and is not counted.
                    if let (Ok(capture), 2..) = (outcome, order.id)
                        && let Ok(mut all) = taken.lock()
                    {
                        all.push(capture);
                    }
                });
            }
            Ok::<_, String>(())
        })?;
        let taken = taken.into_inner().map_err(|_| "a capture panicked")?;
        phases::append(&api, &plan, self.lanes, &taken)
    }
}

/// Starts a run of the page's scenario and waits until its result is registered.
pub(super) fn start_and_await(api: &Api, plan: &Plan, page: &str, key: &str) -> Outcome<Taken> {
    let asked = SystemTime::now();
    let run = start(api, plan, page, key)?;
    let (view, seen) = await_end(api, page, &run)?;
    Ok(Taken { page: page.to_owned(), run, asked, seen, view })
}

/// Starts a run of the page's scenario and gives its id.
pub(super) fn start(api: &Api, plan: &Plan, page: &str, key: &str) -> Outcome<String> {
    let baseline = match plan.mode {
        Mode::First => json!({ "none": true }),
        Mode::Unchanged => json!({ "receipt": "previous" }),
    };
    let command = json!({
        "project": PROJECT, "scenario": page, "revision": { "head": true },
        "environment": ENVIRONMENT, "environment_revision": { "latest": true }, "baseline": baseline,
    });
    Ok(text(&api.post("/runs", key, &command)?, "/id")?.to_owned())
}

/// Waits until a run's result is registered; gives the run and when it was seen to have ended.
pub(super) fn await_end(api: &Api, page: &str, run: &str) -> Outcome<(Value, SystemTime)> {
    let (path, begun) = (format!("/runs/{run}"), Instant::now());
    loop {
        let view = api.get(&path)?;
        if view.get("finished_at").is_some_and(Value::is_string) {
            let seen = SystemTime::now();
            if text(&view, "/state")? != "completed" {
                return Err(format!("{page} was not captured: {view}"));
            }
            return Ok((view, seen));
        }
        let elapsed = begun.elapsed();
        if elapsed > PATIENCE {
            return Err(format!("{page} was not captured within {} s: {view}", PATIENCE.as_secs()));
        }
        sleep(FIRST_LOOK.saturating_sub(elapsed).max(elapsed / PART));
    }
}

/// The name of a page of the site, which is also that of its scenario.
fn page(url: &str) -> Outcome<&str> {
    Path::new(url).file_stem().and_then(|name| name.to_str()).ok_or_else(|| format!("{url} is no page"))
}

fn answer<T>(order: &Order, outcome: &Outcome<T>) {
    let line = match outcome {
        Ok(_) => json!({ "id": order.id, "ok": true }),
        Err(error) => json!({ "id": order.id, "ok": false, "error": error }),
    };
    // A harness that is gone needs no answer.
    let _sent = writeln!(std::io::stdout().lock(), "{line}");
}
