//! The tool catalog: one JSON Schema document that says for each tool what a call of it is.

use pinhole_contract::{CATALOG_VERSION, Surfaces, specs};
use serde_json::{Map, Value, json};

use super::definitions::{Definitions, Direction};
use crate::mcp::tool;

const DESCRIPTION: &str = "\
The tools that Pinhole offers over MCP. Each definition that the root's oneOf names is one tool: it describes a call as \
an object of `tool` (the name), `arguments` (what the tool takes: its inputSchema) and `result` (what it answers as \
structuredContent: success, approval required, or an error; its outputSchema). So this document validates recorded calls. \
Beside the schemas each tool has the members `x-permission` (what the caller needs on the object, null when being \
authenticated is enough), `x-principal-class` (any; session: a user in a browser session; human: human authority), \
`x-idempotency-class` (read, natural, keyed: needs idempotency_key, cas: needs expected_version, keyed_cas: needs both) \
and `x-annotations` (the hints of MCP). Tools come in the order of the contract.";

/// The document `tool-contracts.schema.json`.
pub(super) fn document() -> Value {
    let mut definitions = Definitions::at("#/$defs/");
    let offered = specs().iter().filter(|operation| operation.spec.surfaces == Surfaces::RestAndMcp);
    let tools: Vec<(String, Value)> = offered
        .map(|operation| {
            let spec = &operation.spec;
            let offer = tool(operation);
            let part = |schema: &Map<String, Value>| Value::Object(schema.clone());
            let arguments = definitions.adopt(spec.name, Direction::Input, part(&offer.input_schema));
            let answer = offer.output_schema.as_deref().map_or(Value::Bool(true), part);
            let result = definitions.adopt(spec.name, Direction::Output, answer);
            let contract = json!({
                "title": spec.name,
                "description": spec.summary,
                "type": "object",
                "properties": { "tool": { "const": spec.name }, "arguments": arguments, "result": result },
                "required": ["tool", "arguments"],
                "additionalProperties": false,
                "x-permission": spec.permission,
                "x-principal-class": spec.who,
                "x-idempotency-class": spec.idempotency,
                "x-annotations": offer.annotations,
            });
            (format!("tool.{}", spec.name), contract)
        })
        .collect();
    let names: Vec<_> = tools.iter().map(|(name, _)| json!({ "$ref": format!("#/$defs/{name}") })).collect();
    let mut all = definitions.into_object();
    all.extend(tools);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:pinhole:tool-contracts:{CATALOG_VERSION}"),
        "title": "Pinhole tool contracts",
        "description": DESCRIPTION,
        "x-catalog-version": CATALOG_VERSION,
        "oneOf": names,
        "$defs": all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_calls_are_checked() {
        let validator = jsonschema::validator_for(&document()).unwrap();
        let key = json!({ "slug": "shop", "title": "The shop", "idempotency_key": "k" });
        let refused = json!({ "code": "not_found", "message": "no such object", "details": {},
            "request_id": "req_00000000000000000000000000000007" });
        let pending = json!({ "outcome": "approval_required", "approval": {} });
        for good in [
            json!({ "tool": "create_project", "arguments": key }),
            json!({ "tool": "get_project", "arguments": { "project": "shop" }, "result": refused }),
            json!({ "tool": "get_project", "arguments": { "project": "shop" }, "result": pending }),
        ] {
            assert!(validator.is_valid(&good), "{good}");
        }
        for bad in [
            json!({ "tool": "no_such_tool", "arguments": {} }),
            json!({ "tool": "get_project", "arguments": { "project": "shop", "colour": "red" } }),
            json!({ "tool": "get_project", "arguments": { "project": "The Shop" } }),
            json!({ "tool": "get_project", "arguments": { "project": "shop" }, "result": { "code": "no_such_code" } }),
            json!({ "tool": "get_project" }),
        ] {
            assert!(!validator.is_valid(&bad), "{bad}");
        }
    }

    #[test]
    fn every_tool_says_what_it_needs() {
        let document = document();
        assert_eq!(document["x-catalog-version"], "050.2.0");
        for name in document["oneOf"].as_array().unwrap() {
            let tool = document.pointer(name["$ref"].as_str().unwrap().trim_start_matches('#')).unwrap();
            for member in ["x-permission", "x-principal-class", "x-idempotency-class", "x-annotations"] {
                assert!(tool.get(member).is_some(), "{name}: {member}");
            }
            assert_eq!(tool["properties"]["arguments"]["additionalProperties"], false, "{name}");
        }
    }
}
