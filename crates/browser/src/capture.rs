//! One capture: settle, freeze, state, picture, state again, until a picture is proven still or the budget is spent.
//!
//! A picture whose file is the pinned baseline's needs two equal states; any other also needs a second picture with
//! the same bytes (build and encoder are pinned, so equal pixels are equal bytes). A picture that fails is kept and
//! marked, never hidden.

use std::time::{Duration, Instant};

use pinhole_core::{FailureReason, NotEvidence, RenderFacts, Sha256Digest, Slug};
use pinhole_scenario::{Area, Capture, Condition, Locator};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    act::{Attempt, remaining, written},
    cell::CellPlan,
    error::{Fault, clip},
    hosts::without_query,
    picture::{self, Frame},
    settle::{Care, Settled, settle},
    tab::{AskError, Tab},
};

/// How long a page may take to settle and to hold still, beside the step's own deadline.
const BUDGET: Duration = Duration::from_secs(10);

/// How long a picture of a document that was left may still come.
const LAST_PICTURE: Duration = Duration::from_millis(500);

/// A picture with what the worker knows about it.
#[derive(Clone, Debug)]
pub struct CapturedCheckpoint {
    /// The capture's name in the scenario.
    pub name: Slug,
    /// The picture, a PNG file.
    pub png: Vec<u8>,
    /// Size that the layout asks for, in device pixels.
    pub layout: [u32; 2],
    /// Rectangles painted over, in device pixels of the picture: x, y, width, height.
    pub masked: Vec<[u32; 4]>,
    /// Rectangles that are not compared, in device pixels of the picture.
    pub ignored: Vec<[u32; 4]>,
    /// Where the document was, without query and fragment.
    pub url: String,
    /// Why it is not evidence; empty when nothing speaks against it.
    pub not_evidence: Vec<NotEvidence>,
    /// The page's state before and after the picture, and what settling came to.
    pub settled: Value,
    /// Everything that the picture's look depends on beside the page.
    pub render: RenderFacts,
}

/// What the page's script did to freeze the page.
#[derive(Debug, Deserialize)]
struct Frozen {
    unmatched: Vec<(String, usize)>,
    masked: Vec<[u32; 4]>,
    ignored: Vec<[u32; 4]>,
    element: Option<[u32; 4]>,
    scroll: [f64; 2],
    state: Value,
}

/// A look at the page: how it was framed, the states around the last picture, and what moved, if anything.
struct Look {
    frame: Frame,
    frozen: Frozen,
    png: Vec<u8>,
    after: Value,
    moved: Option<String>,
}

/// Why there is no look.
enum Lost {
    /// The document went away: there is another one to look at.
    Navigated,
    Fault(Fault),
}

impl From<Fault> for Lost {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<AskError> for Lost {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Navigated => Self::Navigated,
            other => Self::Fault(other.into()),
        }
    }
}

impl From<Lost> for Fault {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Navigated => AskError::Navigated.into(),
            Lost::Fault(fault) => fault,
        }
    }
}

/// Takes the capture's picture.
pub(crate) async fn capture(
    tab: &Tab,
    plan: &CellPlan<'_>,
    capture: &Capture,
    render: RenderFacts,
    deadline: Instant,
) -> Result<CapturedCheckpoint, Fault> {
    let started = Instant::now();
    // The rest of the step is for pictures under way when the budget ends.
    let until = started + BUDGET.min(remaining(deadline).mul_f64(0.6));
    let (settled, look, pictures) = still_look(tab, plan, capture, until, deadline).await?;
    tab.tell("thaw");
    if !settled.left.is_empty() {
        tab.watch.note(&format!("not settled when pictured: {}", settled.left.join("; ")));
    }
    let settled_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let not_evidence = doubts(tab, capture, &settled, &look);
    let origin = look.frame.clip.map_or(look.frozen.scroll, |[x, y, ..]| [f64::from(x), f64::from(y)]);
    let rects = |css: &[[u32; 4]]| {
        css.iter().filter_map(|rect| place(*rect, origin, plan.profile.scale, look.frame.size)).collect()
    };
    Ok(CapturedCheckpoint {
        name: capture.name.clone(),
        layout: look.frame.size,
        masked: rects(&look.frozen.masked),
        ignored: rects(&look.frozen.ignored),
        url: without_query(&tab.watch.url()),
        not_evidence,
        settled: json!({
            "before": look.frozen.state,
            "after": look.after,
            "left": settled.left,
            "pictures": pictures,
            "duration_ms": settled_ms,
        }),
        render,
        png: look.png,
    })
}

