//! One operation through each door: the object that a case names, as a REST request, as a tool call of either era of
//! MCP. A session calls REST with its cookie.

use axum::{
    body::Body,
    http::{HeaderMap, Request},
};
use pinhole_app::csrf_token;
use pinhole_contract::{Method, OperationSpec, Spec, Surfaces, specs};
use serde_json::{Map, Value, json};
use tower::ServiceExt;
use url::form_urlencoded;

use crate::{callers::Credential, ground::Ground};

const INITIALIZED: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Rest,
    /// MCP of the revision whose clients begin with `initialize`.
    Initialized,
    /// MCP of the revision without sessions.
    Stateless,
}

impl Door {
    /// The doors that an operation is offered at.
    pub(crate) fn of(spec: &Spec) -> &'static [Self] {
        match spec.surfaces {
            Surfaces::RestAndMcp => &[Self::Rest, Self::Initialized, Self::Stateless],
            Surfaces::RestOnly => &[Self::Rest],
        }
    }
}

/// An answer without what differs from door to door.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The code of a refusal.
    pub(crate) code: Option<String>,
    /// The view; of a refusal code, message and details.
    pub(crate) body: Value,
    /// Everything in the body but the request's id.
    pub(crate) raw: Value,
    pub(crate) headers: HeaderMap,
}

/// The declaration of an operation.
pub(crate) fn spec_of(operation: &str) -> &'static OperationSpec {
    specs().iter().find(|found| found.spec.name == operation).unwrap()
}

impl Ground {
    /// Calls an operation through a door.
    pub(crate) async fn through(&self, door: Door, operation: &str, credential: &Credential, input: &Value) -> Answer {
        match door {
            Door::Rest => self.rest(&spec_of(operation).spec, credential, input).await,
            Door::Initialized => self.tool(INITIALIZED, operation, credential, input).await,
            Door::Stateless => self.tool(STATELESS, operation, credential, input).await,
        }
    }

    async fn rest(&self, spec: &Spec, credential: &Credential, input: &Value) -> Answer {
        let Value::Object(mut members) = input.clone() else { panic!("{input}") };
        let path = path(spec, &mut members);
        let mut request = Request::builder();
        for (member, header) in [("idempotency_key", "idempotency-key"), ("expected_version", "if-match")] {
            if let Some(value) = members.remove(member) {
                request = request.header(header, text(&value));
            }
        }
        let request = match spec.method {
            Method::Get | Method::Delete => {
                let pairs = members.iter().filter(|(_, value)| !value.is_null());
                let pairs = pairs.map(|(name, value)| (name, text(value)));
                let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
                request.uri(format!("{path}?{query}")).method(method(spec.method)).body(Body::empty())
            }
            Method::Post | Method::Put => request
                .uri(path)
                .method(method(spec.method))
                .header("content-type", "application/json")
                .body(Body::from(Value::Object(members).to_string())),
        };
        self.send(credential, request.unwrap()).await
    }

    async fn tool(&self, era: &str, operation: &str, credential: &Credential, input: &Value) -> Answer {
        let mut params = json!({ "name": operation, "arguments": input });
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", era);
        if era == STATELESS {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            });
            request = request.header("mcp-method", "tools/call").header("mcp-name", operation);
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = self.send(credential, request.body(Body::from(message.to_string())).unwrap()).await;
        if answer.status != 200 {
            return answer;
        }
        let result = &answer.raw["result"];
        let content = &result["structuredContent"];
        assert!(content.is_object(), "{operation}: {}", answer.raw);
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(&text, content, "{operation}: the text is the content");
        let refused = content.get("request_id").is_some() || content["outcome"] == "approval_required";
        assert_eq!(result["isError"], refused, "{operation}: {content}");
        Answer::new(answer.status, content.clone(), answer.headers)
    }

    /// Sends a request with the credential, whatever it asks for.
    pub(crate) async fn send(&self, credential: &Credential, mut request: Request<Body>) -> Answer {
        let mut set =
            |name: &'static str, value: String| drop(request.headers_mut().insert(name, value.parse().unwrap()));
        match credential {
            Credential::None => {}
            Credential::Bearer(token) => set("authorization", format!("Bearer {token}")),
            Credential::Session(secret) => {
                set("cookie", format!("__Host-pinhole={secret}"));
                set("x-csrf-token", csrf_token(secret));
                set("sec-fetch-site", "same-origin".into());
            }
        }
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = answer.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer::new(head.status.as_u16(), body, head.headers)
    }
}

impl Answer {
    fn new(status: u16, raw: Value, headers: HeaderMap) -> Self {
        let code = raw.get("request_id").and(raw["code"].as_str()).map(str::to_owned);
        let essence = || json!({ "code": raw["code"], "message": raw["message"], "details": raw["details"] });
        let body = if code.is_some() { essence() } else { raw.clone() };
        let mut raw = raw;
        if let Some(object) = raw.as_object_mut() {
            object.remove("request_id");
        }
        Self { status, code, body, raw, headers }
    }

    /// What tells whether this is a repeat: the approval, where one is asked for.
    pub(crate) fn view(&self) -> &Value {
        if self.is_pending() { &self.body["approval"] } else { &self.body }
    }

    /// Whether nothing was done but asking for an approval.
    pub(crate) fn is_pending(&self) -> bool {
        self.body["outcome"] == "approval_required"
    }

    /// The code of a refusal, or `ok`.
    pub(crate) fn said(&self) -> &str {
        self.code.as_deref().unwrap_or(if self.status < 300 { "ok" } else { "no error body" })
    }
}

/// The path with its members filled in, which are taken out of the others.
fn path(spec: &Spec, members: &mut Map<String, Value>) -> String {
    let part = |part: &str| match part.strip_prefix('{') {
        Some(name) => {
            let value = members.remove(name.trim_end_matches('}'));
            form_urlencoded::byte_serialize(text(&value.unwrap_or_default()).as_bytes()).collect()
        }
        None => part.to_owned(),
    };
    let parts: Vec<String> = spec.path.split('/').map(part).collect();
    format!("/api/v1{}", parts.join("/"))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    }
}
