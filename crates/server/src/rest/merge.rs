//! Path, query, two headers and the body as one object, in which each name is given once.

use axum::http::{HeaderMap, header};
use pinhole_core::{Error, Result};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::members::{Members, integer};

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The object in the making.
pub(super) struct Merge<'a> {
    members: &'a Members,
    object: Map<String, Value>,
}

impl<'a> Merge<'a> {
    /// Starts with the members of the body.
    pub(super) fn new(members: &'a Members, body: Map<String, Value>) -> Self {
        Self { members, object: body }
    }

    /// Adds a member that the path or the query gives as text.
    ///
    /// # Errors
    /// `invalid_arguments` when the name was given before or the text is not what the member needs.
    pub(super) fn text(&mut self, name: &str, text: &str) -> Result<()> {
        let value = self.members.value(name, text)?;
        self.put(name, value)
    }

    /// Adds the members of a query string.
    pub(super) fn query(&mut self, query: &str) -> Result<()> {
        form_urlencoded::parse(query.as_bytes()).try_for_each(|(name, text)| self.text(&name, &text))
    }

    /// Adds what `Idempotency-Key` and `If-Match` say.
    pub(super) fn headers(&mut self, headers: &HeaderMap) -> Result<()> {
        if let Some(text) = one(headers, IDEMPOTENCY_KEY, "idempotency_key")? {
            self.put("idempotency_key", unquoted(text).into())?;
        }
        if let Some(text) = one(headers, header::IF_MATCH.as_str(), "expected_version")? {
            let version = integer(&unquoted(text))
                .ok_or_else(|| Error::invalid("expected_version", "If-Match must be one version number"))?;
            self.put("expected_version", version.into())?;
        }
        Ok(())
    }

    /// The finished object.
    pub(super) fn into_object(self) -> Map<String, Value> {
        self.object
    }

    fn put(&mut self, name: &str, value: Value) -> Result<()> {
        match self.object.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(Error::invalid(name, "given twice: give it in one place")),
        }
    }
}

/// The only value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &str, member: &str) -> Result<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Error::invalid(member, "its header is given twice"));
    }
    value.to_str().map(Some).map_err(|_| Error::invalid(member, "its header is not visible ASCII text"))
}

/// The text of a structured-field string (RFC 9651, 3.3.3); text without quotes stays as it is.
fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return text.to_owned() };
    let mut plain = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        plain.push(if letter == '\\' { letters.next().unwrap_or(letter) } else { letter });
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use axum::http::{HeaderName, HeaderValue};
    use pinhole_core::Code;
    use proptest::{collection::vec, prelude::*};
    use serde_json::json;

    use super::*;

    fn members() -> Members {
        Members::of(&json!({ "properties": {
            "id": { "type": "string" }, "limit": { "type": "integer" }, "expected_version": { "type": "integer" },
            "idempotency_key": { "type": "string" },
        }}))
    }

    fn merged(
        path: &[(&str, &str)],
        query: &str,
        headers: &[(&'static str, &'static str)],
        body: Value,
    ) -> Result<Value> {
        let members = members();
        let Value::Object(body) = body else { panic!("not an object") };
        let mut merge = Merge::new(&members, body);
        path.iter().try_for_each(|(name, value)| merge.text(name, value))?;
        merge.query(query)?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        merge.headers(&map)?;
        Ok(Value::Object(merge.into_object()))
    }

    #[test]
    fn five_places_make_one_object() {
        let headers = [("idempotency-key", "\"k \\\"1\\\"\""), ("if-match", "\"7\"")];
        let object = merged(&[("id", "a")], "limit=3&x=%20y", &headers, json!({ "more": [1] })).unwrap();
        let expected = json!({ "id": "a", "limit": 3, "x": " y", "idempotency_key": "k \"1\"", "expected_version": 7,
            "more": [1] });
        assert_eq!(object, expected);
        assert_eq!(merged(&[], "", &[("if-match", "7")], json!({})).unwrap(), json!({ "expected_version": 7 }));
    }

    #[test]
    fn a_name_given_twice_is_refused_wherever() {
        let key = ("idempotency-key", "k");
        for (path, query, headers, body) in [
            (&[("id", "a")][..], "id=a", &[][..], json!({})),
            (&[("id", "a")], "", &[], json!({ "id": "a" })),
            (&[], "limit=1&limit=1", &[], json!({})),
            (&[], "limit=1", &[], json!({ "limit": 1 })),
            (&[], "", &[key], json!({ "idempotency_key": null })),
            (&[], "idempotency_key=k", &[key], json!({})),
            (&[], "", &[key, key], json!({})),
            (&[], "", &[("if-match", "1")], json!({ "expected_version": 1 })),
        ] {
            let error = merged(path, query, headers, body).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArguments);
            assert!(error.reason().unwrap().contains("given twice"), "{error}");
        }
    }

    #[test]
    fn if_match_is_one_version() {
        for wrong in ["*", "\"1\", \"2\"", "W/\"1\"", "one", ""] {
            let headers = [("if-match", wrong)];
            assert_eq!(merged(&[], "", &headers, json!({})).unwrap_err().code(), Code::InvalidArguments, "{wrong}");
        }
    }

    fn query_of(pairs: &[(String, String)]) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    proptest! {
        #[test]
        fn a_query_is_read_as_it_was_written(pairs in vec(("[a-c]{1,2}|.{0,3}", ".{0,8}"), 0..6)) {
            let none = Members::of(&json!({}));
            let mut merge = Merge::new(&none, Map::new());
            let distinct: BTreeMap<_, _> = pairs.iter().cloned().collect();
            let read = merge.query(&query_of(&pairs));
            prop_assert_eq!(read.is_ok(), distinct.len() == pairs.len());
            if read.is_ok() {
                let expected: Map<_, _> = distinct.into_iter().map(|(name, text)| (name, text.into())).collect();
                prop_assert_eq!(merge.into_object(), expected);
            }
        }

        #[test]
        fn no_place_overrides_another(place in 0..3_usize, other in 0..3_usize, text in "[0-9]{1,3}") {
            // A path, a query and a body, of which two give the member.
            let members = members();
            let body = if other == 2 { Map::from_iter([("id".to_owned(), json!("other"))]) } else { Map::new() };
            let mut merge = Merge::new(&members, body);
            let mut give = |place: usize| match place {
                0 => merge.text("id", &text),
                1 => merge.query(&query_of(&[("id".into(), text.clone())])),
                _ => Ok(()),
            };
            let first = if other == 2 { Ok(()) } else { give(other) };
            prop_assert!(first.is_ok());
            prop_assume!(place != 2);
            prop_assert!(give(place).is_err());
        }

        #[test]
        fn a_quoted_text_is_read_as_it_was_written(text in "[ -~]{0,20}") {
            let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
            prop_assert_eq!(unquoted(&quoted), text);
        }

        #[test]
        fn no_header_or_query_is_too_odd(bytes in vec(prop_oneof![32_u8..127, 128_u8..=255], 0..30), query in ".{0,30}") {
            let members = members();
            let value = HeaderValue::from_bytes(&bytes).unwrap();
            let mut merge = Merge::new(&members, Map::new());
            let _odd = merge.query(&query);
            let names = [HeaderName::from_static(IDEMPOTENCY_KEY), header::IF_MATCH];
            let headers: HeaderMap = names.into_iter().map(|name| (name, value.clone())).collect();
            if merge.headers(&headers).is_ok() {
                let object = merge.into_object();
                prop_assert!(object["expected_version"].is_number() && object["idempotency_key"].is_string());
            }
        }
    }
}
