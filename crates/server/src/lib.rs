//! The doors of Pinhole: REST, MCP and pages over the one operation table.
//!
//! A door authenticates, turns what arrived into one JSON object, calls one operation and shapes the answer. It decides
//! nothing: rules, permissions and rows are `pinhole-app`'s. `rest`, `mcp` and `pages` never import each other; what
//! they share is in `http`. `description` tells others about all of them.

mod description;
mod http;
mod mcp;
mod pages;
mod places;
mod rest;
mod serve;
mod stall;

use std::{num::NonZeroU32, sync::Arc};

use axum::{Router, extract::DefaultBodyLimit, middleware};
use pinhole_app::{App, IdentityPolicy};
use url::Url;

pub use description::{ContractFile, contract_files};
pub use pinhole_oidc::{Provider, ProviderConfig};
pub use serve::serve;

use http::{Context, Hosts, Rates};

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
    /// Whether a proxy in front of this server appends the address of each caller to `X-Forwarded-For`. Its word is taken
    /// for it, so that nothing but the proxy may reach the server.
    pub behind_proxy: bool,
    /// How often one may call.
    pub limits: RateLimits,
    /// Where people can sign in beside name and password.
    pub oidc: Option<OidcSettings>,
}

/// A provider of identities, and what its word is worth.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The provider; it sends people back to `/api/v1/session/oidc/callback`.
    pub provider: Provider,
    /// Whom it lets in, and into which groups.
    pub policy: IdentityPolicy,
}

/// How often one may call. The buckets are of this process and start full.
#[derive(Clone, Copy, Debug)]
pub struct RateLimits {
    /// Calls of one principal per second.
    pub principal_per_second: NonZeroU32,
    /// How many of them may come at once.
    pub principal_burst: NonZeroU32,
    /// Refused calls per second without a valid credential, from one address.
    pub stranger_per_second: NonZeroU32,
    /// How many of them may come at once.
    pub stranger_burst: NonZeroU32,
    /// Attempts to sign in per minute, from one address; so many may come at once.
    pub sign_ins_per_minute: NonZeroU32,
}

impl Default for RateLimits {
    fn default() -> Self {
        let number = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            principal_per_second: number(50),
            principal_burst: number(200),
            stranger_per_second: number(20),
            stranger_burst: number(100),
            sign_ins_per_minute: number(10),
        }
    }
}

impl ServerSettings {
    /// Default of [`ServerSettings::max_body_bytes`].
    pub const MAX_BODY_BYTES: usize = 1024 * 1024;

    /// Whether people can sign in at a provider of identities.
    fn has_provider(&self) -> bool {
        self.oidc.is_some()
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            public_url: None,
            max_body_bytes: Self::MAX_BODY_BYTES,
            allowed_hosts: Vec::new(),
            authorization_servers: Vec::new(),
            behind_proxy: false,
            limits: RateLimits::default(),
            oidc: None,
        }
    }
}

/// Every route: REST under `/api/v1`, MCP at `/mcp`, pages, health and the receipt keys.
pub fn router(app: App, settings: ServerSettings) -> Router {
    let context = context(app, settings);
    let mcp = mcp::routes(&context);
    assembled(context, mcp)
}

fn context(app: App, settings: ServerSettings) -> Context {
    let hosts = Hosts::new(settings.public_url.as_ref(), &settings.allowed_hosts);
    let rates = Arc::new(Rates::new(&settings.limits));
    Context { app, hosts: Arc::new(hosts), settings: Arc::new(settings), rates }
}

/// Every route, with these ones to MCP.
fn assembled(context: Context, mcp: Router<Context>) -> Router {
    Router::new()
        .merge(description::routes())
        .merge(rest::routes(&context))
        .merge(mcp)
        .merge(pages::routes(&context))
        .fallback(http::unknown_path)
        .method_not_allowed_fallback(http::unknown_method)
        .with_state(context)
        // Bodies were measured on the way in; the extractor's own limit could cut in below the settings'.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn(http::boundary))
}
