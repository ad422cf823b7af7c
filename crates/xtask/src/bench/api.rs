//! Plain REST with a bearer token, as any program would speak it.

use std::time::Duration;

use serde_json::Value;
use ureq::{Agent, Body, http::Response};

use crate::Outcome;

/// Longest time for one call.
const PATIENCE: Duration = Duration::from_secs(30);
/// Greatest answer that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// A client of one principal; clones share its connections.
#[derive(Clone)]
pub(crate) struct Api {
    agent: Agent,
    base: String,
    token: String,
}

impl Api {
    pub(crate) fn new(base: &str, token: &str) -> Self {
        let config = Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false).proxy(None);
        Self { agent: config.build().into(), base: base.to_owned(), token: format!("Bearer {token}") }
    }

    /// Whether the server says that it can work.
    pub(super) fn is_ready(&self) -> bool {
        self.agent.get(format!("{}/readyz", self.base)).call().is_ok_and(|response| response.status().is_success())
    }

    pub(super) fn get(&self, path: &str) -> Outcome<Value> {
        let request = self.agent.get(self.url(path)).header("Authorization", &self.token);
        answer(path, request.call())
    }

    /// A call with a key of its own, which makes it safe to repeat.
    pub(crate) fn post(&self, path: &str, key: &str, body: &Value) -> Outcome<Value> {
        let request = self.agent.post(self.url(path)).header("Authorization", &self.token);
        let request = request.header("Idempotency-Key", key).content_type("application/json");
        answer(path, request.send(body.to_string()))
    }

    fn url(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.base)
    }
}

fn answer(path: &str, response: Result<Response<Body>, ureq::Error>) -> Outcome<Value> {
    let mut response = response.map_err(|e| format!("{path}: {e}"))?;
    let text = response.body_mut().with_config().limit(MAX_BYTES).read_to_string();
    let text = text.map_err(|e| format!("{path}: {e}"))?;
    if !response.status().is_success() {
        return Err(format!("{path}: the server answered {}: {text}", response.status()));
    }
    serde_json::from_str(&text).map_err(|e| format!("{path}: the answer is no JSON: {e}"))
}

/// A member of an answer that has to be a string.
pub(super) fn text<'a>(answer: &'a Value, pointer: &str) -> Outcome<&'a str> {
    answer.pointer(pointer).and_then(Value::as_str).ok_or_else(|| format!("no {pointer} in {answer}"))
}
