//! The baselines of a project: its catalog lines, what a revision of one of them holds, and its other revisions.

use std::fmt::Write as _;

use axum::{extract::Path, response::Response};
use pinhole_contract::{
    CatalogEntryView, CatalogLineList, CatalogLineView, CatalogRevisionList, CatalogRevisionView, Cursor,
    ListedRevisionView, ProjectView,
};
use pinhole_core::{Code, Error, LineName, Result, Slug};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    document::Document,
    frame::{Place, framed, next_page, next_page_by},
    html::esc,
    parts::{badge, code, time, words},
    projects::project,
    visitor::Visitor,
};

/// Entries on a page.
const ENTRIES: u32 = 100;
/// The most catalog lines that are shown; further ones are reached by name.
const LINES: u32 = 200;
/// Revisions on a page.
const REVISIONS: u32 = 20;

/// `GET /projects/{project}/baselines`
pub(super) async fn all(visitor: Visitor, Path(project): Path<String>) -> Response {
    visitor.answer(show(&visitor, &project).await)
}

/// Where a revision of a line is shown; the newest one without a number.
pub(super) fn revision_path(project: &Slug, line: &LineName, revision: Option<u32>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("line", line.as_str());
    if let Some(revision) = revision {
        query.append_pair("revision", &revision.to_string());
    }
    format!("/projects/{project}/baselines?{}", query.finish())
}

async fn show(visitor: &Visitor, slug: &str) -> Result<Document> {
    let project = project(visitor, slug).await?;
    let line = visitor.query("line").map_or_else(|| Ok(LineName::default()), |name| name.parse());
    let line = line.map_err(|_| Error::not_found())?;
    let revision = visitor.query("revision").map(|number| number.parse::<u32>()).transpose();
    let revision = revision.map_err(|_| Error::not_found())?;
    let lines = json!({ "project": project.slug, "limit": LINES });
    let lines: CatalogLineList = visitor.read("list_catalog_lines", lines).await?;
    let wanted = json!({
        "project": project.slug, "line": line, "revision": revision.map_or(json!("latest"), Value::from),
        "limit": ENTRIES, "cursor": visitor.query("cursor"),
    });
    let mut html = format!("<h1>Baselines <span class=\"in\">of</span> {}</h1>\n", esc(&project.title));
    html.push_str(&navigation(&lines.lines, &line, &project));
    match visitor.read::<CatalogRevisionView>("get_catalog_revision", wanted).await {
        Ok(shown) => {
            html.push_str(&heading(&shown));
            html.push_str(&entries(&shown));
            let cursor = shown.next_cursor.as_ref().map(Cursor::as_str);
            html.push_str(&next_page(visitor, cursor, "More baselines"));
            html.push_str(&revisions(visitor, &project, &line, shown.revision).await?);
        }
        // The project was there a moment ago: it is the line that has no revision.
        Err(error) if error.code() == Code::NotFound && line == LineName::default() && revision.is_none() => {
            html.push_str("<p class=\"empty\">None yet: nothing has been approved and consumed.</p>\n");
        }
        Err(error) => return Err(error),
    }
    let title = format!("Baselines of {}", project.title);
    framed(visitor, &title, Some((&project.slug, Place::Baselines)), &html).await
}

/// The project's lines, when it has more than one; each says what it was forked from.
fn navigation(lines: &[CatalogLineView], shown: &LineName, project: &ProjectView) -> String {
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
            esc(revision_path(&project.slug, line, None)),
            esc(line),
        );
    }
    html.push_str("</ul>\n");
    html
}

fn heading(revision: &CatalogRevisionView) -> String {
    format!(
        "<h2>Revision {} <span class=\"in\">of line</span> {}</h2>\n<p>{}, {} · {}</p>\n",
        revision.revision,
        esc(&revision.line),
        cause(&revision.cause),
        time(revision.created_at),
        code(revision.digest),
    )
}

