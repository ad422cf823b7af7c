//! Who calls: puts the [`Actor`] into the request, or refuses it.
//!
//! A session's cookie is sent by browsers on their own, whatever made them. So it counts on REST only for what pages of
//! this server ask, and a call that changes something has to show the session's synchroniser token as well, which other
//! sites cannot read: in the header `X-CSRF-Token` on REST, in the field `csrf_token` of a form.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{Extensions, HeaderMap, HeaderValue, header, request::Parts},
    middleware::Next,
    response::Response,
};
use pinhole_app::{csrf_token, csrf_token_matches};
use pinhole_core::{Actor, Code, Error, RequestId, Result};

use super::{
    Context,
    credential::{Credential, session_secret},
    hosts::{from_this_site, is_cross_site, is_navigation},
    problem::Refused,
    rate::address_of,
};

const INVALID_TOKEN: HeaderValue = HeaderValue::from_static("Bearer realm=\"pinhole\", error=\"invalid_token\"");
/// The header of a session's synchroniser token.
const CSRF_HEADER: &str = "x-csrf-token";

/// Lets a request with a bearer token through; for MCP. A cookie does not open it.
pub(crate) async fn require_bearer(
    State(context): State<Context>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let address = address_of(&context.settings, request.extensions(), request.headers());
    let actor = match Credential::of(request.headers()) {
        Ok(Some(Credential::Bearer(token))) => context.app.authenticate(token, id_of(request.extensions())?).await,
        Ok(Some(Credential::Cookie(_)) | None) => return Err(stranger(&context, address, Error::unauthenticated())),
        Err(error) => Err(error),
    };
    let actor = actor.map_err(|error| invalid_token(stranger(&context, address, error)))?;
    context.rates.principal(actor.principal)?;
    request.extensions_mut().insert(actor);
    Ok(next.run(request).await)
}

/// Lets everybody through who does not ask too often; for what needs no credential and costs the database something.
pub(crate) async fn limit_strangers(
    State(context): State<Context>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    context.rates.stranger(address_of(&context.settings, request.extensions(), request.headers()))?;
    Ok(next.run(request).await)
}

/// Lets a request with a bearer token or a session's cookie through; for operations on REST and for what pages embed.
/// With a cookie it must come from a page of this server.
pub(crate) async fn require_bearer_or_cookie(
    State(context): State<Context>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let (is_safe, id) = (request.method().is_safe(), id_of(request.extensions())?);
    let address = address_of(&context.settings, request.extensions(), request.headers());
    let actor = caller(&context, request.headers(), is_safe, id).await;
    let actor = actor.map_err(|error| invalid_token(stranger(&context, address, error)))?;
    let Some(actor) = actor else { return Err(stranger(&context, address, Error::unauthenticated())) };
    context.rates.principal(actor.principal)?;
    if let (false, Some(secret)) = (is_safe, session_secret(request.headers())) {
        require_csrf_token(secret, request.headers())?;
    }
    request.extensions_mut().insert(actor);
    Ok(next.run(request).await)
}

/// The actor of a call on REST. To other sites a session says nothing, not even that it goes on.
async fn caller(context: &Context, headers: &HeaderMap, is_safe: bool, id: RequestId) -> Result<Option<Actor>> {
    if is_safe && session_secret(headers).is_some() && is_cross_site(headers) {
        return Err(Error::unauthenticated());
    }
    actor_of(context, headers, id).await
}

/// The actor behind a bearer token or a session's cookie; `None` for a request that has neither. For pages: a link on
/// another site leads to them like any other, but nothing else that it makes the browser send does. Counts the call.
///
/// # Errors
/// `unauthenticated` for a credential that is not valid now, and for a cookie that another site's page made the
/// browser send; `limit_exceeded` for a principal that calls too often, and for an address from which too many calls
/// come without a valid credential.
pub(crate) async fn who(context: &Context, parts: &Parts) -> Result<Option<Actor>> {
    let headers = &parts.headers;
    let found = match session_secret(headers).is_some() && is_cross_site(headers) && !is_navigation(headers) {
        true => Err(Error::unauthenticated()),
        false => actor_of(context, headers, id_of(&parts.extensions)?).await,
    };
    let address = address_of(&context.settings, &parts.extensions, headers);
    match &found {
        Ok(Some(actor)) => context.rates.principal(actor.principal)?,
        Ok(None) => context.rates.stranger(address)?,
        Err(error) if error.code() == Code::Unauthenticated => context.rates.stranger(address)?,
        Err(_) => {}
    }
    found
}

async fn actor_of(context: &Context, headers: &HeaderMap, request: RequestId) -> Result<Option<Actor>> {
    match Credential::of(headers)? {
        None => Ok(None),
        Some(Credential::Bearer(token)) => context.app.authenticate(token, request).await.map(Some),
        Some(Credential::Cookie(secret)) => context.app.authenticate_session(secret, request).await.map(Some),
    }
}

/// The synchroniser token for the forms of a page; none for who has no session.
pub(crate) fn form_token(headers: &HeaderMap) -> Option<String> {
    session_secret(headers).map(csrf_token)
}

/// Refuses what another site's page may have made the browser send: a form, unless it comes from a page of this server
/// and, where the browser has a session, shows its token as `given`.
///
/// # Errors
/// `permission_denied` with reason `same_origin` or `csrf_token`.
pub(crate) fn require_own_form(headers: &HeaderMap, given: Option<&str>) -> Result<()> {
    require_this_site(headers)?;
    match session_secret(headers) {
        Some(secret) if !csrf_token_matches(secret, given.unwrap_or_default()) => Err(wrong_csrf_token()),
        _ => Ok(()),
    }
}

/// Refuses a change that is not asked for by a page of this server.
///
/// # Errors
/// `permission_denied` with reason `same_origin`.
pub(crate) fn require_this_site(headers: &HeaderMap) -> Result<()> {
    if from_this_site(headers) {
        return Ok(());
    }
    Err(Error::permission_denied("same_origin").with_message("this was sent from another site, or by no page at all"))
}

fn require_csrf_token(secret: &str, headers: &HeaderMap) -> Result<()> {
    require_this_site(headers)?;
    let mut given = headers.get_all(CSRF_HEADER).iter();
    let token = given.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
    if given.next().is_none() && csrf_token_matches(secret, token) { Ok(()) } else { Err(wrong_csrf_token()) }
}

fn wrong_csrf_token() -> Error {
    Error::permission_denied("csrf_token")
        .with_message("the session's token is missing or old: load the page again, or send it as X-CSRF-Token")
}

/// What a caller without a valid credential is told. Whoever is told often has to wait, so that nobody tries out tokens.
pub(crate) fn stranger(context: &Context, address: IpAddr, error: Error) -> Refused {
    if error.code() != Code::Unauthenticated {
        return error.into();
    }
    context.rates.stranger(address).err().unwrap_or(error).into()
}

fn invalid_token(refused: Refused) -> Refused {
    let challenge = refused.code() == Code::Unauthenticated;
    if challenge { refused.with_header(header::WWW_AUTHENTICATE, INVALID_TOKEN) } else { refused }
}

fn id_of(extensions: &Extensions) -> Result<RequestId> {
    extensions.get().copied().ok_or_else(|| Error::internal("the request passed no boundary"))
}
