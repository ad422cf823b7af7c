//! The parts of the run page, each as markup.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write},
};

use pinhole_contract::{ArtifactView, CellView, CheckpointView, ComparisonView, RunView};
use pinhole_core::{BaselineKind, BaselinePin, CellFailure, CheckpointVerdict, Name, PrincipalId, Timestamp};
use serde_json::Value;

use super::{forms::REVIEW, html::esc, people::person};

/// Regions that are listed; the operation's answer has the rest.
const REGIONS: usize = 12;

/// Title, state and verdict.
pub(super) fn heading(run: &RunView) -> String {
    let verdict = run.verdict.map(|verdict| badge(verdict.as_str())).unwrap_or_default();
    format!(
        "<h1>{} <span class=\"in\">in</span> {}</h1>\n<p class=\"badges\">{}{verdict}</p>\n",
        esc(&run.pins.scenario_slug),
        esc(&run.pins.environment_slug),
        badge(run.state.as_str()),
    )
}

/// What the run is, and what it is pinned to.
pub(super) fn facts(run: &RunView, names: &BTreeMap<PrincipalId, Name>) -> String {
    let pins = &run.pins;
    let finished = run.finished_at.map_or_else(|| "not yet".to_owned(), time);
    let rows = [
        ("Run", code(run.id)),
        ("Scenario", code(pins.scenario_digest)),
        ("Environment", format!("revision {}, {}", esc(pins.environment_revision), code(pins.environment_sha256))),
        ("Address", code(&pins.base_url)),
        ("Baseline", baseline(&pins.baseline)),
        ("Started", format!("{} by {} ({})", time(run.created_at), person(run.created_by, names), esc(&run.trigger))),
        ("Finished", finished),
    ];
    let rows = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    format!("<dl class=\"facts\">\n{}</dl>\n", rows.concat())
}

fn baseline(pin: &BaselinePin) -> String {
    match pin {
        BaselinePin::None { because } => format!("none ({})", esc(words(because.as_str()))),
        BaselinePin::Line { name, revision, digest, .. } => {
            format!("line {} revision {}, {}", code(name), esc(revision), code(digest))
        }
        BaselinePin::Receipts { receipts } => match receipts.as_slice() {
            [one] => format!("receipt {}, as a reference", code(one)),
            more => format!("{} receipts, as a reference", more.len()),
        },
    }
}

