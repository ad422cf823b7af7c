//! Which `Host` and `Origin` a browser may name, so that no other site reaches a server on loopback through it.

use axum::http::{HeaderMap, header, uri::Authority};
use url::{Host, Url};

/// The header in which browsers say whose page made them send a request.
const SITE: &str = "sec-fetch-site";
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The accepted hosts and origins.
pub(crate) struct Hosts {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Hosts {
    /// Loopback, the public URL, and further host names with or without port.
    pub(crate) fn new(public: Option<&Url>, more: &[String]) -> Self {
        let mut hosts: Vec<String> = LOOPBACK.map(str::to_owned).into();
        let mut origins: Vec<String> =
            ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned).into();
        if let Some((host, url)) = public.and_then(|url| Some((url.host()?, url))) {
            origins.push(format!("{}://{host}:{}", url.scheme(), url.port_or_known_default().unwrap_or(443)));
            hosts.push(match host {
                Host::Ipv6(address) => address.to_string(),
                other => other.to_string(),
            });
        }
        hosts.extend(more.iter().cloned());
        Self { hosts, origins }
    }

    /// Every accepted host.
    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Every accepted origin; `:*` stands for any port.
    pub(crate) fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Whether the request names exactly one host and it is one of ours.
    pub(crate) fn accepts(&self, headers: &HeaderMap) -> bool {
        let Some(authority) = host_of(headers) else { return false };
        let name = authority.host().trim_matches(['[', ']']);
        self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(authority.as_str()))
    }
}

/// Whether another site's page made the browser send this. Clients that are no browsers say nothing and are not.
pub(super) fn is_cross_site(headers: &HeaderMap) -> bool {
    match text(headers, SITE) {
        Some(site) => !matches!(site, "same-origin" | "none"),
        None => false,
    }
}

/// Whether somebody follows a link to a page of ours: the address bar will show it, and nobody else sees the answer.
pub(crate) fn is_navigation(headers: &HeaderMap) -> bool {
    text(headers, "sec-fetch-mode") == Some("navigate") && text(headers, "sec-fetch-dest") == Some("document")
}

/// Whether a request that changes something was sent from a page of this server. The browser's own word goes first; a
/// browser that has none names the origin. Silence is no consent.
pub(crate) fn from_this_site(headers: &HeaderMap) -> bool {
    if headers.contains_key(SITE) {
        return !is_cross_site(headers);
    }
    let host = host_of(headers);
    let origin = text(headers, header::ORIGIN.as_str()).and_then(|origin| Url::parse(origin).ok());
    host.zip(origin).is_some_and(|(host, origin)| is_origin_of(&host, &origin))
}

/// Whether a program that is no browser sent this, or a page of this server: nothing says that another site did.
pub(crate) fn is_from_nowhere_else(headers: &HeaderMap) -> bool {
    let silent = !headers.contains_key(SITE) && !headers.contains_key(header::ORIGIN);
    silent || from_this_site(headers)
}

/// Whether pages of `origin` come from `host`. Plain HTTP counts on loopback alone: anybody on the way could have
/// written such a page.
fn is_origin_of(host: &Authority, origin: &Url) -> bool {
    let name = host.host().trim_matches(['[', ']']);
    let secure = origin.scheme() == "https" || (origin.scheme() == "http" && LOOPBACK.contains(&name));
    let origin_host = match origin.host() {
        Some(Host::Ipv6(address)) => address.to_string(),
        Some(other) => other.to_string(),
        None => return false,
    };
    let default_port = if origin.scheme() == "https" { 443 } else { 80 };
    let same_port = origin.port_or_known_default() == Some(host.port_u16().unwrap_or(default_port));
    secure && same_port && origin_host.eq_ignore_ascii_case(name)
}

