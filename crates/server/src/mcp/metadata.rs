//! What a client that was refused has to know to get in: protected-resource metadata (RFC 9728), and the challenge that
//! leads there.

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use pinhole_core::{Error, Permission};
use serde::Serialize;

use crate::http::{Context, Refused};

/// Where the metadata is: of the host, and of the one resource that it has.
pub(super) const PATHS: [&str; 2] =
    ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];

/// The metadata.
#[derive(Serialize)]
struct Metadata {
    resource: String,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    authorization_servers: Vec<String>,
    scopes_supported: Vec<&'static str>,
    bearer_methods_supported: [&'static str; 1],
    resource_name: &'static str,
}

/// Answers with the metadata. It names no issuer unless tokens of that issuer are accepted here.
pub(super) async fn metadata(State(context): State<Context>, headers: HeaderMap) -> Result<Response, Refused> {
    let base = base(&context, &headers).ok_or_else(Error::not_found)?;
    let metadata = Metadata {
        resource: format!("{base}/mcp"),
        authorization_servers: context.settings.authorization_servers.iter().map(ToString::to_string).collect(),
        scopes_supported: Permission::ALL.iter().map(|permission| permission.as_str()).collect(),
        bearer_methods_supported: ["header"],
        resource_name: "Pinhole",
    };
    Ok(([(header::CACHE_CONTROL, "public, max-age=300")], Json(metadata)).into_response())
}

/// Leads a client without a valid credential to the metadata.
pub(super) async fn challenge(State(context): State<Context>, request: Request, next: Next) -> Response {
    let base = base(&context, request.headers());
    let mut answer = next.run(request).await;
    if !Refused::is_challenge(&answer) {
        return answer;
    }
    let known = answer.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let known = known.unwrap_or(Refused::CHALLENGE);
    let more = base.map(|base| format!("{known}, resource_metadata=\"{base}{}\"", PATHS[1]));
    if let Some(value) = more.and_then(|text| HeaderValue::try_from(text).ok()) {
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    answer
}

/// The address that clients know this server by, without a slash at its end: the public one, else that of the request
/// when it names a host of ours.
fn base(context: &Context, headers: &HeaderMap) -> Option<String> {
    if let Some(url) = &context.settings.public_url {
        return Some(url.as_str().trim_end_matches('/').to_owned());
    }
    let host = headers.get(header::HOST).filter(|_| context.hosts.accepts(headers))?;
    Some(format!("http://{}", host.to_str().ok()?))
}
