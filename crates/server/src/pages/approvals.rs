//! Approvals: the list of a project, and the page on which one is decided.

use std::fmt::Write as _;

use axum::{extract::Path, response::Response};
use bytes::Bytes;
use pinhole_app::{ApprovalEvidence, ItemEvidence};
use pinhole_contract::{ApprovalList, ApprovalView, Cursor, ListedApprovalView};
use pinhole_core::{ApprovalId, ApprovalState, BaselineKey, BaselineKind, Error, Result};
use serde_json::json;

use super::{
    document::Document,
    forms,
    frame::{Place, framed, next_page},
    html::esc,
    parts::{badge, code, picture, time, words},
    people::{person, said},
    projects::project,
    values,
    visitor::Visitor,
};
use crate::http::Form;

/// Lines of the list.
const LINES: u32 = 50;
/// Items on a page; each brings up to three pictures.
const ITEMS: usize = 20;

/// `GET /projects/{project}/approvals`
pub(super) async fn all(visitor: Visitor, Path(project): Path<String>) -> Response {
    visitor.answer(list(&visitor, &project).await)
}

/// `GET /approvals/{approval_id}`
pub(super) async fn one(visitor: Visitor, Path(id): Path<String>) -> Response {
    visitor.answer(show(&visitor, &id).await)
}

/// `POST /approvals/{approval_id}/decision`
pub(super) async fn decide(visitor: Visitor, Path(id): Path<String>, body: Bytes) -> Response {
    let back = format!("/approvals/{id}");
    visitor.go_back(decision(&visitor, &id, Form::of_body(&body)).await, &back)
}

async fn decision(visitor: &Visitor, id: &str, form: Form<'_>) -> Result<()> {
    visitor.require_own_form(form)?;
    let id: ApprovalId = id.parse().map_err(|_| Error::not_found())?;
    let version: u32 = form
        .required("expected_version")?
        .parse()
        .map_err(|_| Error::invalid("expected_version", "expected a version number"))?;
    let input = json!({
        "approval_id": id, "outcome": form.required("outcome")?, "reason": forms::lines(&form.required("reason")?),
        "expected_version": version,
    });
    visitor.call("decide_approval", input).await.map(|_| ())
}

async fn list(visitor: &Visitor, slug: &str) -> Result<Document> {
    let project = project(visitor, slug).await?;
    let wanted = json!({ "project": project.slug, "limit": LINES, "cursor": visitor.query("cursor") });
    let list: ApprovalList = visitor.read("list_approvals", wanted).await?;
    let mut html = format!("<h1>Approvals <span class=\"in\">in</span> {}</h1>\n", esc(&project.title));
    if list.approvals.is_empty() {
        html.push_str("<p class=\"empty\">Nobody has asked for one yet.</p>\n");
    } else {
        html.push_str(&table(&list.approvals));
    }
    html.push_str(&next_page(visitor, list.next_cursor.as_ref().map(Cursor::as_str), "Older approvals"));
    let title = format!("Approvals in {}", project.title);
    framed(visitor, &title, Some((&project.slug, Place::Approvals)), &html).await
}

