//! A browser's session on REST: begin, look, prove again who one is, choose another password, end. For scripts of pages
//! and for programs that act as a browser.
//!
//! These are no operations of the table: they answer with a cookie, which no other transport has.

use axum::{
    Extension, Json, Router,
    extract::State,
    http::{StatusCode, header, request::Parts},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use pinhole_app::{NewSession, csrf_token, operations};
use pinhole_core::{Actor, Error, Result};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::operation::require_json;
use crate::http::{
    Context, Refused, address_of, clear_cookie, invoke, is_from_nowhere_else, limit_form, object,
    require_bearer_or_cookie, require_this_site, session_cookie, session_secret,
};

/// The routes. Beginning a session needs none, everything else does.
pub(super) fn routes(context: &Context) -> Router<Context> {
    let own = Router::new()
        .route("/api/v1/session", get(look).delete(end))
        .route("/api/v1/session/reauthenticate", post(reauthenticate))
        .route("/api/v1/session/password", post(change_password))
        .route_layer(middleware::from_fn(limit_form))
        .route_layer(middleware::from_fn_with_state(context.clone(), require_bearer_or_cookie));
    let begin = Router::new().route("/api/v1/session", post(begin)).route_layer(middleware::from_fn(limit_form));
    own.merge(begin)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    name: String,
    password: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reauthenticate {
    password: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangePassword {
    current_password: Option<String>,
    new_password: String,
}

async fn begin(State(context): State<Context>, parts: Parts, body: Bytes) -> Result<Response, Refused> {
    if parts.headers.contains_key(header::AUTHORIZATION) {
        return Err(Error::unauthenticated().with_message("a session begins without a bearer token").into());
    }
    if !is_from_nowhere_else(&parts.headers) {
        require_this_site(&parts.headers)?;
    }
    let address = address_of(&context.settings, &parts.extensions, &parts.headers);
    context.rates.sign_in(address)?;
    let Begin { name, password } = command(&parts, &body)?;
    let (address, previous) = (address.to_string(), session_secret(&parts.headers));
    let session = context.app.sign_in_with_password(&name, &password, &address, previous).await?;
    let actor = context.app.authenticate_session(&session.secret, id_of(&parts)?).await?;
    Ok(answer(&context, &actor, StatusCode::CREATED, &session).await?)
}

async fn look(
    State(context): State<Context>,
    Extension(actor): Extension<Actor>,
    parts: Parts,
) -> Result<Json<Value>, Refused> {
    Ok(Json(view(&context, &actor, session_secret(&parts.headers)).await?))
}

async fn reauthenticate(
    State(context): State<Context>,
    Extension(actor): Extension<Actor>,
    parts: Parts,
    body: Bytes,
) -> Result<Response, Refused> {
    context.rates.sign_in(address_of(&context.settings, &parts.extensions, &parts.headers))?;
    let Reauthenticate { password } = command(&parts, &body)?;
    let session = context.app.reauthenticate_with_password(&actor, &password).await?;
    renewed(&context, &parts, &session).await
}

async fn change_password(
    State(context): State<Context>,
    Extension(actor): Extension<Actor>,
    parts: Parts,
    body: Bytes,
) -> Result<Response, Refused> {
    context.rates.sign_in(address_of(&context.settings, &parts.extensions, &parts.headers))?;
    let ChangePassword { current_password, new_password } = command(&parts, &body)?;
    let session = context.app.change_password(&actor, current_password.as_deref(), &new_password).await?;
    renewed(&context, &parts, &session).await
}

async fn end(State(context): State<Context>, Extension(actor): Extension<Actor>) -> Result<Response, Refused> {
    context.app.end_own_session(&actor).await?;
    Ok(([(header::SET_COOKIE, clear_cookie()?)], Json(json!({ "signed_out": true }))).into_response())
}

/// The answer after the session's secret changed: the old one opens nothing any more.
async fn renewed(context: &Context, parts: &Parts, session: &NewSession) -> Result<Response, Refused> {
    let actor = context.app.authenticate_session(&session.secret, id_of(parts)?).await?;
    Ok(answer(context, &actor, StatusCode::OK, session).await?)
}

async fn answer(context: &Context, actor: &Actor, status: StatusCode, session: &NewSession) -> Result<Response> {
    let view = view(context, actor, Some(&session.secret)).await?;
    Ok((status, [(header::SET_COOKIE, session_cookie(&session.secret)?)], Json(view)).into_response())
}

/// Who the user is, as `whoami` says it, and the session's synchroniser token. The token goes back in the header
/// `X-CSRF-Token`, or in the field `csrf_token` of a form.
async fn view(context: &Context, actor: &Actor, secret: Option<&str>) -> Result<Value> {
    let secret = secret.ok_or_else(|| {
        Error::permission_denied("session").with_message("not allowed: a bearer token has no session")
    })?;
    let whoami = operations().get("whoami").ok_or_else(|| Error::internal("no operation whoami"))?;
    let user = invoke(whoami, &context.app, actor, Map::new()).await?.body;
    Ok(json!({ "user": user, "csrf_token": csrf_token(secret) }))
}

fn command<T: DeserializeOwned>(parts: &Parts, body: &Bytes) -> Result<T> {
    require_json(&parts.headers)?;
    // What is wrong with a member may quote it, and it may be a password.
    serde_json::from_value(Value::Object(object(body)?))
        .map_err(|_| Error::invalid("", "the members are not those that belong here: see the documentation"))
}

fn id_of(parts: &Parts) -> Result<pinhole_core::RequestId> {
    parts.extensions.get().copied().ok_or_else(|| Error::internal("the request passed no boundary"))
}
