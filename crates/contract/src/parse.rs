//! From one JSON object to a command, the same for every transport.

use pinhole_core::Error;
use serde::{
    Deserializer,
    de::{
        self, IntoDeserializer, Unexpected, Visitor,
        value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Map, Number, Value};

use crate::Operation;

/// The greatest integer below which every integer has a form as a floating-point number of its own.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// The command that `input` is.
///
/// # Errors
/// `invalid_arguments` with the member's path when `input` does not fit the command.
pub fn parse<O: Operation>(input: Map<String, Value>) -> pinhole_core::Result<O> {
    serde_path_to_error::deserialize(Input(Value::Object(input))).map_err(|error| {
        let path = error.path().to_string();
        Error::invalid(if path == "." { String::new() } else { path }, error.inner().to_string())
    })
}

/// Whether `input` is a command of `O`.
pub(crate) fn check<O: Operation>(input: Value) -> pinhole_core::Result<()> {
    match input {
        Value::Object(input) => parse::<O>(input).map(drop),
        _ => Err(Error::invalid("", "expected an object")),
    }
}

/// A value from outside as parsers of commands read it. Where they expect an object, a list of its members is none,
/// though derived parsers take one; and `1.0` is `1`: in JSON Schema it is an integer, and some clients write all
/// numbers so.
struct Input(Value);

fn members<'de>(
    object: Map<String, Value>,
) -> MapDeserializer<'de, impl Iterator<Item = (String, Input)>, serde_json::Error> {
    MapDeserializer::new(object.into_iter().map(|(name, member)| (name, Input(member))))
}

impl<'de> Deserializer<'de> for Input {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Number(number) => integer(&number).unwrap_or(number).deserialize_any(visitor),
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Input));
                let value = visitor.visit_seq(&mut items)?;
                items.end().map(|()| value)
            }
            Value::Object(object) => visitor.visit_map(members(object)),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            other => Self(other).deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Object(object) if object.len() == 1 => {
                MapAccessDeserializer::new(members(object)).deserialize_enum(name, variants, visitor)
            }
            other => other.deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}

impl IntoDeserializer<'_, serde_json::Error> for Input {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the number has no fraction and is in bounds")]
fn integer(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= MAX_EXACT).then(|| Number::from(float as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed<O: Operation>(input: Value) -> pinhole_core::Result<O> {
        let Value::Object(input) = input else { unreachable!() };
        parse(input)
    }

    #[test]
    fn integers_may_be_written_as_fractions_of_one() {
        let limit = |written: Value| {
            let input = json!({ "project": "shop", "limit": written });
            parsed::<crate::ListScenarioRuns>(input).map(|command| command.limit.get())
        };
        assert_eq!(limit(json!(20.0)).unwrap(), 20);
        for wrong in [json!(1.5), json!(-2.0), json!(1e300), json!("20.0")] {
            assert!(limit(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_is_no_object() {
        let environment = |document: Value| {
            let input = json!({ "project": "shop", "slug": "web", "document": document });
            parsed::<crate::CreateEnvironment>(input)
        };
        let at = |member: &str, value: Value| json!({ "base_url": "http://a.example/", member: value });
        environment(at("decision_policy", json!({}))).unwrap();
        for (wrong, field) in [
            (json!(["http://a.example/"]), "document"),
            (at("decision_policy", json!([])), "document.decision_policy"),
            (at("headers", json!([["X-A", "1"]])), "document.headers[0]"),
        ] {
            let error = environment(wrong.clone()).unwrap_err();
            assert_eq!(error.details().field.as_deref(), Some(field), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_variant_is_the_one_member_of_an_object() {
        let ticket =
            |decision: Value| parsed::<crate::CreateDecisionTicket>(json!({ "decision": decision, "reason": "seen" }));
        let id = "apr_00000000000000000000000000000001";
        let approval = json!({ "approval_id": id, "outcome": "approve" });
        ticket(json!({ "approval": approval })).unwrap();
        assert!(ticket(json!({ "approval": [id, "approve"] })).is_err());
        assert!(ticket(json!({ "approval": approval, "review": approval })).is_err());
    }

    #[test]
    fn unknown_members_are_named() {
        let input = json!({ "project": "shop", "limit": 10, "colour": 1 });
        let error = parsed::<crate::ListScenarioRuns>(input).unwrap_err();
        assert!(error.message().contains("colour"), "{error}");
        assert_eq!(error.code(), pinhole_core::Code::InvalidArguments);
    }
}
