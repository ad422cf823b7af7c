//! Captures that are all admitted before the first of them ends, as a nightly suite would be: the worker takes the next
//! one while the registrar has the last, which captures one after another never show.

use std::time::Instant;

use super::{
    Plan,
    api::Api,
    driver::{await_end, start},
    harness::pages,
    server::Server,
};
use crate::Outcome;

/// Captures per second of `captures` runs admitted at once, for each of `rounds` rounds on one server.
pub(super) fn measure(plan: &Plan, lanes: u32, captures: usize, rounds: u32) -> Outcome<Vec<f64>> {
    let server = Server::start(&plan.pinhole, &plan.work, lanes)?;
    let api = Api::new(server.base(), &plan.token);
    let prefix = format!("queued-{}-{lanes}", plan.mode.name());
    // Every browser is up before anything is timed.
    take(&api, plan, &pages(lanes as usize), &format!("{prefix}-warm"))?;
    let pages = pages(captures);
    let round = |round: u32| take(&api, plan, &pages, &format!("{prefix}-{round}"));
    (0..rounds).map(round).collect()
}

fn take(api: &Api, plan: &Plan, pages: &[&str], key: &str) -> Outcome<f64> {
    let begun = Instant::now();
    let mut runs = Vec::with_capacity(pages.len());
    for (index, page) in pages.iter().enumerate() {
        runs.push((page, start(api, plan, page, &format!("{key}-{index}"))?));
    }
    for (page, run) in &runs {
        await_end(api, page, run)?;
    }
    Ok(pages.len() as f64 / begun.elapsed().as_secs_f64())
}
