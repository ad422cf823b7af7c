//! From one JSON object to a command, the same for every transport.

use pinhole_core::{Error, Result};
use serde_json::{Map, Number, Value};

use crate::Operation;

/// The greatest integer below which every integer has a form as a floating-point number of its own.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// The command that `input` is.
///
/// # Errors
/// `invalid_arguments` with the member's path when `input` does not fit the command.
pub fn parse<O: Operation>(input: Map<String, Value>) -> Result<O> {
    let input = Value::Object(input.into_iter().map(|(name, member)| (name, with_integers(member))).collect());
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path = error.path().to_string();
        Error::invalid(if path == "." { String::new() } else { path }, error.inner().to_string())
    })
}

/// Whether `input` is a command of `O`.
pub(crate) fn check<O: Operation>(input: Value) -> Result<()> {
    match input {
        Value::Object(input) => parse::<O>(input).map(drop),
        _ => Err(Error::invalid("", "expected an object")),
    }
}

/// Writes `1.0` as `1`: in JSON Schema it is an integer, and some clients write all numbers so.
fn with_integers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(integer(&number).unwrap_or(number)),
        Value::Array(items) => Value::Array(items.into_iter().map(with_integers).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, member)| (name, with_integers(member))).collect())
        }
        other => other,
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

    #[test]
    fn integers_may_be_written_as_fractions_of_one() {
        let written = with_integers(json!({ "a": [1.0, -2.0, 1.5, 1e300, 3], "b": "1.0" }));
        assert_eq!(written.to_string(), json!({ "a": [1, -2, 1.5, 1e300, 3], "b": "1.0" }).to_string());
    }

    #[test]
    fn unknown_members_are_named() {
        let input = json!({ "project": "shop", "limit": 10, "colour": 1 });
        let Value::Object(input) = input else { unreachable!() };
        let error = parse::<crate::ListScenarioRuns>(input).unwrap_err();
        assert!(error.message().contains("colour"), "{error}");
        assert_eq!(error.code(), pinhole_core::Code::InvalidArguments);
    }
}