/// Looks until a picture is proven still; gives the last one up when the budget is spent.
async fn still_look(
    tab: &Tab,
    plan: &CellPlan<'_>,
    capture: &Capture,
    until: Instant,
    deadline: Instant,
) -> Result<(Settled, Look, u32), Fault> {
    let ready: &[Condition] = &plan.scenario.ready;
    let mut pictures = 0;
    if let Some(known) = plan.known_pictures.get(&capture.name) {
        let settled = settle(tab, ready, Care::Quick, until).await?;
        if settled.is_complete() {
            let look = look(tab, plan, capture, deadline).await;
            pictures += 1;
            match look {
                Ok(look) if look.moved.is_none() && Sha256Digest::of(&look.png) == *known => {
                    return Ok((settled, look, pictures));
                }
                Ok(_) | Err(Lost::Navigated) => {}
                Err(lost) => return Err(lost.into()),
            }
        }
    }
    let mut settled = settle(tab, ready, Care::Full, until).await?;
    let mut pause = Duration::from_millis(50);
    loop {
        let mut look = match look(tab, plan, capture, deadline).await {
            Ok(look) => look,
            // The page went to another document meanwhile, which is looked at instead.
            Err(Lost::Navigated) if Instant::now() < until => {
                settled = settle(tab, ready, Care::Full, until).await?;
                continue;
            }
            Err(lost) => return Err(lost.into()),
        };
        pictures += 1;
        if look.moved.is_none() {
            look.moved = match prove(tab, &mut look, deadline).await {
                Ok(moved) => moved,
                Err(Lost::Navigated) if Instant::now() < until => {
                    settled = settle(tab, ready, Care::Full, until).await?;
                    continue;
                }
                Err(Lost::Navigated) => Some("the page went to another document".into()),
                Err(Lost::Fault(fault)) => return Err(fault),
            };
            pictures += 1;
        }
        if look.moved.is_none() || Instant::now() + pause >= until {
            return Ok((settled, look, pictures));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

/// Takes the look's picture a second time, and the state after it; gives what moved, if anything.
async fn prove(tab: &Tab, look: &mut Look, deadline: Instant) -> Result<Option<String>, Lost> {
    let second = take(tab, &look.frame, deadline).await?;
    look.after = tab.ask("state", &[], remaining(deadline)).await?;
    let moved = difference(&look.frozen.state, &look.after).or_else(|| under_way(&look.after));
    let repainted = || "the picture, with an equal document: a canvas, a video or a script".to_owned();
    Ok(moved.or_else(|| (second != look.png).then(repainted)))
}

/// Takes a picture of the shown document. Chromium may never answer when the page goes to another one meanwhile.
async fn take(tab: &Tab, frame: &Frame, deadline: Instant) -> Result<Vec<u8>, Lost> {
    let left = async {
        tab.watch.left_document().await;
        tokio::time::sleep(LAST_PICTURE).await;
    };
    tokio::select! {
        png = picture::take(tab, frame, remaining(deadline)) => Ok(png?),
        () = left => Err(Lost::Navigated),
    }
}

/// Freezes the page and takes one picture between two states.
async fn look(tab: &Tab, plan: &CellPlan<'_>, capture: &Capture, deadline: Instant) -> Result<Look, Lost> {
    let element = match &capture.area {
        Area::Element(locator) => Some(locator),
        Area::Page | Area::Viewport => None,
    };
    let rules = json!({
        "mask": capture.mask, "hide": capture.hide, "ignore": capture.ignore,
        "element": element, "top": capture.area != Area::Viewport,
    });
    let attempt: Attempt<Frozen> = tab.ask("freeze", &[&rules], remaining(deadline)).await?;
    let frozen = match element {
        Some(locator) => attempt.into_result(locator)?,
        None => {
            attempt.ok.ok_or_else(|| Fault::new(FailureReason::NavigationFailed, "the page could not be frozen"))?
        }
    };
    let frame = framing(plan, capture, &frozen)?;
    let waiting = tab.watch.network().part.map(|url| format!("{url} was still loading"));
    let png = take(tab, &frame, deadline).await?;
    let after: Value = tab.ask("state", &[], remaining(deadline)).await?;
    let moved = difference(&frozen.state, &after).or(waiting).or_else(|| under_way(&after));
    Ok(Look { frame, frozen, png, after, moved })
}

fn framing(plan: &CellPlan<'_>, capture: &Capture, frozen: &Frozen) -> Result<Frame, Fault> {
    let scale = plan.profile.scale;
    let pair = |name: &str| {
        let number = |at: usize| frozen.state.pointer(&format!("/{name}/{at}")).and_then(Value::as_u64);
        Some([u32::try_from(number(0)?).ok()?, u32::try_from(number(1)?).ok()?])
    };
    let viewport = plan.profile.viewport;
    let window = || Frame::window(viewport.width, viewport.height, scale);
    match (&capture.area, frozen.element) {
        (Area::Element(_), Some(rect)) => Frame::clip(rect, scale),
        (Area::Page, _) => match pair("size") {
            // A page that fits the window needs no capture beyond it, which costs the page a resize event.
            Some([width, height]) if [width, height] != [viewport.width, viewport.height] => {
                Frame::clip([0, 0, width, height], scale)
            }
            _ => window(),
        },
        _ => window(),
    }
}

/// Names what differs between two states of a page.
fn difference(before: &Value, after: &Value) -> Option<String> {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else {
        return Some("the page went to another document".into());
    };
    let differs = |(name, value): (&String, &Value)| {
        let now = after.get(name).unwrap_or(&Value::Null);
        (now != value).then(|| format!("{name}: {value} then {now}"))
    };
    let changes: Vec<String> = before.iter().filter_map(differs).collect();
    (!changes.is_empty()).then(|| clip(&changes.join("; "), 500))
}

/// What a page that stands still is nevertheless not done with.
fn under_way(state: &Value) -> Option<String> {
    let ready = state.get("ready").and_then(Value::as_str).unwrap_or_default();
    let count = |name: &str| state.get(name).and_then(Value::as_u64).unwrap_or_default();
    match (ready, count("images_incomplete"), count("busy")) {
        ("complete", 0, 0) => None,
        ("complete", 0, busy) => Some(format!("{busy} elements say that they are busy")),
        ("complete", images, _) => Some(format!("{images} images were still loading")),
        _ => Some(format!("the document was still {ready}")),
    }
}

/// Everything that speaks against the picture as evidence, except what needs the scenario's course.
fn doubts(tab: &Tab, capture: &Capture, settled: &Settled, look: &Look) -> Vec<NotEvidence> {
    let mut doubts = Vec::new();
    doubts.extend(settled.unready.map(|index| NotEvidence::ReadyNeverHeld { index }));
    let fonts = look.after.get("fonts").and_then(Value::as_str);
    if fonts != Some("loaded") || tab.watch.failed_fonts() > 0 {
        doubts.push(NotEvidence::FontsNotReady);
    }
    doubts.extend(tab.watch.missing_part().map(|what| NotEvidence::PartMissing { what: clip(&what, 500) }));
    for (kind, index) in &look.frozen.unmatched {
        let rules: &[Locator] = match kind.as_str() {
            "mask" => &capture.mask,
            "hide" => &capture.hide,
            _ => &capture.ignore,
        };
        if let Some(locator) = rules.get(*index) {
            doubts.push(NotEvidence::UnmatchedMask { locator: clip(&format!("{kind}: {}", written(locator)), 500) });
        }
    }
    doubts.extend(look.moved.clone().map(|what| NotEvidence::StillMoving { what }));
    let actual = picture::png_size(&look.png).unwrap_or_default();
    if actual != look.frame.size {
        doubts.push(NotEvidence::SizeDisagrees { expected: look.frame.size, actual });
    }
    doubts
}

/// A rectangle of the document in CSS pixels, as device pixels of a picture that begins at `origin`; none outside it.
fn place(rect: [u32; 4], origin: [f64; 2], scale: f64, size: [u32; 2]) -> Option<[u32; 4]> {
    let [x, y, width, height] = rect.map(f64::from);
    let [left, top] = origin;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the picture first")]
    let pixel = |css: f64, max: u32| (css * scale).clamp(0.0, f64::from(max)) as u32;
    let [across, down] = size;
    let (x0, x1) = (pixel(x - left, across), pixel((x + width - left) + 0.999 / scale, across));
    let (y0, y1) = (pixel(y - top, down), pixel((y + height - top) + 0.999 / scale, down));
    (x1 > x0 && y1 > y0).then(|| [x0, y0, x1 - x0, y1 - y0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_are_placed_in_the_picture() {
        assert_eq!(place([10, 20, 30, 40], [0.0, 0.0], 2.0, [200, 200]), Some([20, 40, 60, 80]));
        assert_eq!(place([10, 20, 30, 40], [10.0, 0.0], 1.0, [200, 50]), Some([0, 20, 30, 30]));
        assert_eq!(place([10, 20, 30, 40], [0.0, 0.0], 1.5, [200, 200]), Some([15, 30, 45, 60]));
        assert_eq!(place([300, 20, 30, 40], [0.0, 0.0], 1.0, [200, 200]), None);
    }

    #[test]
    fn what_is_under_way_is_named() {
        let state = |ready: &str, images: u32, busy: u32| {
            under_way(&json!({ "ready": ready, "images_incomplete": images, "busy": busy }))
        };
        assert_eq!(state("complete", 0, 0), None);
        assert_eq!(state("complete", 2, 0).unwrap(), "2 images were still loading");
        assert_eq!(state("complete", 0, 1).unwrap(), "1 elements say that they are busy");
        assert_eq!(state("interactive", 2, 1).unwrap(), "the document was still interactive");
    }

    #[test]
    fn what_moved_is_named() {
        let state = |y: u32| json!({ "ready": "complete", "scroll": [0, y] });
        assert_eq!(difference(&state(0), &state(0)), None);
        assert_eq!(difference(&state(0), &state(7)).unwrap(), "scroll: [0,0] then [0,7]");
    }
}
