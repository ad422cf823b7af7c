//! The answers that all operations have in common: success with a request id, and every refusal of the contract as a
//! problem document.

use pinhole_contract::error_schema;
use pinhole_core::Code;
use serde_json::{Map, Value, json};

use super::definitions::{Definitions, Direction};

/// Name among the components, status, code and cause of each refusal.
const REFUSALS: &[(&str, u16, Code, &str)] = &[
    ("Unauthenticated", 401, Code::Unauthenticated, "No credential, or one that is not valid now."),
    ("PermissionDenied", 403, Code::PermissionDenied, "The object is visible, the operation on it is not allowed."),
    ("NotFound", 404, Code::NotFound, "The object does not exist for this caller."),
    (
        "Conflict",
        409,
        Code::Conflict,
        "The state does not allow it, the version is stale, or the key is another intent's.",
    ),
    ("Gone", 410, Code::Gone, "The object was there and its bytes were removed."),
    ("TooLarge", 413, Code::LimitExceeded, "A size limit: the body, or something that it asks for."),
    ("UnsupportedMediaType", 415, Code::UnsupportedMediaType, "The body is not application/json."),
    ("InvalidArguments", 422, Code::InvalidArguments, "Shape, type or bound of the input is wrong."),
    ("PreconditionRequired", 428, Code::PreconditionRequired, "Idempotency-Key or If-Match is missing."),
    ("LimitExceeded", 429, Code::LimitExceeded, "A rate or quota limit."),
    ("Internal", 500, Code::Internal, "A fault of the server; its log has the cause under the request id."),
    ("ProviderUnavailable", 503, Code::ProviderUnavailable, "Something that the operation needs is not available now."),
];

/// The components for all refusals, and the definition of the problem document.
pub(super) fn refusals(definitions: &mut Definitions) -> Value {
    let body = error_schema().to_value();
    let mut own = json!({ "$ref": "#/$defs/Problem", "$defs": { "Problem": problem(&body) } });
    if let (Some(Value::Object(more)), Some(all)) = (body.get("$defs"), own["$defs"].as_object_mut()) {
        all.extend(more.clone());
    }
    let reference = definitions.adopt("problem", Direction::Output, own);
    let component = |&(name, _, code, cause): &(&str, u16, Code, &str)| {
        let schema = json!({ "allOf": [reference, { "properties": { "code": { "const": code } } }] });
        let mut headers = headers();
        match code {
            Code::Unauthenticated => put(&mut headers, "WWW-Authenticate", "How to authenticate.", "string"),
            Code::ProviderUnavailable => {
                put(&mut headers, "Retry-After", "Seconds until a retry makes sense.", "integer")
            }
            Code::LimitExceeded if name == "LimitExceeded" => {
                put(&mut headers, "Retry-After", "Seconds until a retry makes sense.", "integer");
            }
            _ => {}
        }
        let content = json!({ "application/problem+json": { "schema": schema } });
        (name.to_owned(), json!({ "description": cause, "headers": headers, "content": content }))
    };
    Value::Object(REFUSALS.iter().map(component).collect())
}

/// The problem document: members of RFC 9457 beside the body that every transport has.
fn problem(body: &Value) -> Value {
    let mut properties = body["properties"].as_object().cloned().unwrap_or_default();
    properties.extend([
        ("type".to_owned(), json!({ "type": "string", "format": "uri", "description": "The code as a URN." })),
        ("title".to_owned(), json!({ "type": "string", "description": "The code in words." })),
        ("status".to_owned(), json!({ "type": "integer", "description": "The HTTP status." })),
        ("detail".to_owned(), json!({ "type": "string", "description": "The same as `message`." })),
    ]);
    let mut required = body["required"].as_array().cloned().unwrap_or_default();
    required.extend(["type", "title", "status", "detail"].map(Value::from));
    json!({ "description": "A refusal (RFC 9457).", "type": "object", "properties": properties, "required": required })
}

/// References to the refusals of an operation, by status.
pub(super) fn refused(has_body: bool) -> Map<String, Value> {
    let applies = |code: Code| has_body || code != Code::UnsupportedMediaType;
    let applicable = REFUSALS.iter().filter(|(_, _, code, _)| applies(*code));
    applicable.map(|(name, status, ..)| (status.to_string(), reference(name))).collect()
}

/// A reference to one refusal.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// A successful answer with a JSON body.
pub(super) fn succeeded(description: &str, schema: Value) -> Value {
    json!({ "description": description, "headers": headers(), "content": { "application/json": { "schema": schema } } })
}

/// Headers of every answer.
pub(super) fn headers() -> Map<String, Value> {
    let mut headers = Map::new();
    put(&mut headers, "X-Request-Id", "The call; errors and the log name it.", "string");
    headers
}

/// Adds a header.
pub(super) fn put(headers: &mut Map<String, Value>, name: &str, description: &str, kind: &str) {
    headers.insert(name.to_owned(), json!({ "description": description, "schema": { "type": kind } }));
}
