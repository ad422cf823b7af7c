//! Patterns of addresses at which an environment's application may be found besides its base URL: previews of branches,
//! for example. Pure.

use std::{fmt, str::FromStr};

use crate::{Error, Result, text_form};

/// Scheme, host and port of addresses: `https://pr-*.preview.example` or `http://staging.example:8080`.
///
/// One `*` in the first label stands for one or more characters of that label, and never for a dot. At least two
/// labels that begin with a letter follow it, so that no pattern covers a top-level domain or an address of numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    text: String,
    scheme: &'static str,
    /// The host up to the `*`, or all of it.
    before: String,
    /// The host after the `*`.
    after: Option<String>,
    port: u16,
}

impl HostPattern {
    /// The greatest number of characters.
    pub const MAX_CHARS: usize = 255;

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether an address lies within the pattern. `host` is in lower case, as URL parsers write it, and `port` is the
    /// scheme's own where the address names none.
    pub fn matches(&self, scheme: &str, host: &str, port: u16) -> bool {
        if scheme != self.scheme || port != self.port {
            return false;
        }
        let Some(after) = &self.after else { return host == self.before };
        let middle = host.strip_prefix(&self.before).and_then(|rest| rest.strip_suffix(after.as_str()));
        middle.is_some_and(|middle| !middle.is_empty() && !middle.contains('.'))
    }
}

impl FromStr for HostPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            Error::invalid(
                "",
                "expected http:// or https://, a lower-case host with at most one * in its first label and two labels \
                 after that, and a port if it is not the scheme's own; at most 255 characters",
            )
        })
    }
}

fn parse(text: &str) -> Option<HostPattern> {
    if text.len() > HostPattern::MAX_CHARS {
        return None;
    }
    let (scheme, own_port, rest) = match text.strip_prefix("https://") {
        Some(rest) => ("https", 443, rest),
        None => ("http", 80, text.strip_prefix("http://")?),
    };
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, port_of(port)?),
        None => (rest, own_port),
    };
    let (before, after) = match host.split_once('*') {
        Some((before, after)) => (before, Some(after)),
        None => (host, None),
    };
    let named = match after {
        // With any letter in its place the whole has to be a host of names.
        Some(after) => !before.contains('.') && follows(after) && is_host(&format!("{before}x{after}")),
        None => is_host(host),
    };
    named.then(|| HostPattern {
        text: text.to_owned(),
        scheme,
        before: before.to_owned(),
        after: after.map(str::to_owned),
        port,
    })
}

/// Whether what comes after a `*` ends in two labels that begin with a letter.
fn follows(after: &str) -> bool {
    let labels: Vec<_> = after.split('.').skip(1).collect();
    let named = |label: &&str| label.starts_with(|c: char| c.is_ascii_lowercase());
    labels.len() >= 2 && labels.iter().rev().take(2).all(named)
}

fn is_host(host: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    host.split('.')
        .all(|label| !label.is_empty() && label.chars().all(inner) && !label.starts_with('-') && !label.ends_with('-'))
}

/// A port in its one usual form.
fn port_of(text: &str) -> Option<u16> {
    let usual = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    if usual { text.parse().ok() } else { None }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

text_form!(HostPattern, {
    "type": "string",
    "maxLength": 255,
    "pattern": "^https?://(([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?|([a-z0-9][a-z0-9-]*)?\\*([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(\\.[a-z]([a-z0-9-]*[a-z0-9])?){2})(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$",
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_star_stands_for_part_of_one_label() {
        let previews = pattern("https://pr-*.preview.example");
        assert!(previews.matches("https", "pr-7.preview.example", 443));
        for (scheme, host, port) in [
            ("http", "pr-7.preview.example", 443),
            ("https", "pr-7.preview.example", 8443),
            ("https", "pr-.preview.example", 443),
            ("https", "pr-a.b.preview.example", 443),
            ("https", "pr-7.preview.example.evil.example", 443),
            ("https", "pr-7.preview.example.", 443),
        ] {
            assert!(!previews.matches(scheme, host, port), "{scheme} {host} {port}");
        }
        assert!(pattern("http://10.0.0.7:8080").matches("http", "10.0.0.7", 8080));
    }

    #[test]
    fn what_is_too_wide_or_no_host_is_refused() {
        for wrong in [
            "",
            "https://",
            "*.example.org",
            "https://*",
            "https://*.org",
            "https://*.0.0.1",
            "https://*.a.0.1",
            "https://a.*.example.org",
            "https://**.example.org",
            "https://-*.example.org",
            "https://u@a.example",
            "https://a.example/",
            "https://A.example",
            "https://a..example",
            "https://a.example:",
            "https://a.example:0",
            "https://a.example:080",
            "https://a.example:65536",
            "ftp://a.example",
        ] {
            assert!(wrong.parse::<HostPattern>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_is_its_own_written_form(text in "(https?://)?[a-z0-9.*:@/-]{0,40}") {
            if let Ok(pattern) = text.parse::<HostPattern>() {
                prop_assert_eq!(pattern.to_string(), text);
            }
        }

        #[test]
        fn nothing_outside_its_own_domain_matches(label in "[a-z0-9]{0,5}", host in "[a-z0-9.-]{1,40}") {
            let pattern = pattern(&format!("https://{label}*.preview.example"));
            if pattern.matches("https", &host, 443) {
                prop_assert!(host.ends_with(".preview.example") && host.starts_with(&label));
                prop_assert_eq!(host.matches('.').count(), 2);
            }
        }
    }
}
