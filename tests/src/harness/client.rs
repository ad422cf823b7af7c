//! REST and MCP as a program of one principal speaks them.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(40);

/// A client with the credential of one principal, or with none.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body.
    pub(crate) body: Vec<u8>,
}

/// The two ways in which MCP clients begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// With `initialize`; revision 2025-11-25.
    Initialized,
    /// Without anything: each request says who sends it; revision 2026-07-28.
    Stateless,
}

impl Era {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Initialized, Self::Stateless];

    const fn revision(self) -> &'static str {
        match self {
            Self::Initialized => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

impl Client {
    /// A client of the server at `base`, which has no slash at the end.
    pub(crate) fn new(base: &str, token: Option<&str>) -> Self {
        // Fails only when another client did it before.
        ::rustls::crypto::ring::default_provider().install_default().ok();
        // Where a redirect leads is for the test to say.
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = builder.timeout(DEADLINE).build().unwrap();
        Self { http, base: base.to_owned(), token: token.map(str::to_owned) }
    }

    /// The same with another credential.
    pub(crate) fn with_token(&self, token: Option<&str>) -> Self {
        Self { token: token.map(str::to_owned), ..self.clone() }
    }

    /// The bearer token.
    pub(crate) fn token(&self) -> &str {
        self.token.as_deref().unwrap_or_default()
    }

    /// A request with the credential, for whatever the shorter ways below do not say.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// `GET path`.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// `POST path` without an idempotency key.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(body)).await
    }

    /// `POST path` with an idempotency key.
    pub(crate) async fn post_keyed(&self, path: &str, key: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).header("Idempotency-Key", key).json(body)).await
    }

    /// `POST path` on an object whose version is known.
    pub(crate) async fn post_versioned(&self, path: &str, version: u64, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).header("If-Match", format!("\"{version}\"")).json(body)).await
    }

    /// Calls an MCP tool and gives its result, which may be a refusal.
    pub(crate) async fn tool(&self, era: Era, name: &str, arguments: &Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let answer = self.mcp(era, "tools/call", Some(name), params).await.expect(200);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// One JSON-RPC message; `name` is that of the tool, where there is one.
    pub(crate) async fn mcp(&self, era: Era, method: &str, name: Option<&str>, mut params: Value) -> Answer {
        let mut request = self
            .request(Method::POST, "/mcp")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", era.revision());
        if era == Era::Stateless {
            request = request.header("Mcp-Method", method);
            if let Some(name) = name {
                request = request.header("Mcp-Name", name);
            }
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": era.revision(),
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "e2e", "version": "1" },
            });
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Answer::of(request.json(&message)).await
    }
}

impl Answer {
    /// Sends `request` and reads its answer.
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let answer = request.send().await.unwrap_or_else(|error| panic!("no answer: {error:?}"));
        let (status, headers) = (answer.status(), answer.headers().clone());
        Self { status, headers, body: answer.bytes().await.unwrap().into() }
    }

    /// Asserts the status and gives the body as JSON.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}
