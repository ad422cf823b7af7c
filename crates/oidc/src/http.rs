//! Calls to the provider: no redirects, a deadline, and a bound on what it may answer.

use std::{error, fmt, time::Duration};

use openidconnect::{HttpRequest, HttpResponse};
use pinhole_core::{Error, Result};

/// How long one call may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// The largest answer in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The client for every call. A redirect could lead anywhere, also behind our own walls.
pub(crate) fn client() -> Result<reqwest::Client> {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(DEADLINE);
    builder.build().map_err(Error::internal)
}

/// Sends one request and reads its answer.
pub(crate) async fn send(client: reqwest::Client, request: HttpRequest) -> std::result::Result<HttpResponse, Failed> {
    let request = reqwest::Request::try_from(request).map_err(Failed::call)?;
    let mut answer = client.execute(request).await.map_err(Failed::call)?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(Failed::call)? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(Failed("the answer is too large".into()));
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = HttpResponse::new(body);
    *response.status_mut() = answer.status();
    response.headers_mut().clone_from(answer.headers());
    Ok(response)
}

/// Why a call had no usable answer.
#[derive(Debug)]
pub(crate) struct Failed(String);

impl Failed {
    fn call(error: reqwest::Error) -> Self {
        // Queries of the provider's addresses hold nothing of ours, but none has to be in a log.
        let error = error.without_url();
        let mut text = error.to_string();
        let mut source = error::Error::source(&error);
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Self(text)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Failed {}