fn entries(revision: &CatalogRevisionView) -> String {
    if revision.entries.is_empty() {
        return "<p class=\"empty\">This revision has no baselines.</p>\n".to_owned();
    }
    let mut html = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Scenario</th><th scope=\"col\">Environment</th>\
         <th scope=\"col\">Checkpoint</th><th scope=\"col\">Kind</th><th scope=\"col\">State now</th>\
         <th scope=\"col\">Since</th><th scope=\"col\">Approved in</th></tr></thead>\n<tbody>\n",
    );
    for CatalogEntryView { key, state, since_revision, approval_id, .. } in &revision.entries {
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{} <span class=\"faint\">{}</span></td><td>{}</td><td>{}</td><td>revision \
             {since_revision}</td><td><a href=\"/approvals/{approval}\">{approval}</a></td></tr>",
            esc(&key.scenario),
            esc(&key.environment),
            esc(&key.checkpoint),
            esc(&key.profile),
            esc(key.kind),
            badge(state.as_str()),
            approval = esc(approval_id),
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

/// The line's revisions with what made them.
async fn revisions(visitor: &Visitor, project: &ProjectView, line: &LineName, shown: u32) -> Result<String> {
    let wanted =
        json!({ "project": project.slug, "line": line, "limit": REVISIONS, "cursor": visitor.query("revisions") });
    let list: CatalogRevisionList = visitor.read("list_catalog_revisions", wanted).await?;
    let mut html = String::from(
        "<h2>Revisions</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Revision</th>\
         <th scope=\"col\">Made</th><th scope=\"col\">Why</th></tr></thead>\n<tbody>\n",
    );
    for ListedRevisionView { revision, cause: why, created_at, .. } in &list.revisions {
        let current = if *revision == shown { " aria-current=\"page\"" } else { "" };
        let _ = writeln!(
            html,
            "<tr><td><a href=\"{}\"{current}>{revision}</a></td><td>{}</td><td>{}</td></tr>",
            esc(revision_path(&project.slug, line, Some(*revision))),
            time(*created_at),
            cause(why),
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    let cursor = list.next_cursor.as_ref().map(Cursor::as_str);
    html.push_str(&next_page_by(visitor, "revisions", cursor, "Older revisions"));
    Ok(html)
}

/// What made a revision, in words.
fn cause(cause: &Value) -> String {
    let text = |name: &str| cause.get(name).and_then(Value::as_str);
    let kind = text("kind").unwrap_or("made");
    let approval = text("approval").map(|id| format!(" by <a href=\"/approvals/{0}\">{0}</a>", esc(id)));
    let from = text("line").map(|line| format!(" from line {}", esc(line)));
    let entry = text("entry").map(|id| format!(" {}", code(id)));
    let reason = text("reason").map(|reason| format!(": {}", esc(reason)));
    let parts = [entry, from, approval, reason].into_iter().flatten().collect::<String>();
    format!("{}{parts}", esc(words(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_says_what_made_it() {
        assert_eq!(
            cause(&json!({ "kind": "consumed", "approval": "apr_1" })),
            "consumed by <a href=\"/approvals/apr_1\">apr_1</a>"
        );
        let retired = json!({ "kind": "retired", "entry": "ben_1", "principal": "prn_1", "reason": "<old>" });
        assert_eq!(cause(&retired), "retired <code>ben_1</code>: &lt;old&gt;");
        assert_eq!(cause(&json!({ "kind": "retired" })), "retired", "to who does not see the entry's environment");
        let forked = json!({ "kind": "forked", "line": "main", "revision": 3, "digest": "sha256:0" });
        assert_eq!(cause(&forked), "forked from line main");
    }

    #[test]
    fn lines_keep_their_slashes_in_addresses() {
        let path = revision_path(&"shop".parse().unwrap(), &"release/12".parse().unwrap(), Some(3));
        assert_eq!(path, "/projects/shop/baselines?line=release%2F12&revision=3");
    }
}
