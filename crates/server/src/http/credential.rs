//! The credential of a request: exactly one bearer token, or the cookie of a browser's session.

use axum::http::{HeaderMap, header};
use pinhole_core::{Error, Result};

/// The cookie that holds the secret of a browser's session. The prefix makes browsers take it only with `Secure`, for
/// this host alone and for every path.
pub(crate) const COOKIE: &str = "__Host-pinhole";
/// Longer than any token that Pinhole mints.
const MAX_TOKEN_BYTES: usize = 512;

/// How a request says who it is from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Credential<'a> {
    /// The `Authorization` header.
    Bearer(&'a str),
    /// The cookie.
    Cookie(&'a str),
}

impl<'a> Credential<'a> {
    /// What the headers say, if they say anything.
    ///
    /// # Errors
    /// `unauthenticated` when they say it badly or more than once: two credentials could be two principals.
    pub(crate) fn of(headers: &'a HeaderMap) -> Result<Option<Self>> {
        match (bearer(headers)?, cookie(headers)?) {
            (Some(token), None) => Ok(Some(Self::Bearer(token))),
            (None, Some(token)) => Ok(Some(Self::Cookie(token))),
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(twice()),
        }
    }
}

/// The secret of the browser's session, whatever its state; none beside a bearer token.
pub(crate) fn session_secret(headers: &HeaderMap) -> Option<&str> {
    match Credential::of(headers) {
        Ok(Some(Credential::Cookie(secret))) => Some(secret),
        _ => None,
    }
}

/// The only value of a cookie of ours; another name than that of the session's.
pub(crate) fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = cookies(headers).filter(|(given, _)| *given == name).map(|(_, value)| value);
    values.next().filter(|value| is_token(value) && values.next().is_none())
}

/// Whether `text` could be a token at all (RFC 6750 `b64token`).
pub(super) fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    (1..=MAX_TOKEN_BYTES).contains(&text.len()) && text.bytes().all(allowed)
}

fn twice() -> Error {
    Error::unauthenticated().with_message("more than one credential: send one")
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(twice());
    }
    let (scheme, token) =
        value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(Error::unauthenticated)?;
    if scheme.eq_ignore_ascii_case("bearer") && is_token(token) {
        Ok(Some(token))
    } else {
        Err(Error::unauthenticated())
    }
}

fn cookie(headers: &HeaderMap) -> Result<Option<&str>> {
    let mut tokens = cookies(headers).filter(|(name, _)| *name == COOKIE).map(|(_, token)| token);
    let Some(token) = tokens.next() else { return Ok(None) };
    match tokens.next() {
        Some(_) => Err(twice()),
        None if is_token(token) => Ok(Some(token)),
        None => Err(Error::unauthenticated()),
    }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name.clone(), HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn one_credential_is_read() {
        let bearer = headers(&[(header::AUTHORIZATION, "bearer phu_a1")]);
        assert_eq!(Credential::of(&bearer).unwrap(), Some(Credential::Bearer("phu_a1")));
        let cookie = headers(&[(header::COOKIE, "theme=dark; __Host-pinhole=phu_a1")]);
        assert_eq!(Credential::of(&cookie).unwrap(), Some(Credential::Cookie("phu_a1")));
        assert_eq!(Credential::of(&headers(&[(header::COOKIE, "theme=dark")])).unwrap(), None);
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in [
            headers(&[(header::AUTHORIZATION, "Basic cGhvOg==")]),
            headers(&[(header::AUTHORIZATION, "Bearer")]),
            headers(&[(header::AUTHORIZATION, "Bearer ")]),
            headers(&[(header::AUTHORIZATION, "Bearer a b")]),
            headers(&[(header::AUTHORIZATION, "Bearer a"), (header::AUTHORIZATION, "Bearer a")]),
            headers(&[(header::AUTHORIZATION, "Bearer a"), (header::COOKIE, "__Host-pinhole=a")]),
            headers(&[(header::COOKIE, "__Host-pinhole=a; __Host-pinhole=b")]),
            headers(&[(header::COOKIE, "__Host-pinhole=")]),
        ] {
            let error = Credential::of(&wrong).unwrap_err();
            assert_eq!(error.code(), pinhole_core::Code::Unauthenticated, "{wrong:?}");
        }
        assert!(!is_token(&"a".repeat(MAX_TOKEN_BYTES + 1)));
    }

    /// Cookies of others, of ours, and what is no cookie.
    fn pair() -> impl Strategy<Value = (String, String)> {
        let name = prop_oneof![Just(COOKIE.to_owned()), "[a-z_-]{1,8}", Just("__Host-pinhole-flow".to_owned())];
        (name, "[A-Za-z0-9._~+/=-]{0,12}")
    }

    fn values(name: &HeaderName, lines: &[Vec<u8>]) -> HeaderMap {
        lines.iter().map(|line| (name.clone(), HeaderValue::from_bytes(line).unwrap())).collect()
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        vec(prop_oneof![32_u8..127, 128_u8..=255], 0..40)
    }

    proptest! {
        #[test]
        fn the_session_is_the_only_cookie_of_its_name(lines in vec(vec(pair(), 0..4), 0..3)) {
            let written = |line: &Vec<(String, String)>| {
                line.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ").into_bytes()
            };
            let headers = values(&header::COOKIE, &lines.iter().map(written).collect::<Vec<_>>());
            let ours: Vec<_> = lines.iter().flatten().filter(|(name, _)| name == COOKIE).collect();
            let expected = match ours.as_slice() {
                [] => Some(None),
                [(_, secret)] if !secret.is_empty() => Some(Some(Credential::Cookie(secret))),
                _ => None,
            };
            prop_assert_eq!(Credential::of(&headers).ok(), expected);
        }

        #[test]
        fn a_token_is_read_as_it_was_written(scheme in "[Bb][Ee][Aa][Rr][Ee][Rr]", token in "[A-Za-z0-9._~+/=-]{1,512}") {
            let headers = values(&header::AUTHORIZATION, &[format!("{scheme} {token}").into_bytes()]);
            prop_assert_eq!(Credential::of(&headers).unwrap(), Some(Credential::Bearer(&token)));
        }

        #[test]
        fn no_header_is_too_odd(authorization in vec(bytes(), 0..3), cookies in vec(bytes(), 0..3)) {
            let mut headers = values(&header::AUTHORIZATION, &authorization);
            headers.extend(values(&header::COOKIE, &cookies));
            if let Ok(Some(Credential::Bearer(text) | Credential::Cookie(text))) = Credential::of(&headers) {
                prop_assert!(is_token(text) && authorization.len() + cookies.len() > 0);
            }
        }
    }
}
