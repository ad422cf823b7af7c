//! REST under `/api/v1`: the routes of the operation table, artifact bytes, health, the receipt keys and the transparency log.
//!
//! A route has no code of its own: path, query, two headers and the body become one JSON object for the operation.

mod content;
mod disposition;
mod flow;
mod health;
mod hooks;
mod log;
mod members;
mod merge;
mod operation;
mod range;
mod session;

use axum::{
    Router, middleware,
    routing::{get, post},
};

use crate::http::{Context, limit_body, limit_hook, require_bearer_or_cookie};

/// Every REST route.
pub(crate) fn routes(context: &Context) -> Router<Context> {
    let operations = operation::table()
        .fold(Router::new(), |router, (path, methods)| router.route(&path, methods))
        .route_layer(middleware::from_fn_with_state(context.clone(), limit_body))
        .route_layer(middleware::from_fn_with_state(context.clone(), require_bearer_or_cookie));
    let content = Router::new()
        .route("/api/v1/artifacts/{artifact_id}/content", get(content::content))
        .route_layer(middleware::from_fn_with_state(context.clone(), require_bearer_or_cookie));
    let hooks = Router::new()
        .route("/api/v1/hooks/{webhook_id}", post(hooks::deliver))
        .route_layer(middleware::from_fn(limit_hook));
    Router::new()
        .merge(operations)
        .merge(content)
        .merge(hooks)
        .merge(health::routes(context))
        .merge(log::routes(context))
        .merge(session::routes(context))
}
