//! One place for the definitions of many schemas: each generated schema brings its own, and one document needs them
//! side by side under different names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

const OWN: &str = "#/$defs/";

/// What a schema is for. The same type may look differently: what is read may leave members out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    /// Arguments and bodies of requests.
    Input,
    /// Answers.
    Output,
}

/// Definitions that were moved out of their schemas.
pub(super) struct Definitions {
    /// Where references to them lead, such as `#/$defs/`.
    place: &'static str,
    /// By name: the definition as it came, with everything that it refers to; and as it is written.
    known: BTreeMap<String, (Map<String, Value>, Value)>,
}

impl Definitions {
    /// None yet; they will be at `place`, which ends with a slash.
    pub(super) fn at(place: &'static str) -> Self {
        Self { place, known: BTreeMap::new() }
    }

    /// The definitions by name.
    pub(super) fn into_object(self) -> Map<String, Value> {
        self.known.into_iter().map(|(name, (_, written))| (name, written)).collect()
    }

    /// Takes over what `schema`, the schema of a whole, defines. Returns it without definitions and with references
    /// that lead to where they are now.
    pub(super) fn adopt(&mut self, owner: &str, direction: Direction, mut schema: Value) -> Value {
        let members = schema.as_object_mut();
        let own = members.and_then(|members| {
            members.remove("$schema");
            members.remove("$defs")
        });
        let Some(Value::Object(own)) = own else { return schema };
        let names: BTreeMap<_, _> =
            own.keys().map(|name| (name.clone(), self.name(owner, direction, name, &closure(&own, name)))).collect();
        for (name, definition) in &own {
            let written = self.redirected(definition, &names);
            if let Some(new) = names.get(name) {
                self.known.insert(new.clone(), (closure(&own, name), written));
            }
        }
        self.redirected(&schema, &names)
    }

    /// The name under which a definition is kept: its own, unless another one has that.
    fn name(&self, owner: &str, direction: Direction, name: &str, whole: &Map<String, Value>) -> String {
        let candidates = [name.to_owned(), format!("{name}{direction:?}"), format!("{owner}.{name}{direction:?}")];
        let free = |candidate: &&String| self.known.get(*candidate).is_none_or(|(other, _)| other == whole);
        candidates.iter().find(free).unwrap_or(&candidates[2]).clone()
    }

    fn redirected(&self, schema: &Value, names: &BTreeMap<String, String>) -> Value {
        match schema {
            Value::Object(members) => {
                let member = |(key, value): (&String, &Value)| match target(key, value) {
                    Some(name) if names.contains_key(name) => {
                        (key.clone(), format!("{}{}", self.place, names[name]).into())
                    }
                    _ => (key.clone(), self.redirected(value, names)),
                };
                Value::Object(members.iter().map(member).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(|item| self.redirected(item, names)).collect()),
            scalar => scalar.clone(),
        }
    }
}

/// The definition `name` with every definition that it leads to.
fn closure(own: &Map<String, Value>, name: &str) -> Map<String, Value> {
    let (mut left, mut found) = (BTreeSet::from([name]), Map::new());
    while let Some(next) = left.pop_first() {
        let Some(definition) = own.get(next) else { continue };
        if found.insert(next.to_owned(), definition.clone()).is_none() {
            collect_targets(definition, &mut left);
        }
    }
    found
}

fn collect_targets<'a>(schema: &'a Value, targets: &mut BTreeSet<&'a str>) {
    match schema {
        Value::Object(members) => {
            targets.extend(members.iter().filter_map(|(key, value)| target(key, value)));
            members.values().for_each(|member| collect_targets(member, targets));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_targets(item, targets)),
        _ => {}
    }
}

/// The definition that a member refers to, when it is a reference.
fn target<'a>(key: &str, value: &'a Value) -> Option<&'a str> {
    value.as_str().filter(|_| key == "$ref")?.strip_prefix(OWN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_are_shared_where_they_are_the_same() {
        let mut definitions = Definitions::at("#/all/");
        let schema = |of: &str| {
            json!({ "properties": { "a": { "$ref": "#/$defs/A" } },
                "$defs": { "A": { "items": { "$ref": "#/$defs/B" } }, "B": { "type": of } } })
        };
        let expected = json!({ "properties": { "a": { "$ref": "#/all/A" } } });
        assert_eq!(definitions.adopt("x", Direction::Input, schema("string")), expected);
        assert_eq!(definitions.adopt("y", Direction::Output, schema("string")), expected);
        let other = definitions.adopt("z", Direction::Output, schema("integer"));
        assert_eq!(other["properties"]["a"]["$ref"], "#/all/AOutput", "what it leads to differs");
        let third = definitions.adopt("z", Direction::Output, schema("boolean"));
        assert_eq!(third["properties"]["a"]["$ref"], "#/all/z.AOutput");
        let all = definitions.into_object();
        let names: Vec<_> = all.keys().map(String::as_str).collect();
        assert_eq!(names, ["A", "AOutput", "B", "BOutput", "z.AOutput", "z.BOutput"]);
        assert_eq!(all["AOutput"]["items"]["$ref"], "#/all/BOutput");
    }

    #[test]
    fn a_circle_ends() {
        let mut definitions = Definitions::at("#/all/");
        let schema = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "items": { "$ref": "#/$defs/A" } } } });
        assert_eq!(definitions.adopt("x", Direction::Input, schema), json!({ "$ref": "#/all/A" }));
        assert_eq!(definitions.into_object()["A"]["items"]["$ref"], "#/all/A");
    }
}
