//! The OpenAPI 3.1 document: the operation table's routes and those outside of it.

use pinhole_contract::{CATALOG_VERSION, specs};
use serde_json::{Map, Value, json};

use super::{
    definitions::Definitions,
    operation::{describe, method_of},
    outside,
    responses::refusals,
};
use crate::http::COOKIE;

const DESCRIPTION: &str = "\
Every operation of Pinhole over HTTP; the same operations are MCP tools at `/mcp`. A request carries one credential: a \
bearer token, or the cookie of a browser session from the server's own pages. Operations that make something need the \
header `Idempotency-Key`, operations that change a versioned object need `If-Match` with the version that the caller has \
seen; both are answered with 428 where they are missing. Every refusal is a problem document (RFC 9457) with a stable \
`code`.";

/// The document.
pub(super) fn document() -> Value {
    let mut definitions = Definitions::at("#/components/schemas/");
    let mut paths = Map::new();
    for operation in specs() {
        let described = describe(operation, &mut definitions);
        put(&mut paths, &format!("/api/v1{}", operation.spec.path), method_of(operation.spec.method), described);
    }
    for route in outside::routes() {
        put(&mut paths, route.path, route.method, route.described);
    }
    let responses = refusals(&mut definitions);
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Pinhole",
            "version": CATALOG_VERSION,
            "summary": "Captures what a web application looks like, and can prove it.",
            "description": DESCRIPTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "schemas": definitions.into_object(),
            "responses": responses,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A personal token (phu_…) or a service token (phs_…).",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "The cookie of a browser session, for requests from the server's own pages. Requests that change something carry the session's token in X-CSRF-Token too.",
                },
            },
        },
    })
}

fn put(paths: &mut Map<String, Value>, path: &str, method: &str, described: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    if let Some(methods) = item.as_object_mut() {
        methods.insert(method.to_owned(), described);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pinhole_contract::{Idempotency, Method};

    use super::*;

    fn described(operation: &pinhole_contract::OperationSpec) -> Value {
        let document = document();
        let path = format!("/api/v1{}", operation.spec.path);
        document["paths"][path][method_of(operation.spec.method)].clone()
    }

    #[test]
    fn references_lead_somewhere() {
        fn check(root: &Value, part: &Value) {
            match part {
                Value::Object(members) => {
                    if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                        assert!(root.pointer(target.trim_start_matches('#')).is_some(), "{target}");
                    }
                    members.values().for_each(|member| check(root, member));
                }
                Value::Array(items) => items.iter().for_each(|item| check(root, item)),
                _ => {}
            }
        }
        let document = document();
        check(&document, &document);
    }

    #[test]
    fn every_operation_says_how_it_ends() {
        for operation in specs() {
            let (name, described) = (operation.spec.name, described(operation));
            assert_eq!(described["operationId"], name);
            let responses = described["responses"].as_object().unwrap();
            for status in ["401", "403", "404", "409", "410", "413", "422", "428", "429", "500", "503"] {
                assert!(responses.contains_key(status), "{name}: {status}");
            }
            let keyed = matches!(operation.spec.idempotency, Idempotency::Keyed | Idempotency::KeyedCas);
            assert_eq!(responses.contains_key("201"), keyed, "{name}");
        }
    }

    #[test]
    fn every_member_of_a_command_has_its_place() {
        for operation in specs() {
            let (name, described) = (operation.spec.name, described(operation));
            let input = (operation.schemas)().input.to_value();
            let members: BTreeSet<_> =
                input["properties"].as_object().into_iter().flatten().map(|(member, _)| member.clone()).collect();
            let mut places: Vec<String> = Vec::new();
            for parameter in described["parameters"].as_array().unwrap() {
                places.push(match parameter["name"].as_str().unwrap() {
                    "Idempotency-Key" => "idempotency_key".into(),
                    "If-Match" => "expected_version".into(),
                    other => other.into(),
                });
            }
            let body = &described["requestBody"]["content"]["application/json"]["schema"]["properties"];
            places.extend(body.as_object().into_iter().flatten().map(|(member, _)| member.clone()));
            assert_eq!(places.len(), members.len(), "{name}: {places:?}");
            assert_eq!(places.into_iter().collect::<BTreeSet<_>>(), members, "{name}");
            assert!(operation.spec.method != Method::Get || described.get("requestBody").is_none(), "{name}");
        }
    }
}
