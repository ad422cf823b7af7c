//! What an environment may say, beyond what the parser of its document checks already. Pure.

use std::collections::BTreeSet;

use pinhole_contract::{EnvironmentDocument, EnvironmentHeader, SecretDeclaration};
use pinhole_core::{ActionClass, ActionRule, Error, Result};
use url::Url;

/// Words in names of headers that carry credentials.
const CREDENTIAL_WORDS: &[&str] =
    &["auth", "cookie", "token", "secret", "passw", "apikey", "credential", "session", "jwt", "bearer", "signature"];
/// Headers that the browser, the profile or the connection decides.
const RESERVED_HEADERS: &[&str] = &[
    "accept-encoding",
    "accept-language",
    "connection",
    "content-length",
    "content-type",
    "date",
    "expect",
    "host",
    "keep-alive",
    "origin",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];

/// Checks what the parser cannot say.
///
/// # Errors
/// `invalid_arguments` with the member's path.
pub(super) fn check(document: &EnvironmentDocument) -> Result<()> {
    check_base_url(&document.base_url)?;
    check_allowed_hosts(&document.allowed_hosts)?;
    check_headers(&document.headers)?;
    check_secrets(&document.secrets)?;
    let patterns: BTreeSet<_> = document.host_patterns.iter().collect();
    if patterns.len() < document.host_patterns.len() {
        return Err(Error::invalid("host_patterns", "expected different patterns"));
    }
    // What would be stored and not kept to is refused: nobody may believe that a person is asked.
    let waits = |class: &&ActionClass| document.decision_policy.said(**class) == Some(ActionRule::RequireApproval);
    if let Some(class) = ActionClass::ALL.iter().find(waits) {
        let reason = "require_approval is not offered yet, because no run can wait for an approval: say allow or deny";
        return Err(Error::invalid(format!("decision_policy.{class}"), reason));
    }
    if document.protected {
        let reason = "true is not offered yet, because no run can wait for an approval: leave it out";
        return Err(Error::invalid("protected", reason));
    }
    Ok(())
}

/// A base URL: http or https with a host, and nothing that a path can be put after.
///
/// # Errors
/// `invalid_arguments` for `base_url`.
pub(crate) fn check_base_url(text: &str) -> Result<Url> {
    let wrong = |reason: &str| Err(Error::invalid("base_url", reason));
    let Ok(url) = Url::parse(text) else { return wrong("expected an absolute URL") };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return wrong("expected an http or https URL with a host");
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return wrong("expected no user, password, query or fragment: credentials are secrets of the environment");
    }
    Ok(url)
}

fn check_allowed_hosts(hosts: &[String]) -> Result<()> {
    for (index, host) in hosts.iter().enumerate() {
        let authority = Url::parse(&format!("http://{host}/"));
        let plain = authority.is_ok_and(|url| {
            url.username().is_empty() && url.password().is_none() && url.path() == "/" && url.query().is_none()
        });
        if !plain || host.contains('/') {
            return Err(Error::invalid(format!("allowed_hosts[{index}]"), "expected HOST or HOST:PORT"));
        }
    }
    Ok(())
}

fn check_headers(headers: &[EnvironmentHeader]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (index, header) in headers.iter().enumerate() {
        let name = header.name.as_str().to_ascii_lowercase();
        let reason = if carries_credentials(&name) {
            "a header of this name carries a credential, and those are secrets of the environment"
        } else if RESERVED_HEADERS.contains(&name.as_str()) || name.starts_with("sec-") || name.starts_with("proxy-") {
            "the browser decides this header"
        } else if !seen.insert(name) {
            "expected each name once"
        } else {
            continue;
        };
        return Err(Error::invalid(format!("headers[{index}].name"), reason));
    }
    Ok(())
}

fn carries_credentials(name: &str) -> bool {
    let joined = name.replace('-', "");
    CREDENTIAL_WORDS.iter().any(|word| joined.contains(word))
}

fn check_secrets(secrets: &[SecretDeclaration]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (index, secret) in secrets.iter().enumerate() {
        if !seen.insert(&secret.name) {
            return Err(Error::invalid(format!("secrets[{index}].name"), "expected each name once"));
        }
        if let Some(at) = secret.origins.iter().position(|origin| !is_origin(origin)) {
            let reason = "expected an origin as browsers write it, such as https://login.example or http://host:8080";
            return Err(Error::invalid(format!("secrets[{index}].origins[{at}]"), reason));
        }
        let field = secret.field.as_deref().unwrap_or("x");
        if field.trim().is_empty() || field.chars().any(char::is_control) {
            let reason = "expected a CSS selector without control characters";
            return Err(Error::invalid(format!("secrets[{index}].field"), reason));
        }
    }
    Ok(())
}

/// Whether a text is the one written form of an http or https origin.
fn is_origin(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == text
}

