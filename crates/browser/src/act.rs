//! Acts on the page as a visitor does: through the browser's input events, on an element that can take them.

use std::time::{Duration, Instant};

use chromiumoxide::cdp::browser_protocol::input::{
    DispatchMouseEventParams, DispatchMouseEventType, InsertTextParams, MouseButton,
};
use pinhole_core::FailureReason;
use pinhole_scenario::{Fill, Locator, Press};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    error::Fault,
    keys,
    navigate::await_document,
    tab::{AskError, Tab, erased::Json},
};

/// What the page's script says of a target: `ok`, or what was wrong.
#[derive(Debug, Deserialize)]
pub(crate) struct Attempt<T> {
    pub(crate) ok: Option<T>,
    problem: Option<String>,
    message: Option<String>,
}

impl<T> Default for Attempt<T> {
    fn default() -> Self {
        Self { ok: None, problem: None, message: None }
    }
}

impl<T> Attempt<T> {
    pub(crate) fn into_result(self, locator: &Locator) -> Result<T, Fault> {
        match (self.ok, self.problem.as_deref()) {
            (Some(ok), None) => Ok(ok),
            (_, problem) => {
                let reason = match problem {
                    Some("ambiguous") => FailureReason::TargetAmbiguous,
                    Some("not_actionable") => FailureReason::TargetNotActionable,
                    _ => FailureReason::TargetMissing,
                };
                let said = self.message.unwrap_or_else(|| "the page gave no answer".into());
                Err(Fault::new(reason, format!("{}: {said}", written(locator))))
            }
        }
    }

    fn is_hopeless(&self) -> bool {
        self.problem.as_deref() == Some("invalid")
    }
}

/// The locator as it is written in a scenario.
pub(crate) fn written(locator: &Locator) -> String {
    locator.json()
}

#[derive(Deserialize)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Deserialize)]
struct Prepared {
    done: bool,
}

/// Clicks the middle of the element.
pub(crate) async fn click(tab: &Tab, locator: &Locator, deadline: Instant) -> Result<(), Fault> {
    let point: Point = target(tab, "click", locator, &[locator], deadline).await?;
    let kinds = [
        (DispatchMouseEventType::MouseMoved, MouseButton::None, 0),
        (DispatchMouseEventType::MousePressed, MouseButton::Left, 1),
        (DispatchMouseEventType::MouseReleased, MouseButton::Left, 1),
    ];
    for (kind, button, count) in kinds {
        let mut event = DispatchMouseEventParams::new(kind, point.x, point.y);
        event.button = Some(button);
        event.click_count = Some(count);
        tab.call(event, remaining(deadline)).await?;
    }
    await_effect(tab, deadline).await
}

/// Replaces the content of a text control.
pub(crate) async fn fill(tab: &Tab, fill: &Fill, deadline: Instant) -> Result<(), Fault> {
    let prepared: Prepared = target(tab, "fill", &fill.into, &[&fill.into, &fill.value], deadline).await?;
    if prepared.done {
        return Ok(());
    }
    // The old content is selected, so that typing replaces it.
    if fill.value.as_str().is_empty() {
        send_keys(tab, "Delete", deadline).await?;
    } else {
        tab.call(InsertTextParams::new(fill.value.as_str()), remaining(deadline)).await?;
    }
    await_effect(tab, deadline).await
}

/// Presses a key with its modifiers.
pub(crate) async fn press(tab: &Tab, press: &Press, deadline: Instant) -> Result<(), Fault> {
    if let Some(inside) = &press.inside {
        let _: String = target(tab, "focus", inside, &[inside], deadline).await?;
    }
    for event in keys::events(&press.key) {
        tab.call(event, remaining(deadline)).await?;
    }
    await_effect(tab, deadline).await
}

async fn send_keys(tab: &Tab, chord: &str, deadline: Instant) -> Result<(), Fault> {
    let Ok(chord) = chord.parse() else { return Ok(()) };
    for event in keys::events(&chord) {
        tab.call(event, remaining(deadline)).await?;
    }
    Ok(())
}

/// Asks for a target until it is there and can be acted on, or the step's time is nearly over.
async fn target<T: DeserializeOwned>(
    tab: &Tab,
    function: &str,
    locator: &Locator,
    arguments: &[&dyn Json],
    deadline: Instant,
) -> Result<T, Fault> {
    // The answer must come before the step's own deadline, which knows nothing of targets.
    let left = remaining(deadline);
    let give_up = Instant::now() + left.saturating_sub(Duration::from_millis(500).max(left / 10));
    let mut pause = Duration::from_millis(20);
    loop {
        let problem = match tab.ask::<Attempt<T>>(function, arguments, remaining(deadline)).await {
            Ok(attempt) => {
                let hopeless = attempt.is_hopeless();
                match attempt.into_result(locator) {
                    Ok(found) => return Ok(found),
                    Err(fault) if hopeless => return Err(fault),
                    Err(fault) => fault,
                }
            }
            Err(AskError::Navigated) => {
                Fault::new(FailureReason::TargetMissing, format!("{}: the page was loading", written(locator)))
            }
            Err(error) => return Err(error.into()),
        };
        if Instant::now() + pause >= give_up {
            return Err(problem);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

/// Lets the page react, and waits for the document if the action led to another one.
async fn await_effect(tab: &Tab, deadline: Instant) -> Result<(), Fault> {
    match tab.ask::<serde_json::Value>("frame", &[], remaining(deadline)).await {
        Ok(_) | Err(AskError::Navigated) => {}
        Err(error) => return Err(error.into()),
    }
    if tab.watch.is_loading() { await_document(tab, None, deadline).await } else { Ok(()) }
}

pub(crate) fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
