//! Reads values from a settled page, twice, so that what is still moving is told and not kept as truth.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use pinhole_core::{NotEvidence, RenderFacts, Slug};
use pinhole_scenario::{Extract, Locator, ValueSource};
use serde_json::Value;

use crate::{
    act::{Attempt, remaining},
    cell::CellPlan,
    error::Fault,
    hosts::without_query,
    settle::{Care, settle},
    tab::{AskError, Tab},
};

/// How long an extract may wait for the page to settle.
const BUDGET: Duration = Duration::from_secs(10);
/// How long between two readings that have to be equal.
const PAUSE: Duration = Duration::from_millis(50);

/// Values with what the worker knows about them.
#[derive(Clone, Debug)]
pub struct ExtractedValues {
    /// The extract's name in the scenario.
    pub name: Slug,
    /// A text or a count for each name in the scenario's step.
    pub values: BTreeMap<Slug, Value>,
    /// Where the document was, without query and fragment.
    pub url: String,
    /// Why they are not evidence; empty when nothing speaks against them.
    pub not_evidence: Vec<NotEvidence>,
    /// Everything that the page's look depends on beside the page.
    pub render: RenderFacts,
}

/// Reads the values of the step. A target that is missing or ambiguous fails the step.
pub(crate) async fn extract(
    tab: &Tab,
    plan: &CellPlan<'_>,
    step: &Extract,
    render: RenderFacts,
    deadline: Instant,
) -> Result<ExtractedValues, Fault> {
    let until = Instant::now() + BUDGET.min(remaining(deadline).mul_f64(0.6));
    let settled = settle(tab, &plan.scenario.ready, Care::Full, until).await?;
    let mut not_evidence: Vec<_> =
        settled.unready.map(|index| NotEvidence::ReadyNeverHeld { index }).into_iter().collect();
    let mut values = read(tab, step, until, deadline).await?;
    loop {
        tokio::time::sleep(PAUSE).await;
        let again = read(tab, step, until, deadline).await?;
        if again == values {
            break;
        }
        if Instant::now() >= until {
            not_evidence.push(NotEvidence::StillMoving { what: moved(&values, &again) });
            break;
        }
        values = again;
    }
    Ok(ExtractedValues { name: step.name.clone(), values, url: without_query(&tab.watch.url()), not_evidence, render })
}

/// One reading of all values, at one moment of the page. A page that goes to another document meanwhile is read again.
async fn read(tab: &Tab, step: &Extract, until: Instant, deadline: Instant) -> Result<BTreeMap<Slug, Value>, Fault> {
    loop {
        let answer = tab.ask::<BTreeMap<Slug, Attempt<Value>>>("extract", &[&step.values], remaining(deadline)).await;
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(AskError::Navigated) if Instant::now() < until => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let mut values = BTreeMap::new();
        let mut problem = None;
        for (name, source) in &step.values {
            match answer.remove(name).unwrap_or_default().into_result(locator_of(source)) {
                Ok(value) => drop(values.insert(name.clone(), value)),
                Err(fault) => problem = problem.or(Some(fault)),
            }
        }
        match problem {
            None => return Ok(values),
            // What is missing may still come.
            Some(_) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
            Some(fault) => return Err(fault),
        }
    }
}

fn locator_of(source: &ValueSource) -> &Locator {
    match source {
        ValueSource::Text(locator) | ValueSource::Value(locator) | ValueSource::Count(locator) => locator,
        ValueSource::Attribute(attribute) => &attribute.of,
    }
}

fn moved(before: &BTreeMap<Slug, Value>, after: &BTreeMap<Slug, Value>) -> String {
    let names: Vec<_> =
        before.iter().filter(|(name, value)| after.get(*name) != Some(value)).map(|(name, _)| name.as_str()).collect();
    format!("the values {}", names.join(", "))
}
