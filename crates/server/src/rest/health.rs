//! Health for supervisors, and the public keys for everybody. No credential is needed and nothing is told that would
//! be worth one.

use axum::{
    Extension, Json, Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use pinhole_core::{Actor, RequestId, Result};
use serde_json::json;

use crate::http::{Context, Refused, limit_strangers, report};

const KEY_SET: HeaderValue = HeaderValue::from_static("application/jwk-set+json");
const FIVE_MINUTES: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// The routes.
pub(super) fn routes(context: &Context) -> Router<Context> {
    let keys = Router::new()
        .route("/.well-known/pinhole/receipt-keys.json", get(keys))
        .route_layer(middleware::from_fn_with_state(context.clone(), limit_strangers));
    Router::new()
        .route("/livez", get(async || Json(json!({ "status": "ok" }))))
        .route("/readyz", get(ready))
        .merge(keys)
}

/// Says whether rows can be read, bytes can be stored, and the transparency log goes on.
async fn ready(State(context): State<Context>, Extension(request): Extension<RequestId>) -> Response {
    let checks = context.app.readiness(&Actor::system(request)).await;
    let outcome = |check: &Result<()>| match check {
        Ok(()) => "ok",
        Err(error) => {
            report(error, request);
            "fail"
        }
    };
    let (database, storage, log) = (outcome(&checks.database), outcome(&checks.storage), outcome(&checks.log));
    let ready = [database, storage, log].iter().all(|outcome| *outcome == "ok");
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "status": if ready { "ok" } else { "fail" },
        "checks": { "database": database, "storage": storage, "log": log },
    });
    (status, Json(body)).into_response()
}

/// Every public key that there ever was, as it is now: a rotation needs no restart.
async fn keys(State(context): State<Context>) -> Result<impl IntoResponse, Refused> {
    let keys = context.app.public_keys().and_then(|keys| keys.to_bytes())?;
    Ok(([(header::CONTENT_TYPE, KEY_SET), (header::CACHE_CONTROL, FIVE_MINUTES)], keys))
}
