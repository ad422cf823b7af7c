//! Who calls: puts the [`Actor`] into the request, or refuses it.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use pinhole_core::{Actor, Error, RequestId, Result};

use super::{Context, credential::Credential, hosts::is_cross_site, problem::Refused};

const INVALID_TOKEN: HeaderValue = HeaderValue::from_static("Bearer realm=\"pinhole\", error=\"invalid_token\"");

/// Lets a request with a bearer token through; for operations on REST and for MCP. A cookie opens neither.
pub(crate) async fn require_bearer(
    State(context): State<Context>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let actor = match Credential::of(request.headers()) {
        Ok(Some(Credential::Bearer(token))) => context.app.authenticate(token, id_of(&request)?).await,
        Ok(Some(Credential::Cookie(_)) | None) => return Err(Error::unauthenticated().into()),
        Err(error) => Err(error),
    };
    request.extensions_mut().insert(actor.map_err(invalid_token)?);
    Ok(next.run(request).await)
}

/// Lets a request with a bearer token or the pages' cookie through; for what pages embed.
pub(crate) async fn require_bearer_or_cookie(
    State(context): State<Context>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let actor = who(&context, request.headers(), id_of(&request)?).await.map_err(invalid_token)?;
    let Some(actor) = actor else { return Err(Error::unauthenticated().into()) };
    request.extensions_mut().insert(actor);
    Ok(next.run(request).await)
}

/// The actor behind a bearer token or a cookie; `None` for a request that has neither.
///
/// # Errors
/// `unauthenticated` for a credential that is not valid now, and for a cookie that another site's page made the
/// browser send.
pub(crate) async fn who(context: &Context, headers: &HeaderMap, request: RequestId) -> Result<Option<Actor>> {
    let token = match Credential::of(headers)? {
        None => return Ok(None),
        Some(Credential::Cookie(_)) if is_cross_site(headers) => return Err(Error::unauthenticated()),
        Some(Credential::Bearer(token) | Credential::Cookie(token)) => token,
    };
    context.app.authenticate(token, request).await.map(Some)
}

fn invalid_token(error: Error) -> Refused {
    let challenge = error.code() == pinhole_core::Code::Unauthenticated;
    let refused = Refused::from(error);
    if challenge { refused.with_header(header::WWW_AUTHENTICATE, INVALID_TOKEN) } else { refused }
}

fn id_of(request: &Request) -> Result<RequestId> {
    request.extensions().get().copied().ok_or_else(|| Error::internal("the request passed no boundary"))
}
