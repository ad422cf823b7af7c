//! The routes outside of the operation table: bytes of artifacts, health, keys, and what describes the server itself.

use serde_json::{Map, Value, json};

use super::{
    responses::{headers, put, reference, succeeded},
    session,
};

/// A route that is no operation.
pub(super) struct Route {
    /// Its path.
    pub(super) path: &'static str,
    /// Its method in lower case.
    pub(super) method: &'static str,
    /// What OpenAPI says of it.
    pub(super) described: Value,
}

/// Every route outside of the table, but for what OpenAPI has no words for: the pages, MCP, and the tiles of the
/// transparency log, whose paths have any number of parts.
pub(super) fn routes() -> Vec<Route> {
    let open = |path, name, summary, media_type, description| Route {
        path,
        method: "get",
        described: open(name, summary, media_type, description),
    };
    let mut routes = vec![
        bytes("get", "get_artifact_content", "Read the bytes of an artifact, whole or a range of them."),
        bytes("head", "head_artifact_content", "Read the headers that GET would answer with."),
        open("/livez", "livez", "Tell whether the process answers.", "application/json", "It does."),
        open("/api/v1/openapi.json", "get_openapi", "Read this document.", "application/json", "The document."),
        open(
            "/.well-known/pinhole/receipt-keys.json",
            "get_receipt_keys",
            "Read the public keys that receipts are verified with.",
            "application/jwk-set+json",
            "A key set (RFC 7517).",
        ),
        open(
            "/.well-known/pinhole/log/checkpoint",
            "get_log_checkpoint",
            "Read the newest checkpoint of the transparency log.",
            "text/plain",
            "A signed note (C2SP tlog-checkpoint).",
        ),
        open(
            "/.well-known/pinhole/log/key",
            "get_log_key",
            "Read the name and the public key of the transparency log.",
            "text/plain",
            "A verifier key (C2SP signed-note).",
        ),
        open(
            "/.well-known/oauth-protected-resource",
            "get_protected_resource",
            "Read what an OAuth client has to know about the MCP endpoint.",
            "application/json",
            "Protected-resource metadata (RFC 9728).",
        ),
        open(
            "/.well-known/oauth-protected-resource/mcp",
            "get_protected_resource_of_mcp",
            "Read what an OAuth client has to know about the MCP endpoint.",
            "application/json",
            "Protected-resource metadata (RFC 9728).",
        ),
    ];
    for route in routes.iter_mut().filter(|route| route.path.starts_with("/.well-known/pinhole/log/")) {
        route.described["responses"]["404"] = reference("NotFound");
        route.described["responses"]["200"]["content"]["text/plain"]["schema"] = json!({ "type": "string" });
    }
    let mut ready = self::open("readyz", "Tell whether the server can work.", "application/json", "It can.");
    ready["responses"]["503"] = succeeded("It cannot; the checks say why.", json!({ "type": "object" }));
    routes.push(Route { path: "/readyz", method: "get", described: ready });
    routes.push(hook());
    routes.extend(session::routes());
    routes
}

/// A route for everybody, with a JSON object as its only answer.
fn open(name: &str, summary: &str, media_type: &str, description: &str) -> Value {
    json!({
        "operationId": name,
        "summary": summary,
        "tags": ["server"],
        "security": [],
        "responses": { "200": {
            "description": description,
            "headers": headers(),
            "content": { media_type: { "schema": { "type": "object" } } },
        } },
    })
}

/// What senders deliver to a webhook.
fn hook() -> Route {
    let header = |name: &str, description: &str| {
        json!({ "name": name, "in": "header", "required": true, "description": description,
            "schema": { "type": "string" } })
    };
    let delivered = json!({ "type": "object", "properties": {
        "id": { "type": "string" }, "run_id": { "type": "string" }, "replayed": { "type": "boolean" } } });
    let mut responses = Map::from_iter([
        ("201".to_owned(), succeeded("It started a run.", delivered.clone())),
        ("200".to_owned(), succeeded("A delivery with this id started the run before.", delivered)),
    ]);
    for (status, name) in [
        ("401", "Unauthenticated"),
        ("403", "PermissionDenied"),
        ("404", "NotFound"),
        ("409", "Conflict"),
        ("413", "TooLarge"),
        ("429", "LimitExceeded"),
        ("500", "Internal"),
        ("503", "ProviderUnavailable"),
    ] {
        responses.insert(status.to_owned(), reference(name));
    }
    let described = json!({
        "operationId": "deliver_webhook",
        "summary": "Start the run of a webhook by a delivery signed as Standard Webhooks say; at most 64 KiB.",
        "tags": ["automations"],
        "security": [],
        "parameters": [
            json!({ "name": "webhook_id", "in": "path", "required": true, "description": "The webhook.",
                "schema": { "type": "string" } }),
            header("webhook-id", "The sender's id of the delivery; a repeat is answered with the first result."),
            header("webhook-timestamp", "The sender's time in seconds since the Unix epoch, within 5 minutes of now."),
            header("webhook-signature", "Signatures such as v1,BASE64, with spaces between them."),
        ],
        "requestBody": { "required": false, "content": { "*/*": { "schema": {} } } },
        "responses": responses,
    });
    Route { path: "/api/v1/hooks/{webhook_id}", method: "post", described }
}

/// The bytes of an artifact.
fn bytes(method: &'static str, name: &str, summary: &str) -> Route {
    let header = |name: &str, description: &str| {
        json!({ "name": name, "in": "header", "required": false, "description": description,
            "schema": { "type": "string" } })
    };
    let mut parameters = vec![
        json!({ "name": "artifact_id", "in": "path", "required": true, "description": "The artifact.",
            "schema": { "type": "string", "pattern": "^art_[0-9a-f]{32}$" } }),
        header("If-None-Match", "Tags that the caller has; 304 when the artifact's is among them."),
    ];
    let content = json!({ "*/*": { "schema": {} } });
    let mut responses = Map::from_iter([
        ("200".to_owned(), json!({ "description": "All of the bytes.", "headers": of_bytes(), "content": content })),
        ("304".to_owned(), json!({ "description": "The caller has them.", "headers": of_bytes() })),
    ]);
    for (status, name) in [
        ("401", "Unauthenticated"),
        ("403", "PermissionDenied"),
        ("404", "NotFound"),
        ("410", "Gone"),
        ("422", "InvalidArguments"),
        ("429", "LimitExceeded"),
        ("500", "Internal"),
        ("503", "ProviderUnavailable"),
    ] {
        responses.insert(status.to_owned(), reference(name));
    }
    if method == "get" {
        parameters.push(header("Range", "One range of bytes."));
        parameters.push(header("If-Range", "The tag that the range is of; else all bytes are answered."));
        let mut part = of_bytes();
        put(&mut part, "Content-Range", "Where the bytes are.", "string");
        responses.insert(
            "206".to_owned(),
            json!({ "description": "A range of the bytes.", "headers": part, "content": content }),
        );
        responses.insert("416".to_owned(), json!({ "description": "The range lies outside.", "headers": headers() }));
    }
    let described = json!({
        "operationId": name,
        "summary": summary,
        "tags": ["artifacts"],
        "parameters": parameters,
        "responses": responses,
    });
    Route { path: "/api/v1/artifacts/{artifact_id}/content", method, described }
}

fn of_bytes() -> Map<String, Value> {
    let mut headers = headers();
    put(&mut headers, "ETag", "A strong tag made of the bytes' SHA-256.", "string");
    headers
}
