//! Runs the steps of one cell in a context of its own and brings home what they gave: pictures, failed assertions,
//! console evidence and, when a step fails, why and how the page looked. Every way out is typed and in time.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use pinhole_core::{CellFailure, FailedAssertion, FailureReason, NotEvidence, Profile, Sha256Digest, Slug};
use pinhole_scenario::{Condition, Scenario, Step, Target};
use url::Url;

use crate::{
    act,
    browser::Browser,
    capture::{CapturedCheckpoint, capture},
    check,
    error::{CallError, Fault, clip},
    extract::{ExtractedValues, extract},
    hosts::{HostPort, Hosts, without_query},
    navigate::navigate,
    picture::{self, Frame},
    tab::Tab,
};

/// Bytes of all pictures of a cell together.
const MAX_PICTURE_BYTES: usize = 512 * 1024 * 1024;

/// What a cell is to do.
#[derive(Clone, Copy, Debug)]
pub struct CellPlan<'a> {
    /// The scenario whose steps are run.
    pub scenario: &'a Scenario,
    /// What the page is shown.
    pub profile: &'a Profile,
    /// The environment's address; relative targets lie below it.
    pub base_url: &'a Url,
    /// Hosts that may be opened besides the base address's own.
    pub allowed_hosts: &'a [HostPort],
    /// Names and values of headers that every request of the page carries, to whatever host.
    pub headers: &'a [(String, String)],
    /// How long the whole cell may take.
    pub deadline: Duration,
    /// How long one step may take.
    pub step_deadline: Duration,
    /// File digests of the pinned baselines' pictures: one look is enough for a picture that is equal.
    pub known_pictures: &'a BTreeMap<Slug, Sha256Digest>,
    /// Address of the cell's egress proxy, such as `127.0.0.1:3128`; without one the page dials for itself.
    pub proxy: Option<&'a str>,
}

/// What a cell gave. The checkpoints before a failure are kept.
#[derive(Clone, Debug, Default)]
pub struct CellOutcome {
    /// Pictures in scenario order.
    pub checkpoints: Vec<CapturedCheckpoint>,
    /// Extracted values in scenario order.
    pub extracts: Vec<ExtractedValues>,
    /// Console messages as a JSON file: at most 1000 messages and one mebibyte; empty when there was no page.
    pub console: Vec<u8>,
    /// Assertions that did not hold.
    pub failed_assertions: Vec<FailedAssertion>,
    /// Why the cell failed, if it did.
    pub failure: Option<CellFailure>,
    /// The window when a step failed, a PNG file, if the page could still be pictured.
    pub failure_picture: Option<Vec<u8>>,
}

/// Runs a cell. It returns within the plan's deadline and some seconds for cleaning up, whatever the page does.
///
/// Ask [`Browser::is_healthy`] afterwards: a browser that is not must be closed and replaced.
pub async fn run_cell(browser: &Browser, plan: &CellPlan<'_>) -> CellOutcome {
    let mut outcome = CellOutcome::default();
    let deadline = Instant::now() + plan.deadline;
    let hosts = Hosts::new(plan.base_url, plan.allowed_hosts);
    let opening = Tab::open(browser, plan.profile, hosts.clone(), plan.headers, plan.proxy);
    let tab = match tokio::time::timeout(plan.deadline, opening).await {
        Ok(Ok(tab)) => tab,
        result => {
            outcome.failure = Some(failure(unopened(browser, result.ok().and_then(Result::err)), None));
            return outcome;
        }
    };
    let mut course = Course { tab: &tab, plan, hosts, browser, opened: None, step: 0, outcome: &mut outcome };
    let ended = tokio::time::timeout_at(deadline.into(), course.run()).await;
    let step = course.step;
    let fault = match ended {
        Ok(Ok(())) => None,
        Ok(Err(fault)) => Some(fault),
        Err(_) => Some(Fault::new(
            FailureReason::CellDeadline,
            format!("the cell ran into its {} s", plan.deadline.as_secs()),
        )),
    };
    if let Some(fault) = fault {
        let gone = matches!(fault.reason, FailureReason::BrowserCrashed | FailureReason::RendererCrashed);
        outcome.failure_picture = if gone { None } else { failure_picture(&tab, plan).await };
        outcome.failure = Some(failure(fault, Some(step)));
    }
    outcome.console = tab.watch.console_json();
    if !tab.dispose().await {
        browser.spoil();
    }
    outcome
}

/// Why there is no page. A refusal is the profile's fault, such as an unknown time zone; silence is the browser's.
fn unopened(browser: &Browser, error: Option<CallError>) -> Fault {
    match error {
        Some(CallError::Refused(why)) => {
            Fault::new(FailureReason::NavigationFailed, format!("the browser does not take this profile: {why}"))
        }
        Some(CallError::Gone) => Fault::browser_gone(),
        Some(CallError::Timeout(_)) | None => {
            browser.spoil();
            Fault::new(FailureReason::BrowserCrashed, "the browser does not open pages any more")
        }
    }
}

fn failure(fault: Fault, step: Option<u32>) -> CellFailure {
    CellFailure { reason: fault.reason, step, message: clip(&fault.message, 1990) }
}

