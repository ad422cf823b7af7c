//! The requests of one document: which are under way and what their ends mean for settling. Pure bookkeeping over the
//! parameters of `Network` events.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::hosts::without_query;

/// Requests beyond this number are not followed.
const MAX_REQUESTS: usize = 10_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Script,
    Font,
    Other,
}

struct Request {
    url: String,
    kind: Kind,
}

/// What is under way in a document.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) pending: usize,
    /// The address of one pending request, without its query.
    pub(crate) example: Option<String>,
    /// Time since the last request of a script ended, if the loaded document has made one.
    pub(crate) script_idle: Option<Duration>,
}

/// The requests of the shown document.
#[derive(Default)]
pub(crate) struct Requests {
    pending: HashMap<String, Request>,
    script_ended: Option<Instant>,
    failed_fonts: u32,
}

impl Requests {
    pub(crate) fn network(&self) -> Network {
        Network {
            pending: self.pending.len(),
            example: self.pending.values().map(|request| request.url.clone()).min(),
            script_idle: self.script_ended.map(|ended| ended.elapsed()),
        }
    }

    pub(crate) fn failed_fonts(&self) -> u32 {
        self.failed_fonts
    }

    /// `Network.requestWillBeSent`; a redirect comes again under the same id.
    pub(crate) fn start(&mut self, params: &Value) {
        let text = |pointer: &str| text(params, pointer);
        let (url, kind) = (text("/request/url"), text("/type"));
        // These may stay open for as long as the page does, and their end changes nothing that is shown.
        let endless =
            matches!(kind, "EventSource" | "WebSocket" | "Ping" | "Media" | "Prefetch" | "CSPViolationReport");
        if endless || url.starts_with("data:") || url.starts_with("blob:") || self.pending.len() >= MAX_REQUESTS {
            return;
        }
        let kind = match kind {
            "XHR" | "Fetch" | "Script" => Kind::Script,
            "Font" => Kind::Font,
            _ => Kind::Other,
        };
        self.pending.insert(text("/requestId").to_owned(), Request { url: without_query(url), kind });
    }

    /// `Network.responseReceived`.
    pub(crate) fn answered(&mut self, params: &Value) {
        let status = params.pointer("/response/status").and_then(Value::as_u64);
        if text(params, "/type") == "Font" && status.is_some_and(|code| code >= 400) {
            self.failed_fonts += 1;
        }
    }

    /// `Network.loadingFinished`, or `Network.loadingFailed` when `failed`; gives what there is to say of a failure.
    /// `loaded`: whether the document itself had been loaded by then.
    pub(crate) fn end(&mut self, params: &Value, failed: bool, loaded: bool) -> Option<String> {
        let request = self.pending.remove(text(params, "/requestId"))?;
        if request.kind == Kind::Script && loaded {
            self.script_ended = Some(Instant::now());
        }
        if request.kind == Kind::Font && failed {
            self.failed_fonts += 1;
        }
        failed.then(|| format!("request for {} ended with {}", request.url, text(params, "/errorText")))
    }
}

fn text<'a>(params: &'a Value, pointer: &str) -> &'a str {
    params.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn started(kind: &str) -> Requests {
        let mut requests = Requests::default();
        requests.start(&json!({ "requestId": "1", "type": kind, "request": { "url": "http://h/x?secret" } }));
        requests
    }

    #[test]
    fn endless_kinds_are_not_waited_for() {
        assert_eq!(started("EventSource").network().pending, 0);
        let network = started("Image").network();
        assert_eq!((network.pending, network.example.as_deref()), (1, Some("http://h/x")));
    }

    #[test]
    fn only_a_script_of_a_loaded_document_asks_for_idleness() {
        let end = json!({ "requestId": "1", "errorText": "net::ERR_FAILED" });
        for (kind, loaded, asks) in [("Fetch", true, true), ("Fetch", false, false), ("Image", true, false)] {
            let mut requests = started(kind);
            assert_eq!(requests.end(&end, true, loaded).unwrap(), "request for http://h/x ended with net::ERR_FAILED");
            assert_eq!((requests.network().pending, requests.network().script_idle.is_some()), (0, asks));
        }
        let mut font = started("Font");
        font.end(&end, true, true);
        assert_eq!(font.failed_fonts(), 1);
    }
}
