//! Calls an operation so that a panic in it is an error of that call, on every transport alike.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use pinhole_app::{App, Entry, Reply};
use pinhole_core::{Actor, Result};
use serde_json::{Map, Value};

use super::boundary::panicked;

/// Runs `entry` with `input` on behalf of `actor`.
pub(crate) async fn invoke(entry: &Entry, app: &App, actor: &Actor, input: Map<String, Value>) -> Result<Reply> {
    guarded(entry.call(app, actor, input)).await
}

/// Not every caller stands under the boundary's own guard: MCP runs calls on a task where a panic leaves the client
/// without any answer.
async fn guarded<T>(running: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(running).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let error = guarded::<()>(async { panic!("boom {}", 1) }).await.unwrap_err();
        assert_eq!(error.code(), pinhole_core::Code::Internal);
        assert_eq!(error.message(), "internal error");
        assert!(format!("{error:?}").contains("boom 1"));
    }
}
