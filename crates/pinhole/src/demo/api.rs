//! The demo's client: plain REST with a bearer token, as any program would speak it.

use pinhole_core::{Error, Result};
use serde_json::Value;

/// Greatest answer that is read.
const MAX_BYTES: usize = 64 << 20;

/// A client of one principal.
pub(super) struct Api {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Api {
    pub(super) fn new(base: &str, token: &str) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().build().map_err(Error::internal)?;
        Ok(Self { http, base: base.to_owned(), token: token.to_owned() })
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value> {
        let bytes = self.bytes(path).await?;
        serde_json::from_slice(&bytes).map_err(Error::internal)
    }

    pub(super) async fn bytes(&self, path: &str) -> Result<Vec<u8>> {
        let request = self.http.get(self.url(path)).bearer_auth(&self.token);
        answer(request.send().await.map_err(Error::internal)?).await
    }

    /// A call with a key of its own, which makes it safe to repeat.
    pub(super) async fn post(&self, path: &str, key: &str, body: Value) -> Result<Value> {
        let request =
            self.http.post(self.url(path)).bearer_auth(&self.token).header("Idempotency-Key", key).json(&body);
        let bytes = answer(request.send().await.map_err(Error::internal)?).await?;
        serde_json::from_slice(&bytes).map_err(Error::internal)
    }

    /// A call that needs no key.
    pub(super) async fn decide(&self, path: &str, version: u64, body: Value) -> Result<Value> {
        let request =
            self.http.post(self.url(path)).bearer_auth(&self.token).header("If-Match", version.to_string()).json(&body);
        let bytes = answer(request.send().await.map_err(Error::internal)?).await?;
        serde_json::from_slice(&bytes).map_err(Error::internal)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

async fn answer(mut response: reqwest::Response) -> Result<Vec<u8>> {
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Error::internal)? {
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(Error::too_large("answer in bytes", MAX_BYTES as u64));
        }
        bytes.extend_from_slice(&chunk);
    }
    if status.is_success() {
        return Ok(bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    Err(Error::unavailable("refused", format!("the server answered {status}: {text}")))
}
