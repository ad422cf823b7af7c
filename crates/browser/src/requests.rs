//! The requests of one document: which are under way, what their ends mean for settling, and which parts of the page did
//! not come. Pure bookkeeping over the parameters of `Network` events.

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
    /// Something that the page shows, or is built by.
    part: bool,
    /// From a host of the environment.
    own: bool,
}

/// What is under way in a document.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) pending: usize,
    /// The address of one pending request, without its query.
    pub(crate) example: Option<String>,
    /// The address of one pending part of what is shown.
    pub(crate) part: Option<String>,
    /// Time since the last request of a script ended, if the loaded document has made one.
    pub(crate) script_idle: Option<Duration>,
}

/// The requests of the shown document.
#[derive(Default)]
pub(crate) struct Requests {
    pending: HashMap<String, Request>,
    script_ended: Option<Instant>,
    failed_fonts: u32,
    missing_part: Option<String>,
}

impl Requests {
    pub(crate) fn network(&self) -> Network {
        let parts = self.pending.values().filter(|request| request.part);
        Network {
            pending: self.pending.len(),
            example: self.pending.values().map(|request| request.url.clone()).min(),
            part: parts.map(|request| request.url.clone()).min(),
            script_idle: self.script_ended.map(|ended| ended.elapsed()),
        }
    }

    pub(crate) fn failed_fonts(&self) -> u32 {
        self.failed_fonts
    }

    /// The first part of the page that came from the environment's hosts broken or not at all, and why.
    pub(crate) fn missing_part(&self) -> Option<&str> {
        self.missing_part.as_deref()
    }

    /// `Network.requestWillBeSent`; a redirect comes again under the same id. `own`: to a host of the environment.
    pub(crate) fn start(&mut self, params: &Value, own: bool) {
        let text = |pointer: &str| text(params, pointer);
        let (url, kind) = (text("/request/url"), text("/type"));
        // These may stay open for as long as the page does, and their end changes nothing that is shown.
        let endless =
            matches!(kind, "EventSource" | "WebSocket" | "Ping" | "Media" | "Prefetch" | "CSPViolationReport");
        if endless || url.starts_with("data:") || url.starts_with("blob:") || self.pending.len() >= MAX_REQUESTS {
            return;
        }
        // A script's own picture is a tracking pixel as often as not, and one that is shown is an element that waits.
        let asked_by_script = text("/initiator/type") == "script";
        let part = matches!(kind, "Document" | "Stylesheet" | "Script") || (kind == "Image" && !asked_by_script);
        let kind = match kind {
            "XHR" | "Fetch" | "Script" => Kind::Script,
            "Font" => Kind::Font,
            _ => Kind::Other,
        };
        self.pending.insert(text("/requestId").to_owned(), Request { url: without_query(url), kind, part, own });
    }

    /// `Network.responseReceived`.
    pub(crate) fn answered(&mut self, params: &Value) {
        let status = params.pointer("/response/status").and_then(Value::as_u64);
        if text(params, "/type") == "Font" && status.is_some_and(|code| code >= 400) {
            self.failed_fonts += 1;
        }
        let request = self.pending.get(text(params, "/requestId")).filter(|request| request.part && request.own);
        if let (Some(request), Some(code @ 500..)) = (request, status) {
            self.missing_part.get_or_insert(format!("{} was answered with status {code}", request.url));
        }
    }

    /// `Network.loadingFailed` for the shown document, whose own request is none of its parts.
    pub(crate) fn document_failed(&mut self, url: &str, params: &Value) {
        if broke_off(params) {
            self.missing_part = Some(format!("{} ended with {}", without_query(url), text(params, "/errorText")));
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
        let told = failed.then(|| format!("request for {} ended with {}", request.url, text(params, "/errorText")))?;
        if request.part && request.own && broke_off(params) {
            self.missing_part.get_or_insert_with(|| told.clone());
        }
        Some(told)
    }
}

/// Whether the network is to blame, and not the page or a policy that ended the request.
fn broke_off(params: &Value) -> bool {
    let ended = params.get("canceled").and_then(Value::as_bool) == Some(true) || params.get("blockedReason").is_some();
    let why = text(params, "/errorText");
    !ended && why != "net::ERR_ABORTED" && why != "net::ERR_HTTP_RESPONSE_CODE_FAILURE" && !why.contains("BLOCKED")
}

fn text<'a>(params: &'a Value, pointer: &str) -> &'a str {
    params.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn started(kind: &str) -> Requests {
        begun(kind, "parser", true)
    }

    fn begun(kind: &str, initiator: &str, own: bool) -> Requests {
        let mut requests = Requests::default();
        let request = json!({ "url": "http://h/x?secret" });
        let initiator = json!({ "type": initiator });
        requests.start(&json!({ "requestId": "1", "type": kind, "request": request, "initiator": initiator }), own);
        requests
    }

    #[test]
    fn a_part_that_breaks_off_is_missing_and_what_a_page_ends_itself_is_not() {
        let broke = json!({ "requestId": "1", "errorText": "net::ERR_CONNECTION_RESET", "canceled": false });
        let ended = json!({ "requestId": "1", "errorText": "net::ERR_ABORTED", "canceled": true });
        let error = json!({ "requestId": "1", "type": "Image", "response": { "status": 503 } });
        for (kind, initiator, own, missing) in [
            ("Stylesheet", "parser", true, true),
            ("Script", "script", true, true),
            ("Document", "parser", true, true),
            ("Image", "parser", true, true),
            ("Image", "script", true, false),
            ("Image", "parser", false, false),
            ("Fetch", "script", true, false),
        ] {
            let begin = || begun(kind, initiator, own);
            let (mut failed, mut left, mut refused) = (begin(), begin(), begin());
            failed.end(&broke, true, true);
            left.end(&ended, true, true);
            refused.answered(&error);
            let missed = [&failed, &left, &refused].map(|requests| requests.missing_part().is_some());
            assert_eq!(missed, [missing, false, missing], "{kind} {initiator} {own}");
        }
        assert_eq!(started("Image").network().part.as_deref(), Some("http://h/x"));
        assert_eq!(begun("Image", "script", true).network().part, None);
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
