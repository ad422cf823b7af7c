//! Request bodies as JSON, where a name given twice in an object is a mistake and not a choice.

use std::fmt;

use pinhole_core::{Error, Result};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// The object in `bytes`. Nesting is bounded by the parser, size by the body limit.
///
/// # Errors
/// `invalid_arguments` when it is not JSON, not an object, or has a name twice.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>> {
    match serde_json::from_slice::<Strict>(bytes) {
        Ok(Strict(Value::Object(object))) => Ok(object),
        Ok(_) => Err(Error::invalid("", "the body must be a JSON object")),
        Err(error) => Err(Error::invalid("", format!("the body is not usable JSON: {error}"))),
    }
}

/// Whether no object in `bytes` has a name twice; text that is not JSON counts as fine, for its own parser to refuse.
pub(crate) fn without_repeated_names(bytes: &[u8]) -> bool {
    // Into a value: text that is only skipped may hold what no string can, such as half a character.
    serde_json::from_slice::<Strict>(bytes).is_ok() || serde_json::from_slice::<Value>(bytes).is_err()
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Strictly.deserialize(deserializer).map(Self)
    }
}

#[derive(Clone, Copy)]
struct Strictly;

impl<'de> DeserializeSeed<'de> for Strictly {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strictly {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("the number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a name is given twice"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::{btree_map, vec},
        prelude::*,
    };

    use super::*;

    #[test]
    fn objects_are_read_as_they_are() {
        let text = r#"{"a":[1,-2,2.5,true,null,"x"],"b":{"c":18446744073709551615}}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Value::Object(object(text.as_bytes()).unwrap()), expected);
    }

    #[test]
    fn anything_else_is_refused() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
        for wrong in ["", "[]", "1", "{", r#"{"a":1}x"#, r#"{"a":1,"a":1}"#, r#"{"b":[{"a":1,"\u0061":2}]}"#, &deep] {
            let error = object(wrong.as_bytes()).unwrap_err();
            assert_eq!(error.code(), pinhole_core::Code::InvalidArguments, "{wrong}");
        }
    }

    #[test]
    fn repeated_names_are_seen_at_any_depth() {
        assert!(without_repeated_names(br#"{"a":{"a":1}}"#));
        assert!(without_repeated_names(b"{") && without_repeated_names(br#"{"a":"\ud800"}"#));
        assert!(!without_repeated_names(br#"{"params":{"arguments":{"a":1,"a":2}}}"#));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1.0e9..1.0e9).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![vec(inner.clone(), 0..5).prop_map(Value::from), members(inner).prop_map(Value::Object)]
        })
    }

    fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
        btree_map(".{0,4}", value, 0..5).prop_map(|members| members.into_iter().collect())
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(written in members(json())) {
            let text = Value::Object(written.clone()).to_string();
            prop_assert_eq!(object(text.as_bytes()).unwrap(), written);
        }

        #[test]
        fn a_name_given_twice_is_seen_wherever_it_is(
            name in ".{0,4}", [one, other] in [json(), json()], above in vec((any::<bool>(), json()), 0..6)
        ) {
            let name = Value::from(name).to_string();
            let twice = format!("{{{name}:{one},\"between\":0,{name}:{other}}}");
            let text = above.into_iter().fold(twice, |inner, (in_list, beside)| {
                if in_list { format!("[{beside},{inner}]") } else { format!("{{\"a\":{beside},\"b\":{inner}}}") }
            });
            let text = format!("{{\"top\":{text}}}");
            prop_assert!(object(text.as_bytes()).is_err(), "{}", text);
            prop_assert!(!without_repeated_names(text.as_bytes()), "{}", text);
        }

        #[test]
        fn nothing_is_read_that_others_read_otherwise(bytes in vec(any::<u8>(), 0..40), text in "[{}\\[\\]\",:0-9a\\\\ue.+-]{0,40}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                if let Ok(object) = object(bytes) {
                    prop_assert_eq!(serde_json::from_slice::<Value>(bytes).unwrap(), Value::Object(object));
                }
            }
        }

        #[test]
        fn depth_is_bounded(depth in 128..50_000_usize, in_list in any::<bool>(), is_closed in any::<bool>()) {
            let (open, close) = if in_list { ("[", "]") } else { ("{\"a\":", "}") };
            let end = if is_closed { close.repeat(depth) } else { String::new() };
            let text = format!("{{\"top\":{}1{end}}}", open.repeat(depth));
            prop_assert!(object(text.as_bytes()).is_err());
        }
    }
}
