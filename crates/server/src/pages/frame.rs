//! What stands around the body of every page for somebody who is signed in: where one is, and the ways on.

use std::fmt::Write as _;

use pinhole_contract::WhoamiView;
use pinhole_core::{Result, Slug};
use serde_json::json;

use super::{document::Document, html::esc, session, visitor::Visitor};

/// The parts of a project.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Runs,
    Approvals,
    Baselines,
    Publications,
    /// A page below one of them.
    Inner,
}

const PLACES: [(Place, &str, &str); 4] = [
    (Place::Runs, "", "Runs"),
    (Place::Approvals, "/approvals", "Approvals"),
    (Place::Baselines, "/baselines", "Baselines"),
    (Place::Publications, "/publications", "Publications"),
];

/// A page with its frame; `body` is markup that begins with the page's one heading.
///
/// # Errors
/// Those of `whoami`.
pub(super) async fn framed(
    visitor: &Visitor,
    title: &str,
    place: Option<(&Slug, Place)>,
    body: &str,
) -> Result<Document> {
    let me: WhoamiView = visitor.read("whoami", json!({})).await?;
    let mut html = session::banner(visitor.token().as_deref(), Some(&me.name));
    html.push_str("<main>\n");
    if let Some((project, here)) = place {
        html.push_str(&ways(project, here));
    }
    html.push_str(body);
    html.push_str("</main>");
    Ok(Document::new(title, html))
}

fn ways(project: &Slug, here: Place) -> String {
    let mut html = format!(
        "<nav class=\"ways\" aria-label=\"Project\"><a href=\"/projects\">Projects</a> / <strong>{}</strong>",
        esc(project)
    );
    for (place, path, name) in PLACES {
        let current = if place == here { " aria-current=\"page\"" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(html, " <a href=\"/projects/{}{path}\"{current}>{name}</a>", esc(project));
    }
    html.push_str("</nav>\n");
    html
}

/// The way to the next page of a list, if there is one.
pub(super) fn next_page(visitor: &Visitor, cursor: Option<&str>, name: &str) -> String {
    next_page_by(visitor, "cursor", cursor, name)
}

/// The same for a page with two lists: `parameter` is where this one's cursor stands.
pub(super) fn next_page_by(visitor: &Visitor, parameter: &str, cursor: Option<&str>, name: &str) -> String {
    cursor.map_or_else(String::new, |cursor| {
        format!("<p><a href=\"{}\" rel=\"next\">{name}</a></p>\n", esc(visitor.here_with(parameter, cursor)))
    })
}
