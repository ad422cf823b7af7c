//! Waits until a page has nothing under way: loading, requests, pictures, fonts, busy elements, changes of the
//! document, and the scenario's own `ready` rules. It decides nothing: what is left at the end is reported.

use std::time::{Duration, Instant};

use pinhole_scenario::Condition;

use crate::{
    act::remaining,
    check::await_condition,
    error::Fault,
    tab::{AskError, Tab},
};

/// How long nothing may change in the document before it counts as quiet.
const QUIET: Duration = Duration::from_millis(100);
/// How long after the end of a script's request its effects are awaited: the customary measure of network idleness.
const SCRIPT_QUIET: Duration = Duration::from_millis(500);

/// How carefully to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Two frames with nothing under way, for a picture that proves itself by being equal to the baseline.
    Quick,
    /// Quiet for a while.
    Full,
}

/// What settling came to.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// What was still under way.
    pub(crate) left: Vec<String>,
    /// Index of the first `ready` rule that does not hold.
    pub(crate) unready: Option<u32>,
}

impl Settled {
    pub(crate) fn is_complete(&self) -> bool {
        self.left.is_empty() && self.unready.is_none()
    }
}

/// Waits until the page is settled and ready, at most until `until`.
pub(crate) async fn settle(tab: &Tab, ready: &[Condition], care: Care, until: Instant) -> Result<Settled, Fault> {
    // Only a quick look gives up early: the full one follows.
    let until = if care == Care::Quick { until.min(Instant::now() + Duration::from_secs(2)) } else { until };
    let mut unready = None;
    for (index, condition) in (0..).zip(ready) {
        if !await_condition(tab, condition, until).await?.holds {
            unready = Some(index);
            break;
        }
    }
    loop {
        let mut left = await_network(tab, care, until).await;
        let quiet = if care == Care::Full { QUIET } else { Duration::ZERO };
        left.extend(await_document(tab, quiet, until).await?);
        // Requests may have begun while the document was waited for.
        if left.is_empty() && network_problem(tab, care).is_some() && Instant::now() < until {
            continue;
        }
        return Ok(Settled { left, unready });
    }
}

async fn await_document(tab: &Tab, quiet: Duration, until: Instant) -> Result<Vec<String>, Fault> {
    loop {
        let budget = remaining(until);
        // The page keeps the budget itself; the margin is for one that has no time to answer at once.
        let limit = budget + Duration::from_secs(10);
        let arguments = (quiet.as_millis(), budget.as_millis());
        match tab.ask("settle", &[&arguments.0, &arguments.1], limit).await {
            Ok(left) => return Ok(left),
            Err(AskError::Navigated) if Instant::now() < until => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(AskError::Navigated) => return Ok(vec!["the page keeps going to other documents".into()]),
            Err(error) => return Err(error.into()),
        }
    }
}

async fn await_network(tab: &Tab, care: Care, until: Instant) -> Vec<String> {
    loop {
        let Some((problem, wait)) = network_problem(tab, care) else { return Vec::new() };
        if Instant::now() + wait > until {
            return vec![problem];
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = tab.watch.next_change() => {}
        }
    }
}

/// What the network still does and how long to wait before looking again.
fn network_problem(tab: &Tab, care: Care) -> Option<(String, Duration)> {
    let network = tab.watch.network();
    if network.pending > 0 {
        let example = network.example.unwrap_or_default();
        return Some((format!("{} requests pending, such as {example}", network.pending), Duration::from_millis(100)));
    }
    let quiet = match (care, network.script_idle) {
        (Care::Full, Some(idle)) => SCRIPT_QUIET.saturating_sub(idle),
        // The document's own quiet covers what pictures and styles may still bring.
        _ => Duration::ZERO,
    };
    (!quiet.is_zero()).then(|| ("scripts made requests until the end".into(), quiet))
}
