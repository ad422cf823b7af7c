//! The page of one run: what it is pinned to, how it went, and its pictures side by side.

use std::fmt::Write;

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};
use pinhole_app::operations;
use pinhole_contract::{Limit, RunResultView, RunView};
use pinhole_core::{Actor, Code, Error, RequestId, Result, RunId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::{
    document::{Document, refusal},
    html::esc,
    parts, session,
};
use crate::http::{Context, form_token, invoke, who};

/// Checkpoints on a page; each brings up to three pictures.
const CHECKPOINTS: u32 = 20;
const _: () = assert!(CHECKPOINTS <= Limit::MAX);

/// `GET /runs/{run_id}`
pub(super) async fn page(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    Path(run): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    // A path that could not name a run is a wrong address, not a mistake in a form.
    let Ok(run) = run.parse::<RunId>() else { return refusal(&Error::not_found(), request).into_response() };
    let shown = match who(&context, &headers, request).await {
        Ok(None) => return session::form(&context, &uri.to_string(), None).into_response(),
        Ok(Some(actor)) => show(&context, &actor, run, &uri, form_token(&headers).as_deref()).await,
        Err(error) => Err(error),
    };
    match shown {
        Ok(document) => document.into_response(),
        Err(error) if error.code() == Code::Unauthenticated => {
            let ended = "Your session has ended, or the token is not valid any more.";
            session::form(&context, &uri.to_string(), Some(ended)).into_response()
        }
        Err(error) => refusal(&error, request).into_response(),
    }
}

async fn show(context: &Context, actor: &Actor, run: RunId, uri: &Uri, token: Option<&str>) -> Result<Document> {
    let query = uri.query().unwrap_or_default();
    let cursor = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "cursor").map(|(_, value)| value);
    let view: RunView = read(context, actor, "get_scenario_run", json!({ "run_id": run })).await?;
    let wanted = json!({ "run_id": run, "limit": CHECKPOINTS, "cursor": cursor });
    let result: RunResultView = read(context, actor, "get_scenario_run_result", wanted).await?;
    let title = format!("{} in {}", view.pins.scenario_slug, view.pins.environment_slug);
    Ok(Document::new(title, body(&view, &result, token)).refreshing(!view.state.is_terminal()))
}

/// Calls a reading operation and takes its view.
async fn read<T: DeserializeOwned>(context: &Context, actor: &Actor, operation: &str, input: Value) -> Result<T> {
    let entry = operations().get(operation).ok_or_else(|| Error::internal(format!("no operation {operation}")))?;
    let input = if let Value::Object(object) = input { object } else { Map::new() };
    let reply = invoke(entry, &context.app, actor, input).await?;
    serde_json::from_value(reply.body).map_err(Error::internal)
}

fn body(run: &RunView, result: &RunResultView, token: Option<&str>) -> String {
    let mut html = session::banner(token);
    html.push_str("<main>\n");
    html.push_str(&parts::heading(run));
    html.push_str(&parts::facts(run));
    html.push_str(&parts::cells(&run.cells));
    html.push_str("<h2>Checkpoints</h2>\n");
    if result.checkpoints.is_empty() {
        let why = if run.state.is_terminal() { "This run has none." } else { "None yet: the run goes on." };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(html, "<p class=\"faint\">{why}</p>");
    }
    for checkpoint in &result.checkpoints {
        html.push_str(&parts::checkpoint(checkpoint));
    }
    if let Some(cursor) = &result.next_cursor {
        let query: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("cursor", cursor.as_str()).finish();
        let _ = writeln!(html, "<p><a href=\"/runs/{}?{}\">More checkpoints</a></p>", esc(run.id), esc(query));
    }
    html.push_str(&parts::evidence(&result.evidence));
    html.push_str("</main>");
    html
}
