//! OpenID Connect as a client: discovery, the authorisation code flow with PKCE, and verified claims.
//!
//! It knows one provider and answers who signed in there. It must not know of sessions, rows or pages, and must not be
//! called while a transaction is open.

mod claims;
mod http;
mod provider;

pub use provider::{Answer, Identity, Proof, Provider, ProviderConfig, Request};