/// A hung page cannot be pictured; it is given two seconds.
async fn failure_picture(tab: &Tab, plan: &CellPlan<'_>) -> Option<Vec<u8>> {
    let viewport = plan.profile.viewport;
    let frame = Frame::window(viewport.width, viewport.height, plan.profile.scale).ok()?;
    picture::take(tab, &frame, Duration::from_secs(2)).await.ok()
}

/// The way through the steps.
struct Course<'a> {
    tab: &'a Tab,
    plan: &'a CellPlan<'a>,
    hosts: Hosts,
    browser: &'a Browser,
    /// Where the document should be, until an action may have led elsewhere.
    opened: Option<Url>,
    step: u32,
    outcome: &'a mut CellOutcome,
}

impl Course<'_> {
    async fn run(&mut self) -> Result<(), Fault> {
        let plan = self.plan;
        for (index, step) in (0..).zip(&plan.scenario.steps) {
            self.step = index;
            let deadline = Instant::now() + plan.step_deadline;
            let tab = self.tab;
            tokio::select! {
                biased;
                fault = tab.watch.failed() => return Err(fault),
                done = self.take_step(step, deadline) => done.map_err(|fault| tab.watch.fault().unwrap_or(fault))?,
                () = tokio::time::sleep_until(deadline.into()) => {
                    let message = format!("{} did not end within {} s", step.name(), plan.step_deadline.as_secs_f32());
                    return Err(Fault::new(FailureReason::StepDeadline, message));
                }
            }
        }
        Ok(())
    }

    async fn take_step(&mut self, step: &Step, deadline: Instant) -> Result<(), Fault> {
        match step {
            Step::Navigate(target) => self.navigate(target, deadline).await,
            Step::Click(locator) => {
                self.opened = None;
                act::click(self.tab, locator, deadline).await
            }
            Step::Fill(fill) => act::fill(self.tab, fill, deadline).await,
            Step::Press(press) => {
                self.opened = None;
                act::press(self.tab, press, deadline).await
            }
            Step::WaitFor(condition) => {
                check::wait_for(self.tab, condition, deadline).await?;
                self.learn(condition);
                Ok(())
            }
            Step::Assert(condition) => {
                match check::assert(self.tab, condition, deadline).await? {
                    None => self.learn(condition),
                    Some(message) => {
                        self.outcome.failed_assertions.push(FailedAssertion { step: self.step, message });
                    }
                }
                Ok(())
            }
            Step::Capture(step) => self.capture(step, deadline).await,
            Step::Extract(step) => self.extract(step, deadline).await,
        }
    }

    async fn navigate(&mut self, target: &Target, deadline: Instant) -> Result<(), Fault> {
        let url = target
            .resolve(self.plan.base_url)
            .map_err(|error| Fault::new(FailureReason::NavigationFailed, error.message().to_owned()))?;
        navigate(self.tab, &self.hosts, &url, deadline).await?;
        self.opened = Some(url);
        Ok(())
    }

    /// An address that the scenario itself found right is not judged again by where it navigated.
    fn learn(&mut self, condition: &Condition) {
        if matches!(condition, Condition::Url(_)) {
            self.opened = None;
        }
    }

    async fn capture(&mut self, step: &pinhole_scenario::Capture, deadline: Instant) -> Result<(), Fault> {
        let render = self.browser.facts().render(self.plan.profile);
        let mut checkpoint = capture(self.tab, self.plan, step, render, deadline).await?;
        checkpoint.not_evidence.extend(self.wrong_status());
        checkpoint.not_evidence.extend(self.wrong_location());
        let bytes: usize = self.outcome.checkpoints.iter().map(|other| other.png.len()).sum();
        if bytes + checkpoint.png.len() > MAX_PICTURE_BYTES {
            let message = format!("the cell's pictures are more than {MAX_PICTURE_BYTES} bytes: split the scenario");
            return Err(Fault::new(FailureReason::LimitExceeded, message));
        }
        self.outcome.checkpoints.push(checkpoint);
        Ok(())
    }

    async fn extract(&mut self, step: &pinhole_scenario::Extract, deadline: Instant) -> Result<(), Fault> {
        let render = self.browser.facts().render(self.plan.profile);
        let mut values = extract(self.tab, self.plan, step, render, deadline).await?;
        values.not_evidence.extend(self.wrong_status());
        values.not_evidence.extend(self.wrong_location());
        self.outcome.extracts.push(values);
        Ok(())
    }

    /// An error status that the scenario nowhere expects.
    fn wrong_status(&self) -> Option<NotEvidence> {
        let status = self.tab.watch.status().filter(|status| *status >= 400)?;
        let expected = self.plan.scenario.steps.iter().any(|step| match step {
            Step::Assert(Condition::Status(code)) | Step::WaitFor(Condition::Status(code)) => *code == status,
            _ => false,
        });
        (!expected).then_some(NotEvidence::ErrorStatus { status })
    }

    /// Another host or path than the one that was opened, a slash at the end aside.
    fn wrong_location(&self) -> Option<NotEvidence> {
        let asked = self.opened.as_ref()?;
        let url = self.tab.watch.url();
        let same = Url::parse(&url).is_ok_and(|shown| {
            HostPort::of(&shown) == HostPort::of(asked)
                && shown.path().trim_end_matches('/') == asked.path().trim_end_matches('/')
        });
        (!same).then(|| NotEvidence::WrongLocation { url: without_query(&url) })
    }
}