fn host_of(headers: &HeaderMap) -> Option<Authority> {
    let mut values = headers.get_all(header::HOST).iter();
    let host = values.next()?.to_str().ok()?.parse().ok()?;
    values.next().is_none().then_some(host)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_our_hosts_are_accepted() {
        let url = Url::parse("https://Pinhole.example/").unwrap();
        let hosts = Hosts::new(Some(&url), &["inner:8080".into()]);
        for good in ["localhost:7000", "127.0.0.1", "[::1]:80", "pinhole.example", "PINHOLE.example:8443", "inner:8080"]
        {
            assert!(hosts.accepts(&headers(&[("host", good)])), "{good}");
        }
        for bad in ["evil.example", "inner:81", "pinhole.example.evil", "", "a b"] {
            assert!(!hosts.accepts(&headers(&[("host", bad)])), "{bad}");
        }
        assert!(!hosts.accepts(&HeaderMap::new()));
        assert!(hosts.origins().contains(&"https://pinhole.example:443".to_owned()));
    }

    #[test]
    fn forms_of_other_sites_are_told_apart() {
        let host = ("host", "localhost:7000");
        let public = ("host", "pinhole.example");
        for ours in [
            &[host, ("origin", "http://localhost:7000")][..],
            &[host, ("sec-fetch-site", "same-origin")],
            &[host, ("sec-fetch-site", "none")],
            &[("host", "[::1]:7000"), ("origin", "http://[::1]:7000")],
            &[public, ("origin", "https://pinhole.example")],
            &[("host", "pinhole.example:443"), ("origin", "https://pinhole.example")],
        ] {
            assert!(from_this_site(&headers(ours)), "{ours:?}");
            assert!(is_from_nowhere_else(&headers(ours)), "{ours:?}");
        }
        for other in [
            &[host, ("origin", "http://localhost:7001")][..],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://localhost:7000"), ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
            &[host, ("sec-fetch-site", "?")],
            &[public, ("origin", "http://pinhole.example")],
            &[public, ("origin", "https://pinhole.example.evil")],
            &[("origin", "https://pinhole.example")],
        ] {
            assert!(!from_this_site(&headers(other)), "{other:?}");
            assert!(!is_from_nowhere_else(&headers(other)), "{other:?}");
        }
        assert!(!from_this_site(&headers(&[host])));
        assert!(is_from_nowhere_else(&headers(&[host])));
    }

    fn value() -> impl Strategy<Value = Vec<u8>> {
        let odd = vec(prop_oneof![32_u8..127, 128_u8..=255], 0..30);
        prop_oneof!["(https?://)?[a-z.:@/0-9\\[\\]-]{0,24}".prop_map(String::into_bytes), odd]
    }

    proptest! {
        #[test]
        fn no_header_is_too_odd_and_a_host_of_ours_is_named_whole(given in [value(), value(), value()]) {
            let names = [header::HOST, header::ORIGIN, HeaderName::from_static(SITE)];
            let given = given.map(|bytes| HeaderValue::from_bytes(&bytes).unwrap());
            let headers: HeaderMap = names.into_iter().zip(given).collect();
            let hosts = Hosts::new(None, &["inner:8080".into()]);
            if hosts.accepts(&headers) {
                let host = headers[header::HOST].to_str().unwrap();
                let name = host.rsplit('@').next().unwrap();
                let is_ours = |ours: &str| name == ours || name.strip_prefix(ours).is_some_and(|port| port.starts_with(':'));
                prop_assert!(["localhost", "127.0.0.1", "[::1]", "inner:8080"].into_iter().any(is_ours), "{}", host);
            }
            // The browser's own word goes first.
            prop_assert!(!from_this_site(&headers) || ["same-origin", "none"].contains(&headers[SITE].to_str().unwrap()));
            let _asked = (is_navigation(&headers), is_from_nowhere_else(&headers));
        }

        #[test]
        fn pages_come_from_the_host_that_they_name(port in 1..u16::MAX, other in 1..u16::MAX, name in "[a-z]{1,6}\\.example") {
            let headers = |host: String, origin: String| -> HeaderMap {
                let value = |text: String| HeaderValue::try_from(text).unwrap();
                HeaderMap::from_iter([(header::HOST, value(host)), (header::ORIGIN, value(origin))])
            };
            let host = format!("{name}:{port}");
            let own = format!("https://{name}:{port}");
            prop_assert!(from_this_site(&headers(host.clone(), own)));
            prop_assert_eq!(from_this_site(&headers(host.clone(), format!("https://{name}:{other}"))), port == other);
            let other = format!("https://{name}.evil:{port}");
            prop_assert!(!from_this_site(&headers(host, other)));
        }
    }
}
