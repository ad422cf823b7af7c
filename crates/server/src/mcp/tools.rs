//! Operations as MCP tools: schemas, annotations and metadata, all from the table.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use pinhole_app::{Entry, operations};
use pinhole_contract::{Idempotency, OperationSpec, Spec, Surfaces, error_schema, specs};
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// Operations with the tools that stand for them.
pub(super) struct Toolbox {
    tools: Vec<Tool>,
    entries: BTreeMap<&'static str, &'static Entry>,
}

/// The operations of the contract, in its order.
pub(super) fn toolbox() -> &'static Toolbox {
    static TOOLBOX: LazyLock<Toolbox> = LazyLock::new(|| {
        let entries = specs().iter().filter_map(|operation| operations().get(operation.spec.name));
        Toolbox::holding(entries.filter(|entry| entry.operation.spec.surfaces == Surfaces::RestAndMcp))
    });
    &TOOLBOX
}

impl Toolbox {
    /// Tools for these operations, in this order.
    pub(super) fn holding(entries: impl IntoIterator<Item = &'static Entry>) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        Self {
            tools: entries.iter().map(|entry| tool(&entry.operation)).collect(),
            entries: entries.into_iter().map(|entry| (entry.operation.spec.name, entry)).collect(),
        }
    }

    /// Every tool.
    pub(super) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The operation behind a tool.
    pub(super) fn entry(&self, name: &str) -> Option<&'static Entry> {
        self.entries.get(name).copied()
    }
}

/// The tool that stands for `operation`.
pub(crate) fn tool(operation: &OperationSpec) -> Tool {
    let (spec, schemas) = (&operation.spec, (operation.schemas)());
    Tool::new_with_raw(spec.name, Some(spec.summary.into()), Arc::new(object(schemas.input.to_value())))
        .with_raw_output_schema(Arc::new(output_schema(object(schemas.output.to_value()))))
        .with_annotations(annotations(spec.idempotency))
        .with_meta(meta(spec))
}

/// All four hints, so that no client falls back to its own defaults.
fn annotations(class: Idempotency) -> ToolAnnotations {
    let reads = class == Idempotency::Read;
    // With an expected version, something that is there is changed; with a key alone, something is added.
    let changes = matches!(class, Idempotency::Natural | Idempotency::Cas | Idempotency::KeyedCas);
    // A repeat finds the first result by its key, or is refused by its version: it never has a second effect. Only
    // reads are sure to stay within Pinhole: other operations may lead to captures and publications.
    ToolAnnotations::new().read_only(reads).destructive(changes).idempotent(true).open_world(!reads)
}

/// What the contract says beyond MCP's own words.
fn meta(spec: &Spec) -> MetaObject {
    MetaObject(object(json!({
        "pinhole/permission": spec.permission,
        "pinhole/who": spec.who,
        "pinhole/idempotency": spec.idempotency,
    })))
}

/// The schema of every answer: success, approval required, or an error. Clients check results with `isError` too.
fn output_schema(mut success: JsonObject) -> JsonObject {
    let mut error = object(error_schema().to_value());
    let mut definitions = definitions_of(&mut success);
    definitions.append(&mut definitions_of(&mut error));
    let pending = json!({
        "type": "object",
        "properties": {
            "outcome": { "type": "string", "const": "approval_required" },
            "approval": { "type": "object" },
        },
        "required": ["outcome", "approval"],
    });
    object(json!({ "type": "object", "anyOf": [success, pending, error], "$defs": definitions }))
}

/// Takes the definitions out of a root schema, which becomes a part of another.
fn definitions_of(schema: &mut JsonObject) -> Map<String, Value> {
    schema.remove("$schema");
    schema.remove("$defs").map(object).unwrap_or_default()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_come_in_the_order_of_the_contract() {
        let names: Vec<_> = toolbox().tools().iter().map(|tool| tool.name.as_ref()).collect();
        let expected: Vec<_> =
            specs().iter().map(|o| &o.spec).filter(|s| s.surfaces == Surfaces::RestAndMcp).map(|s| s.name).collect();
        assert_eq!(names, expected);
        assert!(toolbox().entry("no_such_tool").is_none());
    }

    #[test]
    fn every_tool_says_all_that_it_should() {
        for tool in toolbox().tools() {
            let written = serde_json::to_value(tool).unwrap();
            for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                assert!(written["annotations"][hint].is_boolean(), "{}: {hint}", tool.name);
            }
            for member in ["pinhole/permission", "pinhole/who", "pinhole/idempotency"] {
                assert!(written["_meta"].get(member).is_some(), "{}: {member}", tool.name);
            }
            assert_eq!(written["inputSchema"]["type"], "object", "{}", tool.name);
            assert_eq!(written["outputSchema"]["type"], "object", "{}", tool.name);
        }
    }

    #[test]
    fn reads_are_read_only() {
        let tools = toolbox().tools();
        let hints = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().annotations.clone().unwrap();
        assert_eq!(hints("get_scenario_run").read_only_hint, Some(true));
        assert_eq!(hints("start_scenario_run").read_only_hint, Some(false));
        assert_eq!(hints("start_scenario_run").destructive_hint, Some(false));
    }

    #[test]
    fn definitions_of_success_and_error_do_not_contradict() {
        let errors = definitions_of(&mut object(error_schema().to_value()));
        for operation in specs() {
            let success = definitions_of(&mut object((operation.schemas)().output.to_value()));
            for (name, definition) in &errors {
                let other = success.get(name).unwrap_or(definition);
                assert_eq!(other, definition, "{}: {name}", operation.spec.name);
            }
        }
    }

    #[test]
    fn references_of_output_schemas_lead_somewhere() {
        fn check(root: &Value, part: &Value, tool: &str) {
            match part {
                Value::Object(members) => {
                    if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                        assert!(root.pointer(target.trim_start_matches('#')).is_some(), "{tool}: {target}");
                    }
                    members.values().for_each(|member| check(root, member, tool));
                }
                Value::Array(items) => items.iter().for_each(|item| check(root, item, tool)),
                _ => {}
            }
        }
        for tool in toolbox().tools() {
            let written = serde_json::to_value(tool).unwrap();
            check(&written["outputSchema"], &written["outputSchema"], &tool.name);
        }
    }
}
