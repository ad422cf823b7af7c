//! The baselines of a project: its catalog lines, and what the newest revision of one of them holds.

use std::fmt::Write as _;

use axum::{extract::Path, response::Response};
use pinhole_contract::{CatalogEntryView, CatalogLineList, CatalogLineView, CatalogRevisionView, Cursor};
use pinhole_core::{Code, Error, LineName, Result};
use serde_json::json;

use super::{
    document::Document,
    frame::{Place, framed},
    html::esc,
    parts::{badge, code},
    projects::project,
    visitor::Visitor,
};

/// Entries on a page.
const ENTRIES: u32 = 100;
/// The most catalog lines that are shown; further ones are reached by name.
const LINES: u32 = 200;

/// `GET /projects/{project}/baselines`
pub(super) async fn all(visitor: Visitor, Path(project): Path<String>) -> Response {
    visitor.answer(show(&visitor, &project).await)
}

async fn show(visitor: &Visitor, slug: &str) -> Result<Document> {
    let project = project(visitor, slug).await?;
    let line = match visitor.query("line") {
        Some(name) => name.parse().map_err(|_| Error::not_found())?,
        None => LineName::default(),
    };
    let lines = json!({ "project": project.slug, "limit": LINES });
    let lines: CatalogLineList = visitor.read("list_catalog_lines", lines).await?;
    let wanted = json!({
        "project": project.slug, "line": line, "revision": "latest", "limit": ENTRIES,
        "cursor": visitor.query("cursor"),
    });
    let mut html = format!("<h1>Baselines <span class=\"in\">of</span> {}</h1>\n", esc(&project.title));
    html.push_str(&navigation(&lines.lines, &line, visitor));
    match visitor.read::<CatalogRevisionView>("get_catalog_revision", wanted).await {
        Ok(revision) => {
            html.push_str(&table(&revision));
            if let Some(cursor) = revision.next_cursor.as_ref() {
                html.push_str(&more(visitor, &line, cursor));
            }
        }
        // The project was there a moment ago: it is the line that has no revision.
        Err(error) if error.code() == Code::NotFound && line == LineName::default() => {
            html.push_str("<p class=\"empty\">None yet: nothing has been approved and consumed.</p>\n");
        }
        Err(error) => return Err(error),
    }
    let title = format!("Baselines of {}", project.title);
    Ok(framed(visitor, &title, Some((&project.slug, Place::Baselines)), &html))
}

/// The project's lines, when it has more than one; each says what it was forked from.
fn navigation(lines: &[CatalogLineView], shown: &LineName, visitor: &Visitor) -> String {
    if lines.len() < 2 {
        return String::new();
    }
    let mut html = String::from("<ul class=\"lines\" aria-label=\"Lines\">\n");
    for CatalogLineView { line, revision, forked_from, .. } in lines {
        let origin = forked_from.as_ref().map_or_else(String::new, |from| {
            format!(" <span class=\"faint\">forked from {} revision {}</span>", esc(&from.line), from.revision)
        });
        let current = if line == shown { " aria-current=\"true\"" } else { "" };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            html,
            "<li><a href=\"{}\"{current}>{}</a> at revision {revision}{origin}</li>",
            esc(visitor.here_with("line", line.as_str())),
            esc(line),
        );
    }
    html.push_str("</ul>\n");
    html
}

/// The link to the next page of the same line.
fn more(visitor: &Visitor, line: &LineName, cursor: &Cursor) -> String {
    let next = visitor.here_with_all(&[("line", line.as_str()), ("cursor", cursor.as_str())]);
    format!("<p><a href=\"{}\" rel=\"next\">More baselines</a></p>\n", esc(next))
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
