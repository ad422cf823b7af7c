//! JSON values from the part of JSON Schema that our schemas use, and ways to spoil them.

use proptest::{
    prelude::{RngExt as _, Strategy as _},
    strategy::ValueTree as _,
    string::string_regex,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Map, Value, json};

/// Longest text that is made; schemas that allow more are tried at their bound when values are spoilt.
const MAX_CHARS: u64 = 40;
/// Longest list that is made.
const MAX_ITEMS: u64 = 4;

/// Makes values of one schema; the same seed makes the same values.
pub(crate) struct Generator<'a> {
    root: &'a Value,
    runner: TestRunner,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(root: &'a Value, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        Self { root, runner }
    }

    /// A value that the schema should let through.
    pub(crate) fn value(&mut self) -> Value {
        self.of(self.root)
    }

    fn below(&mut self, end: usize) -> usize {
        self.runner.rng().random_range(0..end)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        self.runner.rng().random_range(least..=most.max(least))
    }

    fn of(&mut self, schema: &'a Value) -> Value {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            return self.of(self.root.pointer(target.trim_start_matches('#')).unwrap());
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values[self.below(values.len())].clone();
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(parts) = schema.get(word).and_then(Value::as_array) {
                let part = &parts[self.below(parts.len())];
                return self.of(part);
            }
        }
        let kind = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds[self.below(kinds.len())].as_str().unwrap(),
            Some(kind) => kind.as_str().unwrap(),
            None => "object",
        };
        match kind {
            "string" => self.text(schema).into(),
            "integer" => self.integer(schema),
            "number" => json!(self.between(1, 4)),
            "boolean" => (self.below(2) == 0).into(),
            "array" => self.list(schema),
            "object" => self.object(schema),
            _ => Value::Null,
        }
    }

    fn text(&mut self, schema: &Value) -> String {
        if schema.get("format").is_some_and(|format| format == "date-time") {
            return format!("2026-0{}-28T12:00:00Z", self.between(1, 9));
        }
        let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
        let (least, most) = (bound("minLength").unwrap_or(0), bound("maxLength").unwrap_or(MAX_CHARS));
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
            let length = self.between(least, most.min(least + MAX_CHARS));
            return (0..length).map(|_| ['a', 'Z', '0', ' ', '-', 'é', '…', '𝄞'][self.below(8)]).collect();
        };
        let strategy = string_regex(pattern.trim_start_matches('^').trim_end_matches('$')).unwrap();
        // Patterns have no bounds of their own; a text that is too long is rare.
        let mut text = String::new();
        for _ in 0..20 {
            text = strategy.new_tree(&mut self.runner).unwrap().current();
            if (least..=most).contains(&(text.chars().count() as u64)) {
                break;
            }
        }
        text
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
        let (least, most) = (bound("minimum").unwrap_or(0), bound("maximum").unwrap_or(1 << 40));
        match self.below(4) {
            0 => least.into(),
            1 => most.into(),
            // An integer in JSON Schema, however it is written.
            2 => json!(self.between(least, most.min(least + 1000)) as f64),
            _ => self.between(least, most).into(),
        }
    }

    fn list(&mut self, schema: &'a Value) -> Value {
        let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
        let (least, most) = (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(MAX_ITEMS));
        let length = self.between(least, most.min(least + MAX_ITEMS));
        let items = schema.get("items").unwrap_or(&Value::Null);
        (0..length).map(|_| self.of(items)).collect()
    }

    fn object(&mut self, schema: &'a Value) -> Value {
        let mut object = Map::new();
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if required.contains(&name.as_str().into()) || self.below(2) == 0 {
                object.insert(name.clone(), self.of(member));
            }
        }
        if let Some(more) = schema.get("additionalProperties").filter(|more| more.is_object()) {
            for n in 0..self.between(0, MAX_ITEMS) {
                object.insert(format!("member-{n}"), self.of(more));
            }
        }
        Value::Object(object)
    }

    /// The value with one thing changed, usually so that nothing takes it any more.
    pub(crate) fn spoilt(&mut self, mut value: Value) -> Value {
        let places = places(&value, String::new());
        let place = places[self.below(places.len())].clone();
        let part = value.pointer_mut(&place).unwrap();
        *part = match self.below(10) {
            0 => Value::Null,
            1 => json!({}),
            2 => json!([]),
            3 => json!(-1),
            4 => json!(1.5),
            5 => json!(""),
            6 => json!(5_000_000_000_u64),
            _ => self.nearly(part.clone()),
        };
        value
    }

    /// Almost the same.
    fn nearly(&mut self, part: Value) -> Value {
        match part {
            Value::String(text) => self.another_text(text).into(),
            Value::Number(number) => match self.below(3) {
                0 => json!(number.as_f64().unwrap() + 1.0),
                1 => json!(number.as_f64().unwrap() - 1.0),
                _ => number.to_string().into(),
            },
            Value::Bool(truth) => (!truth).into(),
            Value::Array(mut items) => {
                let more = [1, 50, 200, 500][self.below(4)];
                items.extend(vec![items.first().cloned().unwrap_or(Value::Null); more]);
                items.into()
            }
            Value::Object(mut members) => {
                let name = members.keys().nth(self.below(members.len().max(1))).cloned();
                match (self.below(2), name) {
                    (0, Some(name)) => drop(members.remove(&name)),
                    _ => drop(members.insert("colour".into(), json!("red"))),
                }
                members.into()
            }
            Value::Null => json!("null"),
        }
    }

    fn another_text(&mut self, text: String) -> String {
        match self.below(6) {
            0 => format!("{text}\n"),
            1 => format!(" {text}"),
            2 => text.to_uppercase(),
            3 => format!("{text}\u{7}"),
            4 => ["é", "a", "-", "/"][self.below(4)].repeat([35, 64, 100, 101, 200, 255, 2000, 262_144][self.below(8)]),
            _ => format!("{text}{}", "x".repeat([1, 64, 255, 2001, 262_145][self.below(5)])),
        }
    }
}

/// Pointers to every part of a value.
fn places(value: &Value, here: String) -> Vec<String> {
    let mut found = vec![here.clone()];
    match value {
        Value::Object(members) => {
            found.extend(members.iter().flat_map(|(name, member)| places(member, format!("{here}/{name}"))));
        }
        Value::Array(items) => {
            found.extend(items.iter().enumerate().flat_map(|(index, item)| places(item, format!("{here}/{index}"))));
        }
        _ => {}
    }
    found
}
