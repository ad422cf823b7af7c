//! What the members of a command are, as its schema says: paths and queries give text, and text becomes a number or a
//! truth value only where the schema wants one.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{Error, Result};
use serde_json::{Number, Value};

/// How deep references and alternatives of a schema are followed.
const MAX_DEPTH: u32 = 8;

/// The members of a command by name.
pub(super) struct Members(BTreeMap<String, Form>);

/// What the text of a member is turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It stays text.
    Text,
    /// An integer.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// An integer where it looks like one, else text: for a number or a word, such as `latest`.
    IntegerOrText,
    /// Objects and lists: these come in the body only.
    Structure,
}

impl Members {
    /// The members of the command with this input schema.
    pub(super) fn of(schema: &Value) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let form = |(name, member): (&String, &Value)| {
            let mut types = BTreeSet::new();
            collect_types(schema, member, &mut types, MAX_DEPTH);
            // Addresses are shown and logged, so that nothing secret may come in one.
            let secret = member.get("writeOnly").and_then(Value::as_bool) == Some(true);
            (name.clone(), if secret { Form::Structure } else { Form::of(&types) })
        };
        Self(properties.into_iter().flatten().map(form).collect())
    }

    /// The value that `text` stands for in the member `name`. Members that the command lacks stay text, for the
    /// operation to refuse by name.
    ///
    /// # Errors
    /// `invalid_arguments` when `text` is not what the member needs.
    pub(super) fn value(&self, name: &str, text: &str) -> Result<Value> {
        match self.0.get(name).copied().unwrap_or(Form::Text) {
            Form::Text => Ok(text.into()),
            Form::Integer => {
                integer(text).map(Value::Number).ok_or_else(|| Error::invalid(name, "expected an integer"))
            }
            Form::IntegerOrText => Ok(integer(text).map_or_else(|| text.into(), Value::Number)),
            Form::Boolean => match text {
                "true" => Ok(true.into()),
                "false" => Ok(false.into()),
                _ => Err(Error::invalid(name, "expected true or false")),
            },
            Form::Structure => Err(Error::invalid(name, "belongs in the body")),
        }
    }
}

impl Form {
    fn of(types: &BTreeSet<&str>) -> Self {
        match (types.contains("string"), types.contains("integer"), types.contains("boolean")) {
            (true, true, _) => Self::IntegerOrText,
            (false, true, false) => Self::Integer,
            (false, false, true) => Self::Boolean,
            (true, false, _) => Self::Text,
            _ => Self::Structure,
        }
    }
}

/// Collects the JSON types that `schema`, a part of `root`, lets through.
fn collect_types<'a>(root: &'a Value, schema: &'a Value, types: &mut BTreeSet<&'a str>, depth: u32) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match schema.get("type") {
        Some(Value::String(name)) => types.extend([name.as_str()]),
        Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
        _ => {}
    }
    let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    if let Some(target) = pointer.and_then(|pointer| root.pointer(pointer)) {
        collect_types(root, target, types, depth);
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        for part in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
            collect_types(root, part, types, depth);
        }
    }
}

/// The integer that `text` is in its one usual form: no plus sign, no leading zero, no fraction.
pub(super) fn integer(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let usual = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == text || digits != "0")
        && (digits == "0" || !digits.starts_with('0'));
    if !usual {
        return None;
    }
    let unsigned = || text.parse::<u64>().map(Number::from);
    text.parse::<i64>().map(Number::from).or_else(|_| unsigned()).ok()
}

#[cfg(test)]
mod tests {
    use pinhole_contract::specs;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn members(operation: &str) -> Members {
        let found = specs().iter().find(|spec| spec.spec.name == operation).unwrap();
        Members::of(&(found.schemas)().input.to_value())
    }

    #[test]
    fn text_becomes_what_the_command_says() {
        let list = members("list_scenario_runs");
        assert_eq!(list.value("limit", "20").unwrap(), json!(20));
        assert_eq!(list.value("project", "20").unwrap(), json!("20"));
        assert_eq!(list.value("cursor", "20").unwrap(), json!("20"));
        assert_eq!(list.value("unknown", "20").unwrap(), json!("20"));
        let catalog = members("get_catalog_revision");
        assert_eq!(catalog.value("revision", "3").unwrap(), json!(3));
        assert_eq!(catalog.value("revision", "latest").unwrap(), json!("latest"));
        assert_eq!(members("submit_scenario_revision").value("expected_version", "3").unwrap(), json!(3));
    }

    #[test]
    fn nothing_is_guessed() {
        let list = members("list_scenario_runs");
        for wrong in ["", "+1", "01", "1.0", "1e3", " 1", "0x1", "-0", "99999999999999999999", "true"] {
            assert!(list.value("limit", wrong).is_err(), "{wrong}");
        }
        let start = members("start_scenario_run");
        assert_eq!(start.value("baseline", "{}").unwrap_err().details().field.as_deref(), Some("baseline"));
    }

    #[test]
    fn a_secret_comes_in_the_body_alone() {
        let put = members("put_environment_secret");
        assert_eq!(put.value("value", "hunter2").unwrap_err().details().field.as_deref(), Some("value"));
        assert_eq!(put.value("name", "BUYER").unwrap(), json!("BUYER"));
    }

    #[test]
    fn booleans_have_two_words() {
        let schema = json!({ "properties": { "a": { "type": ["boolean", "null"] } } });
        assert_eq!(Members::of(&schema).value("a", "true").unwrap(), json!(true));
        assert!(Members::of(&schema).value("a", "1").is_err());
    }

    #[test]
    fn every_path_member_can_be_given_as_text() {
        for operation in specs() {
            let members = Members::of(&(operation.schemas)().input.to_value());
            for part in operation.spec.path.split('/').filter_map(|part| part.strip_prefix('{')) {
                assert_ne!(members.0[part.trim_end_matches('}')], Form::Structure, "{}", operation.spec.name);
            }
        }
    }

    proptest! {
        #[test]
        fn an_integer_has_one_form(text in "[-+]?[0-9]{0,21}|[0-9.eEx -]{0,6}", number in any::<i64>(), large in any::<u64>()) {
            if let Some(number) = integer(&text) {
                prop_assert_eq!(number.to_string(), text);
            }
            prop_assert_eq!(integer(&number.to_string()), Some(Number::from(number)));
            prop_assert_eq!(integer(&large.to_string()), Some(Number::from(large)));
        }
    }
}
