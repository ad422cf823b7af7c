//! What every door shares: request ids, credentials, limits, the problem document, security headers.
//!
//! It knows no operation by name and no page.

mod authenticate;
mod body;
mod boundary;
mod credential;
mod form;
mod headers;
mod hosts;
mod invoke;
mod json;
mod problem;
mod rate;
mod session_cookie;

use std::sync::Arc;

use pinhole_app::App;

pub(crate) use authenticate::{
    form_token, limit_strangers, require_bearer, require_bearer_or_cookie, require_own_form, require_this_site,
    stranger, who,
};
pub(crate) use body::{limit_body, limit_form, limit_hook};
pub(crate) use boundary::boundary;
pub(crate) use credential::{COOKIE, cookie_value, session_secret};
pub(crate) use form::{Form, local_path};
pub(crate) use hosts::{Hosts, is_from_nowhere_else, is_navigation};
pub(crate) use invoke::invoke;
pub(crate) use json::{object, without_repeated_names};
pub(crate) use problem::{Refused, report, unknown_method, unknown_path};

pub(crate) use rate::{Peer, Rates, address_of, network};
pub(crate) use session_cookie::{FLOW_COOKIE, clear_cookie, flow_cookie, session_cookie};

use crate::ServerSettings;

/// What every handler gets.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) app: App,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) rates: Arc<Rates>,
}
