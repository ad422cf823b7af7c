//! The outermost layer: gives each call its id, bounds its time, and turns every refusal and panic into one body.

use std::{any::Any, panic::AssertUnwindSafe, time::Duration};

use axum::{
    extract::{FromRequestParts as _, MatchedPath, RawPathParams, Request, rejection::RawPathParamsRejection},
    http::{HeaderValue, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt;
use pinhole_core::{Error, Ids, RandomIds, RequestId};

use super::{headers::harden, problem::Refused};

/// How long a call may take until its answer begins. A body that is streamed may take longer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Runs the rest of the server for one call.
pub(crate) async fn boundary(request: Request, next: Next) -> Response {
    within(DEADLINE, request, next).await
}

async fn within(deadline: Duration, mut request: Request, next: Next) -> Response {
    let id = RequestId::from_uuid(RandomIds.uuid());
    request.extensions_mut().insert(id);
    let method = request.method().clone();
    // The route, not what was asked for: a path may hold the secret of a sign-in link.
    let path = request.extensions().get().map(|path: &MatchedPath| path.as_str().to_owned());
    let path = path.unwrap_or_else(|| "none".to_owned());
    let running = tokio::time::timeout(deadline, run(request, next));
    let answer = match AssertUnwindSafe(running).catch_unwind().await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => {
            Refused::from(Error::unavailable("deadline", "the call took too long: try again")).into_response()
        }
        Err(panic) => Refused::from(panicked(&*panic)).into_response(),
    };
    let mut answer = Refused::render(answer, id);
    tracing::debug!(request_id = %id, %method, path, status = answer.status().as_u16(), "answered");
    harden(answer.headers_mut());
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        answer.headers_mut().insert("x-request-id", id);
    }
    answer
}

async fn run(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    if is_no_text(&mut parts).await {
        return Refused::from(Error::not_found()).into_response();
    }
    next.run(Request::from_parts(parts, body)).await
}

/// Whether a part of the path is no text (UTF-8), by which nothing is named.
async fn is_no_text(parts: &mut Parts) -> bool {
    let raw = RawPathParams::from_request_parts(parts, &()).await;
    matches!(raw, Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)))
}

/// The error that stands for a panic; its text goes to the log only.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::internal(format!("panicked: {}", text.unwrap_or("without a message")))
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, middleware, routing::get};
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_panic_answers_with_the_request_id_and_nothing_of_its_text() {
        async fn fails() -> Response {
            panic!("secret of the handler")
        }
        let router = Router::new().route("/", get(fails)).layer(middleware::from_fn(boundary));
        let answer = router.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 500);
        let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
        let bytes = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body["request_id"], id);
        assert_eq!(body["code"], "internal");
        assert!(!String::from_utf8_lossy(&bytes).contains("secret"));
    }

    #[tokio::test]
    async fn a_call_that_never_ends_is_given_up() {
        let hangs = || std::future::pending::<Response>();
        let soon = |request, next| within(Duration::from_millis(1), request, next);
        let router = Router::new().route("/", get(hangs)).layer(middleware::from_fn(soon));
        let answer = router.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers()["retry-after"], "30");
    }
}
