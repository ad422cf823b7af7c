//! Forms of the pages: fields that are given once, and paths to go on to that stay on this server.

use pinhole_core::{Error, Result};
use url::{Url, form_urlencoded};

/// The longest path to go on to, in bytes.
const MAX_RETURN_BYTES: usize = 2000;
/// Stands for this server where a path has to be resolved against something.
const HERE: &str = "http://pinhole.invalid";

/// The fields of a form or a query.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a>(&'a [u8]);

impl<'a> Form<'a> {
    /// The fields in a body.
    pub(crate) fn of_body(body: &'a [u8]) -> Self {
        Self(body)
    }

    /// The fields in a query, if there is one.
    pub(crate) fn of_query(query: Option<&'a str>) -> Self {
        Self(query.unwrap_or_default().as_bytes())
    }

    /// A field that may be left out.
    ///
    /// # Errors
    /// `invalid_arguments` when it is given twice.
    pub(crate) fn optional(self, name: &str) -> Result<Option<String>> {
        let mut values = form_urlencoded::parse(self.0).filter(|(given, _)| given == name);
        let value = values.next().map(|(_, value)| value.into_owned());
        if values.next().is_some() { Err(Error::invalid(name, "given twice")) } else { Ok(value) }
    }

    /// A field that must be there, if only empty.
    ///
    /// # Errors
    /// `invalid_arguments` when it is not, or given twice.
    pub(crate) fn required(self, name: &str) -> Result<String> {
        self.optional(name)?.ok_or_else(|| Error::invalid(name, "is missing in the form"))
    }

    /// A field that may be given any number of times.
    pub(crate) fn all(self, name: &str) -> Vec<String> {
        let values = form_urlencoded::parse(self.0).filter(|(given, _)| given == name);
        values.map(|(_, value)| value.into_owned()).collect()
    }

    /// The path in the field `return_to`, or the front page where it is none of ours.
    pub(crate) fn return_to(self) -> String {
        self.optional("return_to").ok().flatten().map_or_else(|| "/".to_owned(), |path| local_path(&path))
    }
}

/// `path`, if it is the path of a page on this server and cannot be taken for anything else; otherwise the front page.
pub(crate) fn local_path(path: &str) -> String {
    let front = || "/".to_owned();
    let plain = path.len() <= MAX_RETURN_BYTES && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if !plain || !path.starts_with('/') || path.starts_with("//") {
        return front();
    }
    let Some((here, url)) = Url::parse(HERE).ok().and_then(|here| here.join(path).ok().map(|url| (here, url))) else {
        return front();
    };
    // Resolved as a browser does, with all its dots gone.
    let resolved = url.path();
    let local = url.origin() == here.origin() && !resolved.starts_with("//");
    if !local || resolved.starts_with("/api/") || resolved.starts_with("/sign-in") {
        return front();
    }
    url.query().map_or_else(|| resolved.to_owned(), |query| format!("{resolved}?{query}"))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn fields_are_given_once() {
        let form = Form::of_body(b"run=a&token=b%2Bc");
        assert_eq!(form.required("token").unwrap(), "b+c");
        assert_eq!(form.optional("other").unwrap(), None);
        assert!(Form::of_body(b"run=a").required("token").is_err());
        assert!(Form::of_body(b"run=a&run=b").required("run").is_err());
        assert_eq!(Form::of_query(None).return_to(), "/");
    }

    #[test]
    fn only_pages_of_this_server_are_gone_on_to() {
        for good in ["/", "/runs", "/runs/run_1?cursor=a%2Fb", "/a//b"] {
            assert_eq!(local_path(good), good);
        }
        let long = format!("/{}", "a".repeat(MAX_RETURN_BYTES));
        for bad in [
            "",
            "runs",
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/\n/evil",
            "\\\\evil.example",
            "/.//evil.example",
            "/a/..//evil.example",
            "/%2e//evil.example",
            "javascript:alert(1)",
            "/api/v1/session/oidc",
            "/./api/v1/me",
            "/sign-in/link/x",
            " /runs",
            "/é",
            &long,
        ] {
            assert_eq!(local_path(bad), "/", "{bad}");
        }
        assert_eq!(local_path("/runs#//evil.example"), "/runs");
    }

    proptest! {
        #[test]
        fn a_form_is_read_as_it_was_written(pairs in vec(("[ab]|.{0,3}", ".{0,8}"), 0..6), name in "[ab]") {
            let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            let given: Vec<_> = pairs.iter().filter(|(given, _)| *given == name).map(|(_, value)| value.clone()).collect();
            let form = Form::of_body(text.as_bytes());
            prop_assert_eq!(form.all(&name), given.clone());
            let expected = match given.as_slice() {
                [] => Some(None),
                [one] => Some(Some(one.clone())),
                _ => None,
            };
            prop_assert_eq!(form.optional(&name).ok(), expected);
        }

        #[test]
        fn no_body_is_too_odd(bytes in vec(any::<u8>(), 0..60)) {
            let _read = (Form::of_body(&bytes).optional("a"), Form::of_body(&bytes).all("b"));
        }

        #[test]
        fn nobody_is_led_elsewhere(path in "[/\\\\.%2eEfF:@a?# -]{0,14}|.{0,20}") {
            let path = local_path(&path);
            prop_assert!(path.starts_with('/') && !path.starts_with("//") && !path.contains('\\'), "{}", path);
            let here = Url::parse("https://here.example:8443/deep/er").unwrap();
            let there = here.join(&path).unwrap();
            prop_assert_eq!(there.origin(), here.origin(), "{}", path);
            prop_assert!(!there.path().starts_with("//") && !there.path().starts_with("/api/"), "{}", path);
            prop_assert_eq!(local_path(&path), path.clone(), "as good as it was");
        }
    }
}
