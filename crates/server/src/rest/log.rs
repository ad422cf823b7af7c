//! The transparency log for everybody, in the form of C2SP tlog-tiles below one prefix: the newest checkpoint, the tiles
//! of the tree, and the key that the checkpoint is signed with. No credential is needed, since all of it is hashes; who
//! has none and asks often has to wait.

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderValue, header},
    middleware,
    response::IntoResponse,
    routing::get,
};

use crate::http::{Context, Refused, limit_strangers};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");
/// What is in a tile of a given width never changes while the log lasts; after a lost one another has the same paths.
const A_WHILE: HeaderValue = HeaderValue::from_static("public, max-age=600");

/// The routes.
pub(super) fn routes(context: &Context) -> Router<Context> {
    Router::new()
        .route("/.well-known/pinhole/log/checkpoint", get(checkpoint))
        .route("/.well-known/pinhole/log/key", get(key))
        .route("/.well-known/pinhole/log/tile/{*path}", get(tile))
        .route_layer(middleware::from_fn_with_state(context.clone(), limit_strangers))
}

async fn checkpoint(State(context): State<Context>) -> Result<impl IntoResponse, Refused> {
    let note = context.app.log_checkpoint().await?;
    Ok(([(header::CONTENT_TYPE, TEXT), (header::CACHE_CONTROL, ASK_AGAIN)], note))
}

async fn key(State(context): State<Context>) -> Result<impl IntoResponse, Refused> {
    let key = context.app.log_verifier_key().await?;
    Ok(([(header::CONTENT_TYPE, TEXT), (header::CACHE_CONTROL, ASK_AGAIN)], format!("{key}\n")))
}

async fn tile(State(context): State<Context>, Path(path): Path<String>) -> Result<impl IntoResponse, Refused> {
    let bytes = context.app.log_tile(&path).await?;
    Ok(([(header::CONTENT_TYPE, BYTES), (header::CACHE_CONTROL, A_WHILE)], bytes))
}