/// The hosts that a scenario may navigate to besides the base URL's own, each with its port: an entry without one stands
/// for the ports of http and https.
pub(crate) fn allowed_hosts(document: &EnvironmentDocument) -> Vec<(String, u16)> {
    let parse = |entry: &String| match entry.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) => vec![(host.to_owned(), port)],
        _ => vec![(entry.clone(), 80), (entry.clone(), 443)],
    };
    document.allowed_hosts.iter().flat_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Where the document with this member is refused, if it is; by the parser, that it is.
    fn refused(member: &str, value: Value) -> Option<String> {
        let mut document = json!({ "base_url": "http://a.example/" });
        document[member] = value;
        let Ok(document) = serde_json::from_value(document) else { return Some("document".into()) };
        check(&document).err().map(|error| error.details().field.clone().unwrap())
    }

    #[test]
    fn base_urls_hold_no_credentials() {
        assert_eq!(refused("base_url", json!("http://127.0.0.1:8080/app/")), None);
        for wrong in ["/x", "ftp://a/", "http://u:p@a/", "http://a/?q", "http://a/#f", "file:///etc/passwd"] {
            assert_eq!(refused("base_url", json!(wrong)).as_deref(), Some("base_url"), "{wrong}");
        }
    }

    #[test]
    fn hosts_are_hosts() {
        assert_eq!(refused("allowed_hosts", json!(["cdn.example:8443"])), None);
        for wrong in ["a/b", "u@a", "http://a", "a b"] {
            assert_eq!(refused("allowed_hosts", json!([wrong])).as_deref(), Some("allowed_hosts[0]"), "{wrong}");
        }
    }

    #[test]
    fn headers_hold_no_credentials_and_leave_the_browser_its_own() {
        let header = |name: &str| json!([{ "name": name, "value": "1" }]);
        for right in ["X-Preview", "Accept", "X-Feature-Flags"] {
            assert_eq!(refused("headers", header(right)), None, "{right}");
        }
        for wrong in
            ["Authorization", "cookie", "X-Api-Key", "X-Auth", "x-csrf-token", "Host", "Sec-Fetch-Mode", "User-Agent"]
        {
            assert_eq!(refused("headers", header(wrong)).as_deref(), Some("headers[0].name"), "{wrong}");
        }
        let twice = json!([{ "name": "X-A", "value": "1" }, { "name": "x-a", "value": "2" }]);
        assert_eq!(refused("headers", twice).as_deref(), Some("headers[1].name"));
    }

    #[test]
    fn a_secret_names_where_it_may_be_typed() {
        let secret = |origin: &str| json!([{ "name": "BUYER", "origins": [origin], "field": "#password" }]);
        assert_eq!(refused("secrets", secret("https://login.example")), None);
        for wrong in ["login.example", "https://login.example/", "https://login.example:443", "file://"] {
            assert_eq!(refused("secrets", secret(wrong)).as_deref(), Some("secrets[0].origins[0]"), "{wrong}");
        }
        let one = json!({ "name": "BUYER", "origins": ["https://a.example"] });
        assert_eq!(refused("secrets", json!([one, one])).as_deref(), Some("secrets[1].name"));
        let none = json!([{ "name": "BUYER", "origins": [] }]);
        assert!(refused("secrets", none).is_some());
    }

    #[test]
    fn what_would_not_be_kept_to_is_refused() {
        assert_eq!(refused("decision_policy", json!({ "interact": "deny", "script": "allow" })), None);
        let waits = json!({ "navigate": "require_approval" });
        assert_eq!(refused("decision_policy", waits).as_deref(), Some("decision_policy.navigate"));
        assert_eq!(refused("protected", json!(true)).as_deref(), Some("protected"));
    }

    #[test]
    fn everything_is_bounded() {
        let many = |value: Value, count: usize| Value::Array(vec![value; count]);
        assert!(refused("allowed_hosts", many(json!("a.example"), 51)).is_some());
        assert!(refused("headers", many(json!({ "name": "X-A", "value": "1" }), 21)).is_some());
        let patterns: Vec<_> = (0..21).map(|n| format!("https://{n}-*.a.example")).collect();
        assert!(refused("host_patterns", json!(patterns)).is_some());
        let twice = json!(["https://*.a.example", "https://*.a.example"]);
        assert!(refused("host_patterns", twice).is_some());
        let secrets: Vec<_> =
            (0..51).map(|n| json!({ "name": format!("S{n}"), "origins": ["https://a.example"] })).collect();
        assert!(refused("secrets", json!(secrets)).is_some());
    }

    proptest! {
        #[test]
        fn a_base_url_that_is_let_through_can_be_put_before_a_path(text in "(https?://)?[ -~]{0,40}") {
            if let Ok(url) = check_base_url(&text) {
                let page = url.join("cart").unwrap();
                prop_assert_eq!(page.origin(), url.origin());
                prop_assert!(page.username().is_empty() && page.password().is_none());
            }
        }

        #[test]
        fn any_header_name_is_judged_whatever_its_case(name in "[A-Za-z][A-Za-z0-9-]{0,20}") {
            let header = |name: &str| json!([{ "name": name, "value": "1" }]);
            let lower = refused("headers", header(&name.to_ascii_lowercase()));
            prop_assert_eq!(refused("headers", header(&name.to_ascii_uppercase())), lower);
        }

        #[test]
        fn an_origin_that_is_let_through_is_that_of_its_own_url(text in "https?://[ -~]{0,30}") {
            if is_origin(&text) {
                prop_assert_eq!(Url::parse(&text).unwrap().origin().ascii_serialization(), text);
            }
        }
    }
}