fn table(approvals: &[ListedApprovalView]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Asked</th><th scope=\"col\">State</th>\
         <th scope=\"col\">Line</th><th scope=\"col\">Items</th><th scope=\"col\">Label</th></tr></thead>\n<tbody>\n",
    );
    for approval in approvals {
        let label = approval.release_label.as_ref().map_or("–", |label| label.as_str());
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            html,
            "<tr><td><a href=\"/approvals/{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            esc(approval.id),
            time(approval.created_at),
            badge(approval.state.as_str()),
            esc(&approval.line),
            approval.items,
            esc(label),
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

async fn show(visitor: &Visitor, id: &str) -> Result<Document> {
    let id: ApprovalId = id.parse().map_err(|_| Error::not_found())?;
    let from: usize = visitor.query("from").and_then(|text| text.parse().ok()).unwrap_or(0);
    let approval: ApprovalView = visitor.read("get_approval", json!({ "approval_id": id })).await?;
    let evidence = visitor.app().approval_evidence(&visitor.actor, id, from, ITEMS).await?;
    let token = visitor.token();
    let mut html = heading(&approval);
    html.push_str(&facts(&approval, &evidence));
    html.push_str(&decisions(&approval, &evidence));
    let _ = writeln!(html, "<h2>Items</h2>");
    for (item, shown) in approval.intent.items.iter().skip(from).zip(&evidence.items) {
        let compared = match item.key.kind {
            BaselineKind::Visual => pictures(item.current_entry.is_some(), shown),
            _ => fields(visitor, item.current_entry.is_some(), shown).await?,
        };
        html.push_str(&section(&item.key, &compared, shown, &evidence));
    }
    let next = from.saturating_add(ITEMS);
    if next < approval.intent.items.len() {
        let _ = writeln!(
            html,
            "<p><a href=\"{}\" rel=\"next\">More items</a></p>",
            esc(visitor.here_with("from", &next.to_string()))
        );
    }
    if evidence.may_decide && approval.state == ApprovalState::Pending && token.is_some() {
        html.push_str(&forms::decision(&approval, token.as_deref()));
    }
    framed(visitor, "Approval", Some((&evidence.project, Place::Inner)), &html).await
}

fn heading(approval: &ApprovalView) -> String {
    let count = approval.intent.items.len();
    let items = match (approval.kind.is_baseline(), count) {
        (true, 1) => "1 baseline".to_owned(),
        (true, _) => format!("{count} baselines"),
        (false, _) => format!("{count} to {}", approval.kind),
    };
    format!(
        "<h1>{items} <span class=\"in\">for line</span> {}</h1>\n<p class=\"badges\">{}</p>\n",
        esc(&approval.intent.line),
        badge(approval.state.as_str()),
    )
}

fn facts(approval: &ApprovalView, evidence: &ApprovalEvidence) -> String {
    let intent = &approval.intent;
    let publication = intent.publication.as_ref();
    let policy = match intent.policy_revision {
        0 => "the defaults".to_owned(),
        revision => format!("revision {revision}"),
    };
    let rows = [
        ("Approval", code(approval.id)),
        ("Asked by", format!("{}, {}", person(approval.requested_by, &evidence.names), time(approval.created_at))),
        ("Open until", time(approval.expires_at)),
        ("Policy", policy),
        ("Label", intent.release_label.as_ref().map_or_else(|| "none".into(), |label| esc(label).to_string())),
        (
            "Publication",
            publication
                .map_or_else(|| "none".into(), |to| format!("branch {} of {}", code(&to.branch), code(&to.remote))),
        ),
        (
            "Carried from",
            intent.promoted_from.as_ref().map_or_else(
                || "no other line".into(),
                |from| format!("line {} revision {}", code(&from.line), from.revision),
            ),
        ),
        ("Intent", code(approval.intent_digest)),
        ("Version", approval.version.to_string()),
    ];
    let rows = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    format!("<dl class=\"facts\">\n{}</dl>\n", rows.concat())
}

fn decisions(approval: &ApprovalView, evidence: &ApprovalEvidence) -> String {
    let mut html = String::from("<h2>Decisions</h2>\n");
    if approval.decisions.is_empty() {
        html.push_str("<p class=\"faint\">None yet.</p>\n");
        return html;
    }
    html.push_str("<ul class=\"said\">\n");
    for decision in &approval.decisions {
        let _ = writeln!(
            html,
            "<li>{} {} <span class=\"faint\">by {}, {}</span><blockquote>{}</blockquote></li>",
            person(decision.principal, &evidence.names),
            badge(decision.outcome.as_str()),
            esc(words(decision.via.as_str())),
            time(decision.created_at),
            esc(&decision.reason),
        );
    }
    html.push_str("</ul>\n");
    html
}

/// What stands where there is no entry.
fn no_entry(replaces: bool) -> &'static str {
    if replaces { "The entry that this is about is not active any more." } else { "New: no entry yet." }
}

fn pictures(replaces: bool, item: &ItemEvidence) -> String {
    let mut html = String::from("<div class=\"pictures\">\n");
    html.push_str(&picture("Current entry", item.current.as_ref(), no_entry(replaces)));
    if let Some(candidate) = &item.candidate {
        let same = match item.current {
            Some(_) => "Equal, or compared with something else by its run.",
            None => "Nothing to compare with.",
        };
        html.push_str(&picture("Candidate", Some(&candidate.picture), ""));
        html.push_str(&picture("Difference", item.difference.as_ref(), same));
    }
    html.push_str("</div>\n");
    html
}

async fn fields(visitor: &Visitor, replaces: bool, item: &ItemEvidence) -> Result<String> {
    let after = item.candidate.as_ref().map(|candidate| &candidate.picture);
    values::side_by_side(visitor, (item.current.as_ref(), no_entry(replaces)), after).await
}

/// One item; `compared` is the markup of what its entry is and would be.
fn section(key: &BaselineKey, compared: &str, item: &ItemEvidence, evidence: &ApprovalEvidence) -> String {
    let mut html = format!(
        "<section class=\"checkpoint\">\n<h3>{} <small>{} in {}, {}, {}</small></h3>\n{compared}",
        esc(&key.checkpoint),
        esc(&key.scenario),
        esc(&key.environment),
        esc(&key.profile),
        esc(key.kind),
    );
    let Some(candidate) = &item.candidate else {
        html.push_str("<p>This entry would end; nothing takes its place.</p>\n</section>\n");
        return html;
    };
    if let Some(review) = &candidate.review {
        html.push_str(&said(review, &evidence.names));
    }
    let _ = writeln!(
        html,
        "<p class=\"faint\">Proposed by {} from <a href=\"/runs/{}\">its run</a> · receipt {}</p>\n</section>",
        person(candidate.author, &evidence.names),
        esc(candidate.run),
        code(candidate.receipt),
    );
    html
}
