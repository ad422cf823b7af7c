//! The doors of Pinhole: REST, MCP and pages over the one operation table.
//!
//! A door authenticates, turns what arrived into one JSON object, calls one operation and shapes the answer. It decides
//! nothing: rules, permissions and rows are `pinhole-app`'s. `rest`, `mcp` and `pages` never import each other; what
//! they share is in `http`. `description` tells others about all of them.

mod description;
mod http;
mod mcp;
mod pages;
mod rest;
mod serve;
mod stall;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, middleware};
use bytes::Bytes;
use pinhole_app::App;
use url::Url;

pub use description::{ContractFile, contract_files};
pub use serve::serve;

use http::{Context, Hosts};

/// How the server is reached, and what it accepts.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Where people and agents reach it, when that is not a loopback address; its host is accepted as `Host`.
    pub public_url: Option<Url>,
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// More names, with or without port, accepted as `Host` beside loopback and `public_url`.
    pub allowed_hosts: Vec<String>,
    /// Issuers whose access tokens are accepted on `/mcp`; clients are told to get one there.
    pub authorization_servers: Vec<Url>,
    /// The public halves of the statement keys (an RFC 7517 key set), published for everybody.
    pub jwks: Bytes,
}

impl ServerSettings {
    /// Default of [`ServerSettings::max_body_bytes`].
    pub const MAX_BODY_BYTES: usize = 1024 * 1024;
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            public_url: None,
            max_body_bytes: Self::MAX_BODY_BYTES,
            allowed_hosts: Vec::new(),
            authorization_servers: Vec::new(),
            jwks: Bytes::from_static(br#"{"keys":[]}"#),
        }
    }
}

/// Every route: REST under `/api/v1`, MCP at `/mcp`, pages, health and the receipt keys.
pub fn router(app: App, settings: ServerSettings) -> Router {
    let hosts = Hosts::new(settings.public_url.as_ref(), &settings.allowed_hosts);
    let context = Context { app, hosts: Arc::new(hosts), settings: Arc::new(settings) };
    Router::new()
        .merge(description::routes())
        .merge(rest::routes(&context))
        .merge(mcp::routes(&context))
        .merge(pages::routes(&context))
        .fallback(http::unknown_path)
        .method_not_allowed_fallback(http::unknown_method)
        .with_state(context)
        // Bodies were measured on the way in; the extractor's own limit could cut in below the settings'.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn(http::boundary))
}
