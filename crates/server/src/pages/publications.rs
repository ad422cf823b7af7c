//! Publications: the list of a project, and one with what it publishes, its state and its attempts.

use std::fmt::Write as _;

use axum::{extract::Path, response::Response};
use pinhole_contract::{
    Cursor, ExpectedHead, ListedPublicationView, PublicationAttemptView, PublicationList, PublicationView,
};
use pinhole_core::{Error, PublicationId, PublicationState, Result};
use serde_json::json;

use super::{
    baselines::revision_path,
    document::Document,
    frame::{Place, framed, next_page},
    html::esc,
    parts::{badge, code, time},
    projects::project,
    visitor::Visitor,
};

/// Lines of the list.
const LINES: u32 = 50;

/// `GET /projects/{project}/publications`
pub(super) async fn all(visitor: Visitor, Path(project): Path<String>) -> Response {
    visitor.answer(list(&visitor, &project).await)
}

/// `GET /publications/{publication_id}`
pub(super) async fn one(visitor: Visitor, Path(id): Path<String>) -> Response {
    visitor.answer(show(&visitor, &id).await)
}

async fn list(visitor: &Visitor, slug: &str) -> Result<Document> {
    let project = project(visitor, slug).await?;
    let wanted = json!({ "project": project.slug, "limit": LINES, "cursor": visitor.query("cursor") });
    let list: PublicationList = visitor.read("list_publications", wanted).await?;
    let mut html = format!("<h1>Publications <span class=\"in\">of</span> {}</h1>\n", esc(&project.title));
    if list.publications.is_empty() {
        html.push_str("<p class=\"empty\">Nothing has been published to Git yet.</p>\n");
    } else {
        html.push_str(&table(&list.publications));
    }
    html.push_str(&next_page(visitor, list.next_cursor.as_ref().map(Cursor::as_str), "Older publications"));
    let title = format!("Publications of {}", project.title);
    framed(visitor, &title, Some((&project.slug, Place::Publications)), &html).await
}

fn table(publications: &[ListedPublicationView]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Asked</th><th scope=\"col\">State</th>\
         <th scope=\"col\">What</th><th scope=\"col\">Where to</th><th scope=\"col\">Attempts</th></tr></thead>\n<tbody>\n",
    );
    for publication in publications {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            html,
            "<tr><td><a href=\"/publications/{}\">{}</a></td><td>{}</td><td>{} revision {}</td><td>branch {} of {}</td>\
             <td>{}</td></tr>",
            esc(publication.id),
            time(publication.created_at),
            badge(publication.state.as_str()),
            esc(&publication.line),
            publication.revision,
            code(&publication.branch),
            code(&publication.remote),
            publication.attempt,
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

async fn show(visitor: &Visitor, id: &str) -> Result<Document> {
    let id: PublicationId = id.parse().map_err(|_| Error::not_found())?;
    let publication: PublicationView = visitor.read("get_publication", json!({ "publication_id": id })).await?;
    let mut html = format!(
        "<h1>Revision {} <span class=\"in\">of line</span> {} <span class=\"in\">to</span> {}</h1>\n\
         <p class=\"badges\">{}</p>\n<p>{}</p>\n",
        publication.revision,
        esc(&publication.line),
        esc(&publication.remote),
        badge(publication.state.as_str()),
        meaning(publication.state),
    );
    if let Some(detail) = &publication.detail {
        let _ = writeln!(html, "<p class=\"wrong\">{}</p>", esc(detail));
    }
    html.push_str(&later(&publication));
    html.push_str(&facts(&publication));
    html.push_str(&attempts(&publication));
    let title = format!("Publication of revision {}", publication.revision);
    let document = framed(visitor, &title, Some((&publication.project, Place::Inner)), &html).await?;
    Ok(document.refreshing(publication.finished_at.is_none()))
}

/// What the state says of the branch, for who does not know the states by heart.
fn meaning(state: PublicationState) -> &'static str {
    match state {
        PublicationState::Queued => "It waits for its turn; nothing has been published yet.",
        PublicationState::Committing => "The commit is being made; nothing has been published yet.",
        PublicationState::Pushing => "The commit is on its way; nothing is known to be published yet.",
        PublicationState::Verifying => "The remote took the commit; it is being read back.",
        PublicationState::Published => "The branch held the commit when it was read back.",
        PublicationState::Conflict => "Not published: the branch is not where it was expected.",
        PublicationState::Rejected => "Not published: the remote refused it.",
        PublicationState::Failed => "Not published: the attempts are spent.",
    }
}

/// What the newest later look found, if any found otherwise than what was published.
fn later(publication: &PublicationView) -> String {
    let Some(seen) = publication.observations.last() else { return String::new() };
    let head = seen.head.as_ref().map_or_else(|| "does not exist".to_owned(), |head| format!("is at {}", code(head)));
    let (class, found) = if seen.on_branch { ("faint", "holds it again") } else { ("wrong", "holds it no longer") };
    format!("<p class=\"{class}\">Seen later: the branch {head} and {found} ({}).</p>\n", time(seen.seen_at))
}

fn facts(publication: &PublicationView) -> String {
    let finished = publication.finished_at.map_or_else(|| "not yet".to_owned(), time);
    let what = esc(revision_path(&publication.project, &publication.line, Some(publication.revision))).to_string();
    let rows = [
        ("Publication", code(publication.id)),
        ("What", format!("<a href=\"{what}\">{} revision {}</a>", esc(&publication.line), publication.revision)),
        ("Where to", format!("branch {} of {}", code(&publication.branch), code(&publication.remote))),
        ("Commit", published_commit(publication).map_or_else(|| "none on the branch".to_owned(), code)),
        ("Asked", time(publication.created_at)),
        ("Ended", finished),
    ];
    let rows = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    format!("<dl class=\"facts\">\n{}</dl>\n", rows.concat())
}

/// The commit that was read back.
fn published_commit(publication: &PublicationView) -> Option<&str> {
    let published = publication.state == PublicationState::Published;
    publication.attempts.last().filter(|_| published).and_then(|attempt| attempt.commit.as_deref())
}

fn attempts(publication: &PublicationView) -> String {
    let mut html = String::from(
        "<h2>Attempts</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Attempt</th>\
         <th scope=\"col\">Expected the branch</th><th scope=\"col\">Our commit</th><th scope=\"col\">Outcome</th></tr>\
         </thead>\n<tbody>\n",
    );
    for attempt in &publication.attempts {
        let commit = attempt.commit.as_ref().map_or_else(|| "–".to_owned(), code);
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{commit}</td><td>{}</td></tr>",
            attempt.attempt,
            expected(&attempt.expected_head),
            outcome(attempt),
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    if publication.attempts_omitted > 0 {
        let _ = writeln!(html, "<p class=\"faint\">and {} earlier ones</p>", publication.attempts_omitted);
    }
    html
}

fn expected(head: &ExpectedHead) -> String {
    match head {
        ExpectedHead::Commit(None) => "not to exist".to_owned(),
        ExpectedHead::Commit(Some(commit)) => format!("at {}", code(commit)),
        ExpectedHead::After(id) => format!("after <a href=\"/publications/{0}\">{0}</a>", esc(id)),
    }
}

fn outcome(attempt: &PublicationAttemptView) -> String {
    let word = attempt.outcome.as_deref().map_or_else(|| "goes on".to_owned(), badge);
    let why = attempt.detail.as_ref().map(|why| format!("<div class=\"wrong\">{}</div>", esc(why)));
    word + &why.unwrap_or_default()
}
