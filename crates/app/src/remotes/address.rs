//! Where a remote is: which URLs are taken from an administrator, and which from the server's own configuration, and what
//! server one names. Pure.

use pinhole_core::{Error, Result};
use url::{Host, Url};

/// The scheme of a checked URL, as far as it matters for how the remote is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// A repository on this machine.
    Local,
    /// A server, with its name and port.
    Https,
    /// The same.
    Ssh,
}

impl Transport {
    pub(super) fn of(url: &str) -> Self {
        match url.split_once("://") {
            Some(("https", _)) => Self::Https,
            Some(("ssh", _)) => Self::Ssh,
            _ => Self::Local,
        }
    }
}

/// The written form of a URL that may come from outside.
pub(super) fn from_outside(text: &str) -> Result<String> {
    read(text).map_err(|reason| Error::invalid("url", reason))
}

/// The written form of what the server's own configuration may name: a path of this machine, too.
pub(super) fn configured(text: &str) -> Result<String> {
    let path = text.strip_prefix("file://").unwrap_or(text);
    if path.starts_with('/') { Ok(text.to_owned()) } else { from_outside(text) }
}

/// The server that a checked URL names: scheme, host and port.
pub(super) fn server(checked: &str) -> Option<String> {
    let url = Url::parse(checked).ok()?;
    let port = url.port_or_known_default().or_else(|| (url.scheme() == "ssh").then_some(22))?;
    Some(format!("{}://{}:{port}", url.scheme(), url.host_str()?))
}

/// What is shown of a URL: one that was stored before credentials were refused in the configuration may hold some.
pub(super) fn without_credentials(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    // Fails only for URLs that cannot hold any.
    let _ = url.set_password(None);
    if url.scheme() != "ssh" {
        let _ = url.set_username("");
    }
    url.set_query(None);
    url.into()
}

const EXPECTED: &str = "expected an https:// or ssh:// URL: paths belong into the server's own configuration";

fn read(text: &str) -> Result<String, &'static str> {
    let mut url = Url::parse(text).map_err(|_| EXPECTED)?;
    if !matches!(url.scheme(), "https" | "ssh") {
        return Err(EXPECTED);
    }
    // Over SSH the user names the service, not a person, and is no credential.
    if url.password().is_some() || url.scheme() == "https" && !url.username().is_empty() {
        return Err("expected no user and password: URLs are shown and logged");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("expected no query and fragment");
    }
    let host = url.host_str().filter(|host| is_host(host)).ok_or("expected the name or address of a server")?;
    // What speaks SSH compares names as they are written; HTTPS's are in small letters already.
    let host = host.to_ascii_lowercase();
    url.set_host(Some(&host)).map_err(|_| EXPECTED)?;
    if url.port() == Some(0) {
        return Err("expected another port than 0");
    }
    if !url.username().is_empty() && !is_word(url.username()) {
        return Err("expected a user of letters, digits, dots, hyphens and underscores, not beginning with a hyphen");
    }
    // The server's shell reads it.
    if url.scheme() == "ssh" && !url.path().chars().all(|c| c.is_ascii_alphanumeric() || "/._~+@=,-".contains(c)) {
        return Err("expected a path of letters, digits and any of / . _ ~ + @ = , -");
    }
    Ok(url.into())
}

/// A name, or an address. Programs that speak SSH take a host that begins with a hyphen for an option.
fn is_host(host: &str) -> bool {
    is_word(host) || matches!(Host::parse(host), Ok(Host::Ipv6(_)))
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_urls_without_credentials_come_from_outside() {
        for right in [
            "https://git.example/shop/catalog.git",
            "https://git.example:8443/My%20shop/catalog.git",
            "https://[::1]:8443/a",
            "ssh://git@git.example/shop.git",
            "ssh://git.example:22/~shop/a",
            "ssh://git@[fe80::1]/a",
        ] {
            assert_eq!(from_outside(right).unwrap(), right);
        }
        for wrong in [
            "",
            "/srv/catalog.git",
            "file:///srv/catalog.git",
            "git@git.example:shop.git",
            "http://git.example/a",
            "git://git.example/a",
            "ext::sh -c touch% /tmp/a",
            "ssh+git://git.example/a",
            "https://user@git.example/a",
            "https://u:p@git.example/a",
            "ssh://git:p@git.example/a",
            "https://git.example/a?token=1",
            "https://git.example/a#b",
            "https://",
            "ssh:///a",
            "https://git.example:0/a",
            "ssh://-oProxyCommand=touch/a",
            "ssh://-oProxyCommand/a",
            "https://-oProxyCommand/a",
            "ssh://-l@git.example/a",
            "ssh://a%20b@git.example/a",
            "ssh://git.example%20-v/a",
            "ssh://git.example/a'b",
            "ssh://git.example/$(id)",
            "ssh://git.example/a%27b",
        ] {
            assert!(from_outside(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_configuration_may_name_paths_besides() {
        for right in ["/srv/catalog.git", "file:///srv/catalog.git", "https://git.example/a"] {
            assert_eq!(configured(right).unwrap(), right);
        }
        for wrong in
            ["srv/catalog.git", "-u/srv", "file://host/srv", "https://u:p@git.example/a", "http://git.example/a"]
        {
            assert!(configured(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_server_is_its_scheme_host_and_port() {
        let same = |a: &str, b: &str| server(&from_outside(a).unwrap()) == server(&from_outside(b).unwrap());
        assert!(same("https://git.example/a", "https://GIT.example:443/b"));
        assert!(same("ssh://git@git.example/a", "ssh://ci@Git.Example:22/b"));
        for other in ["https://git.example:8443/a", "https://git.example.evil/a", "ssh://git.example:443/a"] {
            assert!(!same("https://git.example/a", other), "{other}");
        }
        assert_eq!(server("/srv/catalog.git"), None);
    }

    #[test]
    fn what_is_stored_is_shown_without_credentials() {
        assert_eq!(without_credentials("https://u:hunter2@git.example/a?token=1"), "https://git.example/a");
        assert_eq!(without_credentials("/srv/catalog.git"), "/srv/catalog.git");
    }

    proptest! {
        #[test]
        fn a_url_that_is_let_through_holds_no_password(text in "(https|ssh)://[ -~]{0,40}") {
            if let Ok(stored) = from_outside(&text) {
                let url = Url::parse(&stored).unwrap();
                prop_assert!(url.password().is_none() && url.query().is_none());
                prop_assert!(matches!(url.scheme(), "https" | "ssh"));
                prop_assert!(!url.host_str().unwrap().starts_with('-') && !url.username().starts_with('-'));
                prop_assert_eq!(from_outside(&stored).unwrap(), stored);
            }
        }
    }
}
