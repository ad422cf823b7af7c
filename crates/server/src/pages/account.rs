//! One's own account: who one is, where one is signed in, and another password.

use std::fmt::Write as _;

use axum::{
    Extension,
    extract::{Path, State},
    http::request::Parts,
    response::{IntoResponse, Redirect, Response},
};
use bytes::Bytes;
use pinhole_contract::{Cursor, SessionList, SessionView, WhoamiView};
use pinhole_core::{Code, Error, RequestId, Result};
use serde_json::json;

use super::{
    document::{Document, refusal},
    frame::{framed, next_page},
    html::esc,
    parts::{badge, time},
    session::{complaint, go_on, new_password, new_password_fields, token_field},
    visitor::Visitor,
};
use crate::http::{Context, Form, address_of};

/// Where it is.
const PATH: &str = "/account";
/// Where somebody proves again who they are, and comes back.
const PROVE: &str = "/re-authenticate?return_to=%2Faccount";
/// Sessions on a page.
const SESSIONS: u32 = 50;

/// `GET /account`
pub(super) async fn page(visitor: Visitor) -> Response {
    visitor.answer(show(&visitor, None).await)
}

/// `POST /account/password`
pub(super) async fn change_password(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    visitor: Visitor,
    parts: Parts,
    body: Bytes,
) -> Response {
    let form = Form::of_body(&body);
    let changed = async {
        visitor.require_own_form(form)?;
        context.rates.sign_in(address_of(&context.settings, &parts.extensions, &parts.headers))?;
        context.app.change_password(&visitor.actor, None, &new_password(form)?).await
    };
    match changed.await.and_then(|session| go_on(&session, "/account?changed=password")) {
        Ok(response) => response,
        Err(error) if error.reason() == Some("human_authority") => Redirect::to(PROVE).into_response(),
        Err(error) if error.code() == Code::InvalidArguments => match show(&visitor, Some(&error)).await {
            Ok(document) => document.with_error(&error).into_response(),
            Err(error) => refusal(&error, request).into_response(),
        },
        Err(error) => refusal(&error, request).into_response(),
    }
}

/// `POST /account/sessions/{session_id}/end`
pub(super) async fn end_session(visitor: Visitor, Path(id): Path<String>, body: Bytes) -> Response {
    let ended = async {
        visitor.require_own_form(Form::of_body(&body))?;
        visitor.call("revoke_my_session", json!({ "session_id": id })).await
    };
    visitor.go_back(ended.await.map(|_| ()), PATH)
}

async fn show(visitor: &Visitor, wrong: Option<&Error>) -> Result<Document> {
    let me: WhoamiView = visitor.read("whoami", json!({})).await?;
    let wanted = json!({ "limit": SESSIONS, "cursor": visitor.query("cursor") });
    let list: SessionList = visitor.read("list_my_sessions", wanted).await?;
    let mut html = format!("<h1>{}</h1>\n{}", esc(&me.name), facts(&me));
    html.push_str("<h2>Where you are signed in</h2>\n");
    html.push_str(&sessions(visitor, &list.sessions));
    html.push_str(&next_page(visitor, list.next_cursor.as_ref().map(Cursor::as_str), "Earlier ones"));
    html.push_str(&password(visitor, &me, wrong));
    framed(visitor, "Your account", None, &html).await
}

fn facts(me: &WhoamiView) -> String {
    let groups: Vec<_> = me.groups.iter().map(|group| esc(&group.name).to_string()).collect();
    let groups = if groups.is_empty() { "none".to_owned() } else { groups.join(", ") };
    let decides = me.human_authority_until.map_or_else(
        || format!("not now: <a href=\"{PROVE}\">show that it is you</a>"),
        |until| format!("until {}", time(until)),
    );
    let rows = [
        ("Groups", groups),
        ("Administrator", if me.admin { "yes" } else { "no" }.to_owned()),
        ("May review and decide", decides),
    ];
    let rows = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    format!("<dl class=\"facts\">\n{}</dl>\n", rows.concat())
}

fn sessions(visitor: &Visitor, sessions: &[SessionView]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Since</th><th scope=\"col\">By</th>\
         <th scope=\"col\">Last used</th><th scope=\"col\">Ends</th><th scope=\"col\"></th></tr></thead>\n<tbody>\n",
    );
    let token = token_field(visitor.token().as_deref());
    for session in sessions {
        let end = match session.current {
            true => badge("here"),
            false => format!(
                "<form method=\"post\" action=\"/account/sessions/{}/end\">{token}<button class=\"quiet\">End</button></form>",
                esc(session.id)
            ),
        };
        let by = match session.method.as_str() {
            "oidc" => "your organisation",
            "link" => "a sign-in link",
            _ => "password",
        };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{by}</td><td>{}</td><td>{}</td><td>{end}</td></tr>",
            time(session.created_at),
            time(session.last_used_at),
            time(session.expires_at),
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

/// The form for another password, or the way to it for a session in which nobody has proved for a while who they are.
fn password(visitor: &Visitor, me: &WhoamiView, wrong: Option<&Error>) -> String {
    let mut html = String::from("<section class=\"decision\">\n<h2 id=\"password\">Password</h2>\n");
    if visitor.query("changed").as_deref() == Some("password") {
        html.push_str("<p role=\"status\"><strong>You have another password now. You are signed out everywhere else.</strong></p>\n");
    }
    if me.human_authority_until.is_none() {
        let _ = writeln!(html, "<p>To change it, <a href=\"{PROVE}\">show that it is you</a> first.</p>\n</section>");
        return html;
    }
    let _ = writeln!(
        html,
        "<p>Another password signs you out everywhere else.</p>\n{}<form method=\"post\" action=\"/account/password\">{}\n{}\
         <button>Change the password</button>\n</form>\n</section>",
        complaint(wrong.map(Error::message)),
        token_field(visitor.token().as_deref()),
        new_password_fields(&me.name),
    );
    html
}
