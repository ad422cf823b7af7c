//! Which `Host` and `Origin` a browser may name, so that no other site reaches a server on loopback through it.

use axum::http::{HeaderMap, header, uri::Authority};
use url::{Host, Url};

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
    match text(headers, "sec-fetch-site") {
        Some(site) => !matches!(site, "same-origin" | "none"),
        None => false,
    }
}

/// Whether a form was sent from a page of this server. The browser's own word goes first; a browser that has none
/// names the origin.
pub(crate) fn from_this_site(headers: &HeaderMap) -> bool {
    if headers.contains_key("sec-fetch-site") {
        return !is_cross_site(headers);
    }
    let Some(origin) = text(headers, header::ORIGIN.as_str()) else { return true };
    let host = host_of(headers);
    let named = origin.split_once("://").map(|(_, authority)| authority);
    host.zip(named).is_some_and(|(host, named)| host.as_str().eq_ignore_ascii_case(named))
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
        for ours in
            [&[host][..], &[host, ("origin", "http://localhost:7000")], &[host, ("sec-fetch-site", "same-origin")]]
        {
            assert!(from_this_site(&headers(ours)), "{ours:?}");
        }
        for other in [
            &[host, ("origin", "http://localhost:7001")][..],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://localhost:7000"), ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!from_this_site(&headers(other)), "{other:?}");
        }
    }
}
