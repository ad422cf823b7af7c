//! The contract as files for others: OpenAPI, JSON Schemas and the tool catalog, all made from the operation table.
//!
//! It knows what the doors accept and answer, and behaves in no way itself: whatever is said here of a route, the route
//! does without asking here.

mod definitions;
mod files;
mod openapi;
mod operation;
mod outside;
mod responses;
mod session;
mod tools;

use std::sync::LazyLock;

use axum::{
    Router,
    http::{HeaderValue, header},
    response::IntoResponse,
    routing::get,
};
use bytes::Bytes;

use crate::http::Context;

pub use files::{ContractFile, contract_files};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FIVE_MINUTES: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// The route of the OpenAPI document. It is the same for everybody, so that nobody needs a credential for it.
pub(crate) fn routes() -> Router<Context> {
    Router::new().route("/api/v1/openapi.json", get(openapi_json))
}

async fn openapi_json() -> impl IntoResponse {
    static BYTES: LazyLock<Bytes> = LazyLock::new(|| files::json_bytes(openapi::document()).into());
    ([(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, FIVE_MINUTES)], BYTES.clone())
}
