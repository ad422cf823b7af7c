//! Signing in: passwords, links that let a user choose one, and identities at a provider. Each proof of who the user is
//! begins a session or renews its secret.
//!
//! Passwords are hashed outside of every transaction, a bounded number at a time.

mod csrf;
mod hash;
mod identity;
mod link;
mod password;

pub use csrf::{csrf_token, csrf_token_matches};
pub(crate) use hash::Hashing;
pub use identity::{IdentityPolicy, NewFlow, OpenFlow, ProvenIdentity};
pub use link::NewLink;