/// The matrix rows with their attempts and failures.
pub(super) fn cells(cells: &[CellView]) -> String {
    let mut html = String::from(
        "<h2>Cells</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Cell</th><th scope=\"col\">Window</th>\
         <th scope=\"col\">State</th><th scope=\"col\">Attempts</th><th scope=\"col\">What went wrong</th></tr></thead>\n<tbody>\n",
    );
    for cell in cells {
        let window = cell.profile.viewport;
        let failures = cell.failure.iter().map(failure);
        let assertions =
            cell.failed_assertions.iter().map(|found| format!("step {}: {}", found.step + 1, esc(&found.message)));
        let wrong: Vec<_> =
            failures.chain(assertions).map(|line| format!("<div class=\"wrong\">{line}</div>")).collect();
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{} × {} at {}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            esc(&cell.name),
            window.width,
            window.height,
            esc(cell.profile.scale),
            badge(cell.state.as_str()),
            cell.attempts.len(),
            if wrong.is_empty() { "–".to_owned() } else { wrong.concat() },
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

fn failure(failure: &CellFailure) -> String {
    let step = failure.step.map(|step| format!(" in step {}", step + 1)).unwrap_or_default();
    format!("<strong>{}</strong>{step}: {}", esc(words(failure.reason.as_str())), esc(&failure.message))
}

/// One checkpoint: verdict, what was captured beside the baseline as markup in `compared`, what was said of it, and its
/// box in the review form. Only pictures are reviewed.
pub(super) fn checkpoint(view: &CheckpointView, compared: &str, review: Option<&str>, reviewing: bool) -> String {
    let mut html = format!(
        "<section class=\"checkpoint\">\n<h3>{} <small>{}</small> {}</h3>\n",
        esc(&view.checkpoint),
        esc(&view.profile),
        badge(view.verdict.as_str()),
    );
    for reason in &view.not_evidence {
        let _ = writeln!(html, "<p class=\"wrong\">Proves nothing: {}</p>", esc(reason));
    }
    html.push_str(compared);
    html.push_str(review.unwrap_or_default());
    if reviewing && view.kind == BaselineKind::Visual {
        let _ = writeln!(
            html,
            "<label class=\"tick\"><input type=\"checkbox\" form=\"{REVIEW}\" name=\"receipts\" value=\"{}\"> \
             Review {} ({})</label>",
            esc(view.receipt_id),
            esc(&view.checkpoint),
            esc(&view.profile),
        );
    }
    let _ = writeln!(
        html,
        "<p class=\"faint\">Receipt {} · {}</p>\n</section>",
        code(view.receipt_id),
        code(view.capture_digest)
    );
    html
}

/// The three pictures of a checkpoint, with accounts and regions.
pub(super) fn pictures(view: &CheckpointView) -> String {
    let mut html = String::from("<div class=\"pictures\">\n");
    html.push_str(&picture("Baseline", view.baseline.as_ref(), "No baseline is pinned."));
    html.push_str(&picture("New picture", Some(&view.picture), ""));
    html.push_str(&picture("Difference", view.difference.as_ref(), no_difference(view)));
    html.push_str("</div>\n");
    if let Some(comparison) = &view.comparison {
        html.push_str(&accounts(comparison));
    }
    html
}

/// Why there is no difference picture.
fn no_difference(view: &CheckpointView) -> &'static str {
    match view.verdict {
        CheckpointVerdict::New => "Nothing to compare with.",
        CheckpointVerdict::Matched => "No difference that counts.",
        CheckpointVerdict::Changed => "There is no picture of the difference.",
        CheckpointVerdict::Incomparable => "Not compared: taken by another browser, or under other rules.",
        CheckpointVerdict::NotEvidence => "Not compared: the new picture proves nothing.",
    }
}

/// A picture with its name above it, or a word instead.
pub(super) fn picture(caption: &str, artifact: Option<&ArtifactView>, instead: &str) -> String {
    let Some(artifact) = artifact else {
        return format!("<figure><figcaption>{caption}</figcaption><p class=\"empty\">{instead}</p></figure>\n");
    };
    let path = esc(&artifact.content.path).to_string();
    format!(
        "<figure><figcaption>{caption}</figcaption><a href=\"{path}\"><img src=\"{path}\" alt=\"{}\" loading=\"lazy\"></a></figure>\n",
        esc(format_args!("{caption}: {}", artifact.file_name)),
    )
}

fn accounts(comparison: &ComparisonView) -> String {
    let area: u64 = comparison.account.values().sum();
    let accounts = comparison.account.iter().filter(|(_, pixels)| **pixels > 0);
    let accounts: Vec<_> = accounts
        .map(|(rule, &pixels)| format!("{} {} px ({})", esc(words(rule)), pixels, share(pixels, area)))
        .collect();
    let mut html = format!("<p>{} · {}</p>\n", esc(&comparison.metric), accounts.join(" · "));
    if !comparison.regions.is_empty() {
        html.push_str("<ul class=\"regions\">\n");
        for region in comparison.regions.iter().take(REGIONS) {
            let _ = writeln!(html, "<li>{}</li>", describe(region));
        }
        html.push_str("</ul>\n");
        let listed = comparison.regions.len().min(REGIONS);
        let more =
            comparison.regions.len() - listed + usize::try_from(comparison.regions_omitted).unwrap_or(usize::MAX);
        if more > 0 {
            let _ = writeln!(html, "<p class=\"faint\">and {more} more regions</p>");
        }
    }
    html
}

/// A changed region in words, or as it is when a metric reports it in another form.
fn describe(region: &Value) -> String {
    let number = |pointer: &str| region.pointer(pointer).and_then(Value::as_u64);
    let place = (number("/rect/x"), number("/rect/y"), number("/rect/width"), number("/rect/height"));
    let ((Some(x), Some(y), Some(width), Some(height)), Some(changed)) = (place, number("/changed_pixels")) else {
        return code(region);
    };
    let kind = region.get("kind").and_then(Value::as_str).unwrap_or("region");
    format!("{}: {width} × {height} px at {x}, {y}; {changed} px changed", esc(words(kind)))
}

/// A share in percent that is 0 or 100 only when it is exactly that.
fn share(part: u64, whole: u64) -> String {
    if part == 0 || part == whole {
        return format!("{} %", if part == 0 { 0 } else { 100 });
    }
    // Ten-thousandths are enough to show and fit: a picture has far fewer than 2^64 / 1_000_000 pixels.
    let millionths = (part.saturating_mul(1_000_000) / whole.max(1)).clamp(1, 999_999);
    format!("{}.{:04} %", millionths / 10_000, millionths % 10_000)
}

/// Links to the other artifacts.
pub(super) fn evidence(artifacts: &[ArtifactView]) -> String {
    if artifacts.is_empty() {
        return String::new();
    }
    let mut html = String::from("<h2>Evidence</h2>\n<ul>\n");
    for artifact in artifacts {
        let _ = writeln!(
            html,
            "<li><a href=\"{}\">{}</a> <span class=\"faint\">{} bytes</span></li>",
            esc(&artifact.content.path),
            esc(&artifact.file_name),
            artifact.size_bytes,
        );
    }
    html.push_str("</ul>\n");
    html
}

/// A state or verdict; the style sheet knows its colour by its class.
pub(super) fn badge(word: &str) -> String {
    format!("<span class=\"badge {0}\">{1}</span>", esc(word), esc(words(word)))
}

/// An instant, for people; to the second.
pub(super) fn time(instant: Timestamp) -> String {
    let exact = instant.to_string();
    let (seconds, _) = exact.split_once('.').unwrap_or((&exact, ""));
    format!("<time datetime=\"{}\">{} UTC</time>", esc(&exact), esc(seconds.replace('T', " ")))
}

/// An id or a digest.
pub(super) fn code(value: impl Display) -> String {
    format!("<code>{}</code>", esc(value))
}

/// A stable word as people write it.
pub(super) fn words(stable: &str) -> String {
    stable.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use pinhole_core::Profile;
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_round_to_nothing_only_when_they_are_nothing() {
        assert_eq!(share(0, 10), "0 %");
        assert_eq!(share(10, 10), "100 %");
        assert_eq!(share(1, 3), "33.3333 %");
        assert_eq!(share(1, 100_000_000), "0.0001 %");
        assert_eq!(share(99_999_999, 100_000_000), "99.9999 %");
    }

    #[test]
    fn regions_are_told_in_words_or_as_they_are() {
        let region =
            json!({ "kind": "content", "changed_pixels": 9, "rect": { "x": 1, "y": 2, "width": 3, "height": 4 } });
        assert_eq!(describe(&region), "content: 3 × 4 px at 1, 2; 9 px changed");
        assert_eq!(describe(&json!({ "a": "<b>" })), "<code>{&quot;a&quot;:&quot;&lt;b&gt;&quot;}</code>");
    }

    #[test]
    fn what_a_page_said_stays_text() {
        let cell: CellView = serde_json::from_value(json!({
            "id": "cel_00000000000000000000000000000007", "name": "default", "profile": Profile::default(),
            "state": "failed", "attempts": [],
            "failure": { "reason": "step_deadline", "step": 2, "message": "<script>alert(1)</script>\u{202e}" },
            "failed_assertions": [{ "step": 0, "message": "found \"<b>\"" }],
        }))
        .unwrap();
        let html = cells(&[cell]);
        assert!(
            html.contains("<strong>step deadline</strong> in step 3: &lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}")
        );
        assert!(html.contains("step 1: found &quot;&lt;b&gt;&quot;"));
        assert!(!html.contains("<script"));
    }

    #[test]
    fn badges_are_escaped() {
        assert_eq!(badge("needs_baseline"), "<span class=\"badge needs_baseline\">needs baseline</span>");
        assert!(!badge("<b>").contains("<b>"));
    }
}
