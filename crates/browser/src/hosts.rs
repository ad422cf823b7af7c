//! Where a cell may go: the environment's own host and the ones that it allows besides. Pure.

use url::Url;

/// A host and port of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Host name or address in lower case, as [`Url::host_str`] writes it.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl HostPort {
    /// Host and port of an `http` or `https` address.
    pub fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        Some(Self { host: url.host_str()?.to_owned(), port: url.port_or_known_default()? })
    }
}

/// The hosts of one cell.
#[derive(Clone, Debug)]
pub(crate) struct Hosts(Vec<HostPort>);

impl Hosts {
    pub(crate) fn new(base: &Url, allowed: &[HostPort]) -> Self {
        Self(HostPort::of(base).into_iter().chain(allowed.iter().cloned()).collect())
    }

    pub(crate) fn allows(&self, url: &Url) -> bool {
        HostPort::of(url).is_some_and(|host| self.0.contains(&host))
    }
}

/// An address as it may be stored: without credentials, query and fragment, at most 500 characters.
pub(crate) fn without_query(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return crate::error::clip(url, 100) };
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    crate::error::clip(url.as_str(), 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_environments_hosts_over_http_are_allowed() {
        let url = |text: &str| Url::parse(text).unwrap();
        let other = HostPort { host: "cdn.example".into(), port: 443 };
        let hosts = Hosts::new(&url("http://127.0.0.1:8080/app"), &[other]);
        for yes in ["http://127.0.0.1:8080/", "https://127.0.0.1:8080/x", "https://cdn.example/x?y"] {
            assert!(hosts.allows(&url(yes)), "{yes}");
        }
        for no in [
            "http://127.0.0.1/",
            "http://cdn.example/",
            "file:///etc/passwd",
            "chrome://version",
            "ftp://127.0.0.1:8080/",
        ] {
            assert!(!hosts.allows(&url(no)), "{no}");
        }
    }

    #[test]
    fn stored_addresses_hold_no_secret_parts() {
        assert_eq!(without_query("https://u:p@host/a?token=1#x"), "https://host/a");
    }
}
