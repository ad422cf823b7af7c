//! The baselines of a project: what the newest revision of a catalog line holds.

use std::fmt::Write as _;

use axum::{extract::Path, response::Response};
use pinhole_contract::{CatalogEntryView, CatalogRevisionView, Cursor};
use pinhole_core::{Code, LineName, Result};
use serde_json::json;

use super::{
    document::Document,
    frame::{Place, framed, next_page},
    html::esc,
    parts::{badge, code},
    projects::project,
    visitor::Visitor,
};

/// Lines of a page.
const LINES: u32 = 100;

/// `GET /projects/{project}/baselines`
pub(super) async fn all(visitor: Visitor, Path(project): Path<String>) -> Response {
    visitor.answer(show(&visitor, &project).await)
}

async fn show(visitor: &Visitor, slug: &str) -> Result<Document> {
    let project = project(visitor, slug).await?;
    let line = LineName::default();
    let wanted = json!({
        "project": project.slug, "line": line, "revision": "latest", "limit": LINES, "cursor": visitor.query("cursor"),
    });
    let mut html = format!("<h1>Baselines <span class=\"in\">of</span> {}</h1>\n", esc(&project.title));
    match visitor.read::<CatalogRevisionView>("get_catalog_revision", wanted).await {
        Ok(revision) => {
            html.push_str(&table(&revision));
            let cursor = revision.next_cursor.as_ref().map(Cursor::as_str);
            html.push_str(&next_page(visitor, cursor, "More baselines"));
        }
        // The project was there a moment ago: it is the line that has no revision.
        Err(error) if error.code() == Code::NotFound => {
            html.push_str("<p class=\"empty\">None yet: nothing has been approved and consumed.</p>\n");
        }
        Err(error) => return Err(error),
    }
    let title = format!("Baselines of {}", project.title);
    Ok(framed(visitor, &title, Some((&project.slug, Place::Baselines)), &html))
}

fn table(revision: &CatalogRevisionView) -> String {
    let mut html = format!(
        "<p>Line {} at revision {}, {}</p>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Scenario</th>\
         <th scope=\"col\">Environment</th><th scope=\"col\">Checkpoint</th><th scope=\"col\">State</th>\
         <th scope=\"col\">Since</th><th scope=\"col\">Approved in</th></tr></thead>\n<tbody>\n",
        code(&revision.line),
        revision.revision,
        code(revision.digest),
    );
    for CatalogEntryView { key, state, since_revision, approval_id, .. } in &revision.entries {
        // Writing to a string cannot fail.
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{} <span class=\"faint\">{}</span></td><td>{}</td><td>revision \
             {since_revision}</td><td><a href=\"/approvals/{approval}\">{approval}</a></td></tr>",
            esc(&key.scenario),
            esc(&key.environment),
            esc(&key.checkpoint),
            esc(&key.profile),
            badge(state.as_str()),
            approval = esc(approval_id),
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}
