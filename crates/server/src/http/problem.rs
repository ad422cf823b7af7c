//! Refusals: carried to the boundary as the error itself, rendered there once (RFC 9457) and logged there once.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use pinhole_contract::{ErrorBody, status_of};
use pinhole_core::{Code, Error, RequestId};
use serde::Serialize;

/// What `WWW-Authenticate` says to a caller without a credential (RFC 6750).
const CHALLENGE: HeaderValue = HeaderValue::from_static(Refused::CHALLENGE);
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// An error on its way out, with headers that belong to it.
pub(crate) struct Refused {
    error: Error,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// How a refusal travels in a response until the boundary renders it.
#[derive(Clone)]
struct Pending(Arc<Error>);

/// The problem document: RFC 9457 members beside the body that every transport has.
#[derive(Serialize)]
struct Problem {
    r#type: String,
    title: String,
    status: u16,
    detail: String,
    #[serde(flatten)]
    body: ErrorBody,
}

impl Refused {
    /// The challenge as text.
    pub(crate) const CHALLENGE: &str = "Bearer realm=\"pinhole\"";

    /// Whether `answer` asks for a credential; for layers that add to the challenge.
    pub(crate) fn is_challenge(answer: &Response) -> bool {
        let pending = answer.extensions().get::<Pending>();
        pending.is_some_and(|Pending(error)| error.code() == Code::Unauthenticated)
    }

    /// Why.
    pub(crate) fn code(&self) -> Code {
        self.error.code()
    }

    /// Adds a header to the answer.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Gives a refusal its body; leaves any other answer alone.
    pub(super) fn render(mut answer: Response, request: RequestId) -> Response {
        let Some(Pending(error)) = answer.extensions_mut().remove::<Pending>() else { return answer };
        report(&error, request);
        let (status, document) = document(&error, request);
        let headers = answer.headers_mut();
        if error.code() == Code::Unauthenticated && !headers.contains_key(header::WWW_AUTHENTICATE) {
            headers.insert(header::WWW_AUTHENTICATE, CHALLENGE);
        }
        if let Some(seconds) = error.details().retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
        headers.remove(header::CONTENT_LENGTH);
        *answer.status_mut() = status;
        *answer.body_mut() = Body::from(document);
        answer
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { error, headers: Vec::new() }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.headers_mut().extend(self.headers);
        response.extensions_mut().insert(Pending(Arc::new(self.error)));
        response
    }
}

/// Writes a fault of ours or of a provider to the log, with everything behind it; other refusals are the caller's.
pub(crate) fn report(error: &Error, request: RequestId) {
    match error.code() {
        Code::Internal => tracing::error!(request_id = %request, error = ?error, "call failed"),
        Code::ProviderUnavailable => tracing::warn!(request_id = %request, error = ?error, "call failed"),
        code => tracing::debug!(request_id = %request, %code, error = ?error, "call refused"),
    }
}

/// The fallback for paths that do not exist.
pub(crate) async fn unknown_path() -> Refused {
    Error::not_found().into()
}

/// The fallback for paths that exist with other methods; the router adds `Allow`.
pub(crate) async fn unknown_method() -> Refused {
    Error::protocol(Code::MethodNotAllowed, "this path has other methods: see the Allow header").into()
}

fn document(error: &Error, request: RequestId) -> (StatusCode, Vec<u8>) {
    let status = status_of(error);
    let body = ErrorBody::new(error, request);
    let title = title(error.code());
    let kind = format!("urn:pinhole:error:{}", error.code());
    let problem = Problem { r#type: kind, title, status, detail: body.message.clone(), body };
    let bytes = serde_json::to_vec(&problem).unwrap_or_default();
    (StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), bytes)
}

/// The code as words, such as `Invalid arguments`.
fn title(code: Code) -> String {
    let words = code.as_str().replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use pinhole_core::{Ids, RandomIds};
    use serde_json::Value;

    use super::*;

    fn rendered(error: Error) -> (Response, RequestId) {
        let id = RequestId::from_uuid(RandomIds.uuid());
        (Refused::render(Refused::from(error).into_response(), id), id)
    }

    #[tokio::test]
    async fn the_document_has_the_body_of_every_transport() {
        let (answer, id) = rendered(Error::stale(3, 4));
        assert_eq!(answer.status(), 409);
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        let bytes = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        let problem: Value = serde_json::from_slice(&bytes).unwrap();
        let body = serde_json::to_value(ErrorBody::new(&Error::stale(3, 4), id)).unwrap();
        for (member, value) in body.as_object().unwrap() {
            assert_eq!(&problem[member], value, "{member}");
        }
        assert_eq!(problem["type"], "urn:pinhole:error:conflict");
        assert_eq!(problem["title"], "Conflict");
        assert_eq!(problem["status"], 409);
        assert_eq!(problem["detail"], problem["message"]);
    }

    #[test]
    fn refusals_say_what_to_do_in_their_headers() {
        assert_eq!(rendered(Error::unauthenticated()).0.headers()["www-authenticate"], CHALLENGE);
        assert_eq!(rendered(Error::rate_limited(7)).0.headers()["retry-after"], "7");
        assert_eq!(rendered(Error::too_large("body", 9)).0.status(), 413);
        assert_eq!(rendered(Error::rate_limited(7)).0.status(), 429);
    }

    #[test]
    fn every_code_has_a_status_and_a_title() {
        for &code in Code::ALL {
            let (answer, _) = rendered(Error::protocol(code, "x"));
            assert!(answer.status().is_client_error() || answer.status().is_server_error(), "{code}");
            assert!(!title(code).contains('_'), "{code}");
        }
    }
}
