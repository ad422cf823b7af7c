//! MCP over streamable HTTP at `/mcp`: the operation table as tools, without sessions.
//!
//! Every request carries its own credential and is checked like one on REST. Nothing is kept between requests, so any
//! process can answer any of them; clients of the revision before sessions were dropped are served the same way.

#[cfg(test)]
mod fixtures;
mod handler;
mod metadata;
mod tools;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any_service, get},
};
use pinhole_core::Error;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};

use crate::http::{Context, Refused, limit_body, require_bearer, without_repeated_names};
use handler::Tools;
pub(crate) use tools::tool;
use tools::toolbox;

/// The routes.
pub(crate) fn routes(context: &Context) -> Router<Context> {
    let app = context.app.clone();
    mounted(context, move || Tools::new(app.clone(), toolbox()))
}

/// The routes to a handler that `handler` makes for each request, behind everything that stands before it.
fn mounted<H: ServerHandler>(
    context: &Context,
    handler: impl Fn() -> H + Clone + Send + Sync + 'static,
) -> Router<Context> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(context.settings.max_body_bytes)
        .with_allowed_hosts(context.hosts.hosts())
        .with_allowed_origins(context.hosts.origins())
        .enforce_origin_validation();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler()), sessions, config);
    let described =
        metadata::PATHS.iter().fold(Router::new(), |router, path| router.route(path, get(metadata::metadata)));
    let mcp = Router::new()
        .route("/mcp", any_service(service))
        .route_layer(middleware::from_fn(refuse_repeated_names))
        .route_layer(middleware::from_fn_with_state(context.clone(), limit_body))
        .route_layer(middleware::from_fn_with_state(context.clone(), require_bearer))
        .route_layer(middleware::from_fn_with_state(context.clone(), metadata::challenge));
    described.merge(mcp)
}

/// Refuses JSON in which an object has a name twice: which of the two counts is nobody's choice to make. REST does the
/// same.
async fn refuse_repeated_names(request: Request, next: Next) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    // Already read whole and measured on the way in.
    let bytes = axum::body::to_bytes(body, usize::MAX).await.map_err(Error::internal)?;
    if without_repeated_names(&bytes) {
        return Ok(next.run(Request::from_parts(parts, bytes.into())).await);
    }
    let refusal =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a name is given twice in an object"}}"#;
    Ok((StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], refusal).into_response())
}
