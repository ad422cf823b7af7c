//! Conditions: whether they hold now, and waiting until they do.

use std::time::{Duration, Instant};

use pinhole_core::FailureReason;
use pinhole_scenario::{Condition, TextMatch};
use serde::Deserialize;
use url::Url;

use crate::{
    act::remaining,
    error::{Fault, clip},
    hosts::without_query,
    tab::{AskError, Tab, erased::Json as _},
};

/// How long an assertion may take to come true: a page reacts to the step before in its own time.
const ASSERT_PATIENCE: Duration = Duration::from_secs(5);

/// What a condition came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) holds: bool,
    pub(crate) found: String,
}

/// The page script's answer: a verdict, or a number of matches that is judged here.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    holds: bool,
    #[serde(default)]
    found: String,
    count: Option<u64>,
    error: Option<String>,
}

/// Whether `condition` holds now.
pub(crate) async fn examine(tab: &Tab, condition: &Condition, limit: Duration) -> Result<Finding, AskError> {
    let finding = |holds, found: String| Ok(Finding { holds, found });
    match condition {
        Condition::Url(expected) => {
            let url = tab.watch.url();
            finding(url_holds(expected, &url), without_query(&url))
        }
        Condition::Status(expected) => {
            let status = tab.watch.status();
            finding(status == Some(*expected), status.map_or_else(|| "no HTTP status".into(), |code| code.to_string()))
        }
        Condition::NoConsoleErrors(_) => {
            let (errors, first) = tab.watch.console_errors();
            finding(errors == 0, format!("{errors} errors, first: {}", first.unwrap_or_default()))
        }
        _ => {
            let answer: Answer = tab.ask("holds", &[condition], limit).await?;
            let Some(count) = answer.count else {
                return finding(answer.holds && answer.error.is_none(), answer.error.unwrap_or(answer.found));
            };
            let holds = match condition {
                Condition::Absent(_) => count == 0,
                Condition::Count(expected) => expected.holds(count),
                _ => false,
            };
            finding(holds, format!("{count} elements"))
        }
    }
}

/// An expected text that starts with a slash is compared with path, query and fragment only.
fn url_holds(expected: &TextMatch, url: &str) -> bool {
    if !expected.expected().starts_with('/') {
        return expected.holds(url);
    }
    let Ok(parsed) = Url::parse(url) else { return false };
    let mut place = parsed.path().to_owned();
    if let Some(query) = parsed.query() {
        place.push('?');
        place.push_str(query);
    }
    if let Some(fragment) = parsed.fragment() {
        place.push('#');
        place.push_str(fragment);
    }
    expected.holds(&place)
}

/// Waits until `condition` holds or `until` has come; the last finding is returned either way.
pub(crate) async fn await_condition(tab: &Tab, condition: &Condition, until: Instant) -> Result<Finding, Fault> {
    let mut pause = Duration::from_millis(10);
    loop {
        let limit = remaining(until).max(Duration::from_secs(1));
        let finding = match tab.examine_or_navigated(condition, limit).await? {
            Some(finding) if finding.holds => return Ok(finding),
            Some(finding) => finding,
            None => Finding { holds: false, found: "the page was loading".into() },
        };
        if Instant::now() + pause >= until {
            return Ok(finding);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

impl Tab {
    async fn examine_or_navigated(&self, condition: &Condition, limit: Duration) -> Result<Option<Finding>, Fault> {
        match examine(self, condition, limit).await {
            Ok(finding) => Ok(Some(finding)),
            Err(AskError::Navigated) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits for the condition; one that does not hold in time is a failure of the step.
pub(crate) async fn wait_for(tab: &Tab, condition: &Condition, deadline: Instant) -> Result<(), Fault> {
    let left = remaining(deadline);
    let until = Instant::now() + left.saturating_sub(Duration::from_millis(500).max(left / 10));
    let finding = await_condition(tab, condition, until).await?;
    if finding.holds { Ok(()) } else { Err(Fault::new(FailureReason::StepDeadline, unmet(condition, &finding))) }
}

/// What was expected and found when the condition does not hold, at most 500 characters.
pub(crate) async fn assert(tab: &Tab, condition: &Condition, deadline: Instant) -> Result<Option<String>, Fault> {
    // Errors in the console do not go away.
    let patience = if matches!(condition, Condition::NoConsoleErrors(_)) { Duration::ZERO } else { ASSERT_PATIENCE };
    let until = Instant::now() + patience.min(remaining(deadline) / 2);
    let finding = await_condition(tab, condition, until).await?;
    Ok((!finding.holds).then(|| unmet(condition, &finding)))
}

fn unmet(condition: &Condition, finding: &Finding) -> String {
    clip(&format!("expected {}, found {}", clip(&condition.json(), 250), finding.found), 490)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_whole_or_from_the_path_on() {
        let equals = |text: &str| TextMatch::Equals(text.parse().unwrap());
        let contains = |text: &str| TextMatch::Contains(text.parse().unwrap());
        assert!(url_holds(&equals("/a?b#c"), "http://h:1/a?b#c"));
        assert!(!url_holds(&equals("/a"), "http://h:1/a?b"));
        assert!(url_holds(&equals("http://h:1/a"), "http://h:1/a"));
        assert!(!url_holds(&contains("/h:1"), "http://h:1/a"));
        assert!(url_holds(&contains("h:1"), "http://h:1/a"));
    }
}
