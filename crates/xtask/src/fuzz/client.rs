//! REST as one principal speaks it, with a token or in a browser's session, and how the sessions begin.

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use ureq::{Agent, Body, http::Request, http::Response};

use crate::{Outcome, step};

/// Longest time for one call.
const PATIENCE: Duration = Duration::from_secs(30);
/// What everybody signs in with.
pub(super) const PASSWORD: &str = "seventeen-sparrows";

/// A principal's way of calling.
pub(super) struct Client {
    agent: Agent,
    base: String,
    /// What the credential consists of.
    pub(super) headers: Vec<(String, String)>,
}

impl Client {
    /// Calls with a bearer token.
    pub(super) fn bearer(base: &str, token: &str) -> Self {
        Self::with(base, vec![("Authorization".into(), format!("Bearer {token}"))])
    }

    /// Calls as a page of the server does, in a new session of somebody who chooses a password for it.
    pub(super) fn session(base: &str, pinhole: &Path, work: &Path, name: &str) -> Outcome<Self> {
        let mut command = Command::new(pinhole);
        command.args(["admin", "reset", name, "--data-dir"]).arg(work.join("data"));
        let link = step::output(&mut command)?;
        let (_, link) = link.trim().split_once("/sign-in/").ok_or("no sign-in link was printed")?;
        let stranger = Self::nobody(base);
        let request = Request::post(format!("{base}/sign-in/{link}")).header("Sec-Fetch-Site", "same-origin");
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        let answer = stranger.send(request, format!("password={PASSWORD}"))?;
        let cookie = answer.headers().get("Set-Cookie").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let mut session =
            Self::with(base, vec![("Cookie".into(), cookie), ("Sec-Fetch-Site".into(), "same-origin".into())]);
        let csrf = text(&session.get("/session")?, "/csrf_token")?;
        session.headers.push(("X-CSRF-Token".into(), csrf));
        Ok(session)
    }

    /// Calls without a credential.
    pub(super) fn nobody(base: &str) -> Self {
        Self::with(base, Vec::new())
    }

    fn with(base: &str, headers: Vec<(String, String)>) -> Self {
        let config = Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
        let config = config.proxy(None).max_redirects(0).build();
        Self { agent: config.into(), base: base.to_owned(), headers }
    }

    /// The same principal at the server's next address.
    pub(super) fn moved_to(&self, base: &str) -> Self {
        Self::with(base, self.headers.clone())
    }

    pub(super) fn get(&self, path: &str) -> Outcome<Value> {
        self.call("GET", path, &[], &Value::Null)
    }

    /// Makes something, with a key of its own.
    pub(super) fn make(&self, path: &str, body: &Value) -> Outcome<Value> {
        self.call("POST", path, &[("Idempotency-Key", key())], body)
    }

    /// Changes what has this version.
    pub(super) fn change(&self, method: &str, path: &str, version: u64, body: &Value) -> Outcome<Value> {
        self.call(method, path, &[("If-Match", version.to_string())], body)
    }

    /// Makes something where this version is expected.
    pub(super) fn make_at(&self, path: &str, version: u64, body: &Value) -> Outcome<Value> {
        self.call("POST", path, &[("Idempotency-Key", key()), ("If-Match", version.to_string())], body)
    }

    /// Any call.
    pub(super) fn call(&self, method: &str, path: &str, headers: &[(&str, String)], body: &Value) -> Outcome<Value> {
        let mut request = Request::builder().method(method).uri(format!("{}/api/v1{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let has_body = !body.is_null();
        let request = if has_body { request.header("Content-Type", "application/json") } else { request };
        let mut answer = self.send(request, if has_body { body.to_string() } else { String::new() })?;
        let status = answer.status();
        let text = answer.body_mut().read_to_string().map_err(|e| format!("{method} {path}: {e}"))?;
        if !status.is_success() {
            return Err(format!("{method} {path}: the server answered {status}: {text}"));
        }
        serde_json::from_str(&text).map_err(|e| format!("{method} {path}: the answer is no JSON: {e}"))
    }

    fn send(&self, request: ureq::http::request::Builder, body: String) -> Outcome<Response<Body>> {
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let request = request.body(body).map_err(|e| format!("no request: {e}"))?;
        self.agent.run(request).map_err(|e| format!("no answer: {e}"))
    }
}

/// A key that no other call has.
fn key() -> String {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    format!("ground-{}", SERIAL.fetch_add(1, Ordering::Relaxed))
}

/// The principal as schemathesis is told of it.
pub(super) fn described(name: &str, client: &Client) -> Value {
    let header = |(name, value): &(String, String)| json!({ "name": name, "value": value });
    json!({ "name": name, "fixedHeaders": client.headers.iter().map(header).collect::<Vec<_>>() })
}

/// A member of an answer that has to be a string.
pub(super) fn text(answer: &Value, pointer: &str) -> Outcome<String> {
    let text = answer.pointer(pointer).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("no {pointer} in {answer}"))
}

/// A member of an answer that has to be a whole number.
pub(super) fn number(answer: &Value, pointer: &str) -> Outcome<u64> {
    answer.pointer(pointer).and_then(Value::as_u64).ok_or_else(|| format!("no {pointer} in {answer}"))
}
