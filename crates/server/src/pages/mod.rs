//! Pages for people: server-rendered, without scripts, over the same operations as REST and MCP.
//!
//! A browser cannot send a bearer token, so signing in gives it a session in a cookie that scripts cannot read and other
//! sites cannot use. A form that changes something shows the session's token in its field `csrf_token`.

mod account;
mod approvals;
mod baselines;
mod document;
mod forms;
mod frame;
mod html;
mod link;
mod oidc;
mod parts;
mod people;
mod projects;
mod publications;
mod run;
mod session;
mod values;
mod visitor;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use pinhole_core::Error;

use crate::http::{Context, Refused, limit_form};

const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const ONE_HOUR: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// The routes.
pub(crate) fn routes(context: &Context) -> Router<Context> {
    Router::new()
        .route("/projects", get(projects::all))
        .route("/projects/{project}", get(projects::one))
        .route("/projects/{project}/approvals", get(approvals::all))
        .route("/projects/{project}/baselines", get(baselines::all))
        .route("/projects/{project}/publications", get(publications::all))
        .route("/publications/{publication_id}", get(publications::one))
        .route("/runs/{run_id}", get(run::page))
        .route("/runs/{run_id}/review", post(run::review))
        .route("/approvals/{approval_id}", get(approvals::one))
        .route("/approvals/{approval_id}/decision", post(approvals::decide))
        .route("/account", get(account::page))
        .route("/account/password", post(account::change_password))
        .route("/account/sessions/{session_id}/end", post(account::end_session))
        .route("/", get(front))
        .route("/sign-in", get(session::sign_in_page).post(session::sign_in))
        .route("/sign-in/link/{secret}", get(link::page).post(link::choose))
        .route("/api/v1/session/oidc", get(oidc::start))
        .route("/api/v1/session/oidc/callback", get(oidc::callback))
        .route("/sign-out", post(session::sign_out))
        .route("/re-authenticate", get(session::again_page).post(session::again))
        .route(document::STYLE_PATH, get(style))
        .route_layer(middleware::from_fn(limit_form))
        .route_layer(middleware::from_fn_with_state(context.clone(), require_our_host))
}

/// A name that leads here but is none of ours may be another site's attempt to be taken for this one.
async fn require_our_host(State(context): State<Context>, request: Request, next: Next) -> Result<Response, Refused> {
    if context.hosts.accepts(request.headers()) {
        return Ok(next.run(request).await);
    }
    let message = "this server does not answer for that host name: set its public URL, or allow the name";
    Err(Error::permission_denied("host").with_message(message).into())
}

/// `GET /`: to where work begins.
async fn front() -> Redirect {
    Redirect::to("/projects")
}

async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, CSS), (header::CACHE_CONTROL, ONE_HOUR)], include_str!("page.css"))
}
