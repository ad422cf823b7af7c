//! The page of one run: what it is pinned to, how it went, its pictures side by side, and what people say of them.

use std::fmt::Write;

use axum::{extract::Path, response::Response};
use bytes::Bytes;
use pinhole_app::RunEvidence;
use pinhole_contract::{CheckpointView, Cursor, Limit, RunResultView, RunView};
use pinhole_core::{BaselineKind, Error, Result, RunId};
use serde_json::json;

use super::{
    document::Document,
    forms,
    frame::{Place, framed, next_page},
    parts,
    people::said,
    values,
    visitor::Visitor,
};
use crate::http::Form;

/// Checkpoints on a page; each brings up to three pictures.
const CHECKPOINTS: u32 = 20;
const _: () = assert!(CHECKPOINTS <= Limit::MAX);

/// `GET /runs/{run_id}`
pub(super) async fn page(visitor: Visitor, Path(run): Path<String>) -> Response {
    visitor.answer(show(&visitor, &run).await)
}

/// `POST /runs/{run_id}/review`
pub(super) async fn review(visitor: Visitor, Path(run): Path<String>, body: Bytes) -> Response {
    let back = format!("/runs/{run}");
    visitor.go_back(disposition(&visitor, &run, Form::of_body(&body)).await, &back)
}

/// A path that could not name a run is a wrong address, not a mistake in a form.
fn run_id(text: &str) -> Result<RunId> {
    text.parse().map_err(|_| Error::not_found())
}

async fn disposition(visitor: &Visitor, run: &str, form: Form<'_>) -> Result<()> {
    visitor.require_own_form(form)?;
    run_id(run)?;
    let receipts = form.all("receipts");
    if receipts.is_empty() {
        return Err(Error::invalid("receipts", "tick the captures that you mean"));
    }
    let input = json!({
        "receipts": receipts, "disposition": form.required("disposition")?,
        "reason": forms::lines(&form.required("reason")?), "idempotency_key": form.required("idempotency_key")?,
    });
    visitor.call("review_visual_baseline", input).await.map(|_| ())
}

async fn show(visitor: &Visitor, run: &str) -> Result<Document> {
    let run = run_id(run)?;
    let view: RunView = visitor.read("get_scenario_run", json!({ "run_id": run })).await?;
    let wanted = json!({ "run_id": run, "limit": CHECKPOINTS, "cursor": visitor.query("cursor") });
    let result: RunResultView = visitor.read("get_scenario_run_result", wanted).await?;
    let receipts: Vec<_> = result.checkpoints.iter().map(|checkpoint| checkpoint.receipt_id).collect();
    let evidence = visitor.app().run_evidence(&visitor.actor, run, &receipts).await?;
    let title = format!("{} in {}", view.pins.scenario_slug, view.pins.environment_slug);
    let body = body(visitor, &view, &result, &evidence).await?;
    let document = framed(visitor, &title, Some((&evidence.project, Place::Inner)), &body).await?;
    Ok(document.refreshing(!view.state.is_terminal()))
}

async fn body(visitor: &Visitor, run: &RunView, result: &RunResultView, evidence: &RunEvidence) -> Result<String> {
    let token = visitor.token();
    let pictures = result.checkpoints.iter().any(|checkpoint| checkpoint.kind == BaselineKind::Visual);
    // Words on captures of a run that goes on would be lost when the page is loaded again.
    let reviewing = evidence.may_review && token.is_some() && run.state.is_terminal() && pictures;
    let mut html = parts::heading(run);
    html.push_str(&parts::facts(run, &evidence.names));
    html.push_str(&parts::cells(&run.cells));
    html.push_str("<h2>Checkpoints</h2>\n");
    if result.checkpoints.is_empty() {
        let why = if run.state.is_terminal() { "This run has none." } else { "None yet: the run goes on." };
        // Writing to a string cannot fail.
        let _ = writeln!(html, "<p class=\"faint\">{why}</p>");
    }
    for checkpoint in &result.checkpoints {
        let review = evidence.reviews.get(&checkpoint.receipt_id).map(|review| said(review, &evidence.names));
        html.push_str(&parts::checkpoint(
            checkpoint,
            &compared(visitor, checkpoint).await?,
            review.as_deref(),
            reviewing,
        ));
    }
    html.push_str(&next_page(visitor, result.next_cursor.as_ref().map(Cursor::as_str), "More checkpoints"));
    if reviewing {
        html.push_str(&forms::review(run.id, token.as_deref()));
    }
    html.push_str(&parts::evidence(&result.evidence));
    Ok(html)
}

/// What was captured beside the baseline.
async fn compared(visitor: &Visitor, checkpoint: &CheckpointView) -> Result<String> {
    if checkpoint.kind == BaselineKind::Visual {
        return Ok(parts::pictures(checkpoint));
    }
    let before = (checkpoint.baseline.as_ref(), "No baseline is pinned.");
    values::side_by_side(visitor, before, Some(&checkpoint.picture)).await
}
