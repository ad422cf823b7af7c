//! The lists: projects, and the runs of one.

use std::fmt::Write as _;

use axum::{extract::Path, response::Response};
use pinhole_contract::{Cursor, ProjectList, ProjectView, RunList, RunView};
use pinhole_core::{Error, Result, Slug};
use serde_json::json;

use super::{
    document::Document,
    frame::{Place, framed, next_page},
    html::esc,
    parts::{badge, time},
    visitor::Visitor,
};

/// Lines of a page.
const LINES: u32 = 50;

/// `GET /projects`
pub(super) async fn all(visitor: Visitor) -> Response {
    visitor.answer(projects(&visitor).await)
}

/// `GET /projects/{project}`
pub(super) async fn one(visitor: Visitor, Path(project): Path<String>) -> Response {
    visitor.answer(runs(&visitor, &project).await)
}

/// A project from a page's path. A path that could not name one is a wrong address, not a mistake in a form.
pub(super) async fn project(visitor: &Visitor, slug: &str) -> Result<ProjectView> {
    let slug: Slug = slug.parse().map_err(|_| Error::not_found())?;
    visitor.read("get_project", json!({ "project": slug })).await
}

async fn projects(visitor: &Visitor) -> Result<Document> {
    let wanted = json!({ "limit": LINES, "cursor": visitor.query("cursor") });
    let list: ProjectList = visitor.read("list_projects", wanted).await?;
    let mut html = String::from("<h1>Projects</h1>\n");
    if list.projects.is_empty() {
        html.push_str("<p class=\"empty\">There is no project that you may see. Somebody who owns one can give you a role in it.</p>\n");
    } else {
        html.push_str("<ul class=\"cards\">\n");
        for project in &list.projects {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                html,
                "<li><a href=\"/projects/{slug}\"><strong>{}</strong></a> <span class=\"faint\">{slug}</span></li>",
                esc(&project.title),
                slug = esc(&project.slug),
            );
        }
        html.push_str("</ul>\n");
    }
    html.push_str(&next_page(visitor, list.next_cursor.as_ref().map(Cursor::as_str), "More projects"));
    framed(visitor, "Projects", None, &html).await
}

async fn runs(visitor: &Visitor, slug: &str) -> Result<Document> {
    let project = project(visitor, slug).await?;
    let wanted = json!({ "project": project.slug, "limit": LINES, "cursor": visitor.query("cursor") });
    let list: RunList = visitor.read("list_scenario_runs", wanted).await?;
    let mut html = format!("<h1>Runs <span class=\"in\">of</span> {}</h1>\n", esc(&project.title));
    if list.runs.is_empty() {
        html.push_str("<p class=\"empty\">No run yet.</p>\n");
    } else {
        html.push_str(&table(&list.runs));
    }
    html.push_str(&next_page(visitor, list.next_cursor.as_ref().map(Cursor::as_str), "Older runs"));
    framed(visitor, &format!("Runs of {}", project.title), Some((&project.slug, Place::Runs)), &html).await
}

fn table(runs: &[RunView]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Scenario</th><th scope=\"col\">Environment</th>\
         <th scope=\"col\">State</th><th scope=\"col\">Verdict</th><th scope=\"col\">Started</th></tr></thead>\n<tbody>\n",
    );
    for run in runs {
        let verdict = run.verdict.map_or_else(|| "–".to_owned(), |verdict| badge(verdict.as_str()));
        let _ = writeln!(
            html,
            "<tr><td><a href=\"/runs/{}\">{}</a></td><td>{}</td><td>{}</td><td>{verdict}</td><td>{}</td></tr>",
            esc(run.id),
            esc(&run.pins.scenario_slug),
            esc(&run.pins.environment_slug),
            badge(run.state.as_str()),
            time(run.created_at),
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}
