//! What every door shares: request ids, credentials, limits, the problem document, security headers.
//!
//! It knows no operation by name and no page.

mod authenticate;
mod body;
mod boundary;
mod credential;
mod headers;
mod hosts;
mod invoke;
mod json;
mod problem;

use std::sync::Arc;

use pinhole_app::App;

pub(crate) use authenticate::{require_bearer, require_bearer_or_cookie, who};
pub(crate) use body::{limit_body, limit_form};
pub(crate) use boundary::boundary;
pub(crate) use credential::{COOKIE, is_token};
pub(crate) use hosts::{Hosts, from_this_site};
pub(crate) use invoke::invoke;
pub(crate) use json::{object, without_repeated_names};
pub(crate) use problem::{Refused, report, unknown_method, unknown_path};

use crate::ServerSettings;

/// What every handler gets.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) app: App,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) settings: Arc<ServerSettings>,
}
