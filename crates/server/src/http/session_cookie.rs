//! The cookies that this server sets: a browser's session, and the sign-in that it began at a provider.

use axum::http::HeaderValue;
use pinhole_core::{Error, Result};

use super::credential::COOKIE;

/// The cookie of a sign-in that was begun at a provider; it binds the provider's answer to this browser.
pub(crate) const FLOW_COOKIE: &str = "__Host-pinhole-flow";

/// `Set-Cookie` for a session. It goes with the browser at the latest; the row decides when it ends.
pub(crate) fn session_cookie(secret: &str) -> Result<HeaderValue> {
    cookie(COOKIE, secret, "")
}

/// `Set-Cookie` that ends the browser's session.
pub(crate) fn clear_cookie() -> Result<HeaderValue> {
    cookie(COOKIE, "", "; Max-Age=0")
}

/// `Set-Cookie` for a sign-in that was begun, or to forget it.
pub(crate) fn flow_cookie(state: Option<&str>) -> Result<HeaderValue> {
    match state {
        Some(state) => cookie(FLOW_COOKIE, state, "; Max-Age=600"),
        None => cookie(FLOW_COOKIE, "", "; Max-Age=0"),
    }
}

/// Lax: a link from elsewhere leads to a page as somebody who is signed in, and a provider's answer finds the sign-in
/// that it belongs to; nothing else that another site causes carries the cookie.
fn cookie(name: &str, value: &str, more: &str) -> Result<HeaderValue> {
    let text = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax{more}");
    HeaderValue::try_from(text).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};
    use proptest::prelude::*;

    use super::*;
    use crate::http::credential::cookie_value;

    #[test]
    fn cookies_are_for_this_host_alone() {
        assert_eq!(session_cookie("phn_1").unwrap(), "__Host-pinhole=phn_1; Path=/; Secure; HttpOnly; SameSite=Lax");
        let cleared = "__Host-pinhole=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0";
        assert_eq!(clear_cookie().unwrap(), cleared);
        let begun = "__Host-pinhole-flow=s; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600";
        assert_eq!(flow_cookie(Some("s")).unwrap(), begun);
    }

    proptest! {
        #[test]
        fn what_is_set_is_what_comes_back(secret in "[A-Za-z0-9._~+/=-]{1,100}") {
            for (name, set) in [(COOKIE, session_cookie(&secret).unwrap()), (FLOW_COOKIE, flow_cookie(Some(&secret)).unwrap())] {
                // A browser sends what comes before the attributes.
                let sent = set.to_str().unwrap().split(';').next().unwrap().to_owned();
                let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(sent).unwrap())]);
                prop_assert_eq!(cookie_value(&headers, name), Some(secret.as_str()));
            }
        }
    }
}
