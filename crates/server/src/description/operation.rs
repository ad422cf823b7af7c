//! One operation of the table as OpenAPI sees it.

use pinhole_contract::{Idempotency, Method, OperationSpec, Spec, Who};
use serde_json::{Map, Value, json};

use super::{
    definitions::{Definitions, Direction},
    responses::{refused, succeeded},
};

/// The name of `method` in a path item.
pub(super) const fn method_of(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Put => "put",
        Method::Delete => "delete",
    }
}

/// Describes `operation`; its definitions go to `definitions`.
pub(super) fn describe(operation: &OperationSpec, definitions: &mut Definitions) -> Value {
    let (spec, schemas) = (&operation.spec, (operation.schemas)());
    let output = schemas.output.to_value();
    let waits = can_wait(&output);
    let output = definitions.adopt(spec.name, Direction::Output, output);
    let mut input = Input::of(definitions.adopt(spec.name, Direction::Input, schemas.input.to_value()));
    let mut parameters: Vec<Value> = in_path(spec.path).map(|name| input.parameter(name, "path")).collect();
    parameters.extend(input.header("idempotency_key", "Idempotency-Key", idempotency_key));
    parameters.extend(input.header("expected_version", "If-Match", if_match));
    let has_body = !matches!(spec.method, Method::Get | Method::Delete);
    if !has_body {
        let names: Vec<String> = input.properties.keys().cloned().collect();
        parameters.extend(names.iter().map(|name| input.parameter(name, "query")));
    }
    let mut described = json!({
        "operationId": spec.name,
        "summary": spec.summary,
        "tags": [spec.path.split('/').nth(1).unwrap_or_default()],
        "parameters": parameters,
        "responses": responses(spec, output, has_body, waits),
        "x-permission": spec.permission,
        "x-principal-class": spec.who,
        "x-idempotency-class": spec.idempotency,
    });
    if spec.who == Who::Session {
        described["security"] = json!([{ "session": [] }]);
    }
    if has_body && !input.properties.is_empty() {
        described["requestBody"] = input.body();
    }
    described
}

/// The members that the path gives.
fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Whether the operation may have to wait for an approval: then its success says that it did not.
fn can_wait(output: &Value) -> bool {
    let outcome = &output["properties"]["outcome"];
    let target = outcome["$ref"].as_str().and_then(|target| output.pointer(target.trim_start_matches('#')));
    target.unwrap_or(outcome).to_string().contains("\"completed\"")
}

fn responses(spec: &Spec, output: Value, has_body: bool, waits: bool) -> Value {
    let mut responses = refused(has_body);
    let keyed = matches!(spec.idempotency, Idempotency::Keyed | Idempotency::KeyedCas);
    if waits {
        let pending = json!({
            "type": "object",
            "properties": { "outcome": { "const": "approval_required" }, "approval": { "type": "object" } },
            "required": ["outcome", "approval"],
        });
        responses.insert("202".into(), succeeded("Not done: a person has to approve first.", pending));
    }
    if keyed {
        let created = "Done: the object was made.";
        responses.insert("201".into(), succeeded(created, output.clone()));
    }
    let done = if keyed { "An earlier call with the same key made the object." } else { "Done." };
    responses.insert("200".into(), succeeded(done, output));
    Value::Object(responses)
}

/// The members of a command that have no place yet.
struct Input {
    schema: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Input {
    fn of(schema: Value) -> Self {
        let Value::Object(mut schema) = schema else { return Self::of(json!({})) };
        let properties = match schema.remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        let required = match schema.remove("required") {
            Some(Value::Array(required)) => required,
            _ => Vec::new(),
        };
        Self { schema, properties, required }
    }

    /// Moves a member into the path or the query.
    fn parameter(&mut self, name: &str, place: &str) -> Value {
        let (member, required) = self.take(name);
        let (description, schema) = described(without_null(member));
        json!({ "name": name, "in": place, "required": required || place == "path", "description": description,
            "schema": schema })
    }

    /// Moves a member into a header, if there is such a member.
    fn header(&mut self, name: &str, header: &str, parameter: fn(&str, Value) -> Value) -> Option<Value> {
        if !self.properties.contains_key(name) {
            return None;
        }
        let (member, _) = self.take(name);
        Some(parameter(header, without_null(member)))
    }

    fn take(&mut self, name: &str) -> (Value, bool) {
        let member = self.properties.remove(name).unwrap_or(Value::Bool(true));
        let before = self.required.len();
        self.required.retain(|required| required != name);
        (member, self.required.len() < before)
    }

    /// What is left belongs into the body.
    fn body(self) -> Value {
        let (mut schema, required) = (self.schema, !self.required.is_empty());
        schema.insert("properties".into(), Value::Object(self.properties));
        if required {
            schema.insert("required".into(), Value::Array(self.required));
        }
        json!({ "required": required, "content": { "application/json": { "schema": schema } } })
    }
}

fn idempotency_key(header: &str, schema: Value) -> Value {
    json!({ "name": header, "in": "header", "required": false, "schema": described(schema).1,
        "description": "One key for one intent; a repeat with the same key finds the first result. Without it the answer is 428." })
}

fn if_match(header: &str, _: Value) -> Value {
    json!({ "name": header, "in": "header", "required": false,
        "schema": { "type": "string", "pattern": "^(\"(0|[1-9][0-9]{0,9})\"|0|[1-9][0-9]{0,9})$" },
        "description": "The version that the caller has seen, in quotes or without. Without it the answer is 428." })
}

/// Takes the description out of a schema.
fn described(mut schema: Value) -> (Value, Value) {
    let description = schema.as_object_mut().and_then(|members| members.remove("description"));
    (description.unwrap_or_else(|| "".into()), schema)
}

/// The schema without `null`, which no path, query or header can say: the member is left out instead.
fn without_null(mut schema: Value) -> Value {
    let Some(members) = schema.as_object_mut() else { return schema };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".into(), only);
        }
    }
    if members.get("default") == Some(&Value::Null) {
        members.remove("default");
    }
    if let Some(Value::Array(parts)) = members.get_mut("anyOf") {
        parts.retain(|part| part["type"] != "null");
        if let [Value::Object(only)] = parts.as_slice() {
            let only = only.clone();
            members.remove("anyOf");
            only.into_iter().for_each(|(name, value)| {
                members.entry(name).or_insert(value);
            });
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_never_null() {
        let slug = json!({ "type": "string", "maxLength": 3 });
        let member = json!({ "description": "d", "anyOf": [slug, { "type": "null" }], "default": null });
        assert_eq!(without_null(member), json!({ "description": "d", "type": "string", "maxLength": 3 }));
        assert_eq!(without_null(json!({ "type": ["integer", "null"] })), json!({ "type": "integer" }));
    }

    #[test]
    fn only_what_can_wait_for_an_approval_has_202() {
        let spec = &pinhole_contract::specs()[0].spec;
        assert!(responses(spec, json!({}), false, false).get("202").is_none());
        assert!(responses(spec, json!({}), false, true).get("202").is_some());
        assert!(!can_wait(&json!({ "properties": { "outcome": { "const": "materialized" } } })));
        assert!(can_wait(&json!({ "properties": { "outcome": { "$ref": "#/$defs/O" } },
            "$defs": { "O": { "const": "completed" } } })));
    }
}
