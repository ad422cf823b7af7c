//! Signing in at a provider of identities: there and back again. The sign-in that is begun is bound to this browser by a
//! cookie, and its answer counts once.

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use pinhole_app::{NewFlow, OpenFlow, ProvenIdentity};
use pinhole_core::{Error, RequestId, Result};
use pinhole_oidc::{Answer, Identity, Proof};

use super::{document::refusal, session::go_on};
use crate::{
    OidcSettings,
    http::{
        Context, FLOW_COOKIE, Form, Refused, address_of, cookie_value, flow_cookie, is_navigation, session_secret, who,
    },
};

/// `GET /api/v1/session/oidc`
pub(super) async fn start(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
) -> Response {
    let begun = begin(&context, &parts).await;
    begun.unwrap_or_else(|error| told(error, &parts.headers, request))
}

async fn begin(context: &Context, parts: &Parts) -> Result<Response> {
    let oidc = provider(context)?;
    context.rates.sign_in(address_of(&context.settings, &parts.extensions, &parts.headers))?;
    let query = Form::of_query(parts.uri.query());
    let again = match query.optional("reauthenticate")?.as_deref() {
        None | Some("false") => None,
        Some("true") => Some(who(context, parts).await?.ok_or_else(Error::unauthenticated)?),
        Some(_) => return Err(Error::invalid("reauthenticate", "expected true or false")),
    };
    let begun = oidc.provider.begin(again.is_some()).await?;
    let return_to = query.return_to();
    let flow = NewFlow { state: &begun.state, nonce: &begun.nonce, verifier: &begun.verifier, return_to: &return_to };
    context.app.begin_flow(again.as_ref(), &flow).await?;
    let location = HeaderValue::try_from(begun.url.as_str()).map_err(Error::internal)?;
    let headers = [(header::LOCATION, location), (header::SET_COOKIE, flow_cookie(Some(&begun.state))?)];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// `GET /api/v1/session/oidc/callback`
pub(super) async fn callback(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
) -> Response {
    let ended = end(&context, &parts).await;
    let mut response = ended.unwrap_or_else(|error| told(error, &parts.headers, request));
    // Whatever became of it, it is over.
    if let Ok(cookie) = flow_cookie(None) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

async fn end(context: &Context, parts: &Parts) -> Result<Response> {
    let oidc = provider(context)?;
    let address = address_of(&context.settings, &parts.extensions, &parts.headers);
    context.rates.sign_in(address)?;
    let query = Form::of_query(parts.uri.query());
    let state = query.required("state")?;
    if cookie_value(&parts.headers, FLOW_COOKIE) != Some(state.as_str()) {
        let message = "this sign-in was begun in another browser, or under another address: begin it again here";
        return Err(Error::unauthenticated().with_message(message));
    }
    let flow = context.app.take_flow(&state).await?;
    if let Some(error) = query.optional("error")? {
        return Err(provider_refused(&error));
    }
    let (code, issuer) = (query.required("code")?, query.optional("iss")?);
    let answer = Answer { code: &code, issuer: issuer.as_deref() };
    let authenticated_since = flow.session.map(|_| flow.begun_at);
    let proof = Proof { nonce: &flow.nonce, verifier: &flow.verifier, authenticated_since };
    let identity = proven(oidc.provider.finish(&answer, &proof).await?);
    let OpenFlow { session, return_to, .. } = flow;
    let session = match session {
        None => {
            let previous = session_secret(&parts.headers);
            let address = address.to_string();
            context.app.sign_in_with_identity(&identity, &oidc.policy, &address, previous).await?
        }
        Some(session) => {
            let actor = who(context, parts).await?.ok_or_else(Error::unauthenticated)?;
            context.app.reauthenticate_with_identity(&actor, session, &identity).await?
        }
    };
    go_on(&session, &return_to)
}

fn provider(context: &Context) -> Result<&OidcSettings> {
    context.settings.oidc.as_ref().ok_or_else(Error::not_found)
}

fn proven(identity: Identity) -> ProvenIdentity {
    let Identity { issuer, subject, preferred_name, groups, proved_at } = identity;
    ProvenIdentity { issuer, subject, preferred_name, groups, proved_at }
}

/// The provider's own word for it, where it is one word.
fn provider_refused(error: &str) -> Error {
    let word = error.len() <= 40 && error.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let word = if word { error } else { "unknown" };
    Error::unauthenticated().with_message(format!("the identity provider did not sign you in: {word}"))
}

/// A page for browsers, the problem document for everybody else.
fn told(error: Error, headers: &HeaderMap, request: RequestId) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if is_navigation(headers) || accept.contains("text/html") {
        return refusal(&error, request).into_response();
    }
    Refused::from(error).into_response()
}
