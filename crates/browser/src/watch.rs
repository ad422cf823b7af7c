//! What is known of a page from its events alone: loading, requests under way, the main document's answer, console
//! messages, and faults that end the cell. It answers dialogs and lets new workers run, and does nothing else.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chromiumoxide::cdp::{
    browser_protocol::{
        emulation::SetUserAgentOverrideParams, network::SetExtraHttpHeadersParams, page::HandleJavaScriptDialogParams,
    },
    js_protocol::runtime::RunIfWaitingForDebuggerParams,
};
use pinhole_core::FailureReason;
use serde_json::Value;
use tokio::sync::Notify;
use url::Url;

use crate::{
    client::{Client, Event, Listener},
    console::Console,
    error::Fault,
    hosts::Hosts,
    requests::{Network, Requests},
};

/// A page that asks more often is stuck in a loop of dialogs.
const MAX_DIALOGS: u32 = 10;

/// A step that waits for one document looks at these; no page goes through more between two looks.
const MAX_PAST: usize = 64;

/// The main document's answer.
#[derive(Debug, Default)]
struct Document {
    loader: String,
    /// Absent for documents that came without HTTP, such as `about:blank`.
    status: Option<u16>,
}

#[derive(Default)]
struct State {
    /// The document that is shown.
    loader: String,
    /// The ones shown before it, the latest last.
    past: VecDeque<String>,
    url: String,
    /// The last answer to a navigation request of the main frame; it comes before the document is shown.
    answer: Document,
    dom_ready: bool,
    loaded: bool,
    /// The main frame has begun to load something else.
    loading: bool,
    requests: Requests,
    dialogs: u32,
    fault: Option<Fault>,
    console: Console,
}

impl State {
    /// Whether `loader`'s document has come, even if a redirect of its own has led on since.
    fn has_come(&self, loader: Option<&str>) -> bool {
        loader.is_none_or(|id| self.loader == id || self.past.iter().any(|past| past == id))
    }
}

/// The state of one page, filled by the socket's task and read by the cell.
pub(crate) struct Watch {
    client: Client,
    session: String,
    main_frame: String,
    hosts: Hosts,
    /// What workers of the page must be told, since the page's own overrides do not reach them.
    agent: SetUserAgentOverrideParams,
    headers: SetExtraHttpHeadersParams,
    state: Mutex<State>,
    changed: Notify,
}

impl Watch {
    pub(crate) fn new(
        client: Client,
        session: String,
        main_frame: String,
        hosts: Hosts,
        agent: SetUserAgentOverrideParams,
        headers: SetExtraHttpHeadersParams,
    ) -> Arc<Self> {
        let state = Mutex::new(State { loaded: true, dom_ready: true, url: "about:blank".into(), ..State::default() });
        Arc::new(Self { client, session, main_frame, hosts, agent, headers, state, changed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first fault that ends the cell.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.state().fault.clone()
    }

    fn set_fault(&self, fault: Fault) {
        self.state().fault.get_or_insert(fault);
        self.changed.notify_waiters();
    }

    pub(crate) fn renderer_crashed(&self) {
        self.set_fault(Fault::new(FailureReason::RendererCrashed, "the page's renderer process ended"));
    }

    pub(crate) fn browser_gone(&self) {
        self.set_fault(Fault::browser_gone());
    }

    pub(crate) fn popup_closed(&self) {
        self.note("a window that the page opened was closed");
    }

    /// Puts a remark of the worker among the console messages.
    pub(crate) fn note(&self, text: &str) {
        self.state().console.note(text);
    }

    /// Returns with the fault once there is one.
    pub(crate) async fn failed(&self) -> Fault {
        loop {
            let changed = self.changed.notified();
            if let Some(fault) = self.fault() {
                return fault;
            }
            changed.await;
        }
    }

    /// Waits until `loader`'s document, or one that it led to, is loaded, or any document when it is absent; the caller bounds the wait.
    pub(crate) async fn loaded(&self, loader: Option<&str>) {
        self.until(|state| state.loaded && !state.loading && state.has_come(loader)).await;
    }

    /// Returns once another document is shown than now.
    pub(crate) async fn left_document(&self) {
        let shown = self.state().loader.clone();
        self.until(|state| state.loader != shown).await;
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            if holds(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Returns after the next event that changes anything.
    pub(crate) async fn next_change(&self) {
        self.changed.notified().await;
    }

    /// Whether `loader`'s document has been parsed, though parts of it may still be loading.
    pub(crate) fn is_parsed(&self, loader: Option<&str>) -> bool {
        let state = self.state();
        state.dom_ready && state.has_come(loader)
    }

    pub(crate) fn is_loading(&self) -> bool {
        let state = self.state();
        state.loading || !state.loaded
    }

    /// Address of the shown document.
    pub(crate) fn url(&self) -> String {
        self.state().url.clone()
    }

    /// HTTP status of the shown document.
    pub(crate) fn status(&self) -> Option<u16> {
        let state = self.state();
        (state.answer.loader == state.loader).then_some(state.answer.status).flatten()
    }

    /// Whether the server answered the navigation, whatever became of its document.
    pub(crate) fn answered(&self, loader: &str) -> bool {
        let state = self.state();
        state.answer.loader == loader && state.answer.status.is_some()
    }

    pub(crate) fn failed_fonts(&self) -> u32 {
        self.state().requests.failed_fonts()
    }

    /// The first part of the page that did not come, and why.
    pub(crate) fn missing_part(&self) -> Option<String> {
        self.state().requests.missing_part().map(str::to_owned)
    }

    pub(crate) fn console_errors(&self) -> (u32, Option<String>) {
        let state = self.state();
        (state.console.errors(), state.console.first_error().map(str::to_owned))
    }

    pub(crate) fn console_json(&self) -> Vec<u8> {
        self.state().console.to_json()
    }

    pub(crate) fn network(&self) -> Network {
        self.state().requests.network()
    }

    fn is_main(&self, params: &Value) -> bool {
        params.get("frameId").and_then(Value::as_str) == Some(self.main_frame.as_str())
    }

    fn request_started(&self, params: &Value) {
        let text = |pointer: &str| params.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if text("/type") == "Document" && self.is_main(params) {
            self.check_host(text("/request/url"));
        }
        let own = Url::parse(text("/request/url")).is_ok_and(|url| self.hosts.allows(&url));
        self.state().requests.start(params, own);
    }

    /// A redirect or a script may lead the main frame where the environment does not allow it to go.
    fn check_host(&self, url: &str) {
        let allowed = Url::parse(url).is_ok_and(|url| url.scheme() == "about" || self.hosts.allows(&url));
        if !allowed {
            let place = crate::hosts::without_query(url);
            let message = format!("the page went to {place}, which is not an allowed host of the environment");
            self.set_fault(Fault::new(FailureReason::EgressDenied, message));
        }
    }

    fn request_ended(&self, params: &Value, failed: bool) {
        let mut state = self.state();
        let loaded = state.loaded;
        // A document's request has its loader's id (`Network.RequestId`) and began before the document was shown.
        if failed && params.get("requestId").and_then(Value::as_str) == Some(state.loader.as_str()) {
            let url = state.url.clone();
            state.requests.document_failed(&url, params);
        }
        if let Some(failure) = state.requests.end(params, failed, loaded) {
            state.console.note(&failure);
        }
    }

    fn response(&self, params: &Value) {
        let text = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut state = self.state();
        state.requests.answered(params);
        if text("type") == "Document" && self.is_main(params) {
            let status = params.pointer("/response/status").and_then(Value::as_u64);
            let status = status.and_then(|code| u16::try_from(code).ok()).filter(|code| *code > 0);
            state.answer = Document { loader: text("loaderId").to_owned(), status };
        }
    }

    fn navigated(&self, params: &Value) {
        let frame = |name: &str| params.pointer(name).and_then(Value::as_str);
        if frame("/frame/id") != Some(self.main_frame.as_str()) {
            return;
        }
        let mut state = self.state();
        let loader = frame("/frame/loaderId").unwrap_or_default().to_owned();
        let past = std::mem::replace(&mut state.loader, loader);
        state.past.push_back(past);
        if state.past.len() > MAX_PAST {
            state.past.pop_front();
        }
        state.url = frame("/frame/unreachableUrl").or(frame("/frame/url")).unwrap_or_default().to_owned();
        state.url.push_str(frame("/frame/urlFragment").unwrap_or_default());
        (state.dom_ready, state.loaded) = (false, false);
        // Requests of the document before are of no interest; some never report their end.
        state.requests = Requests::default();
    }

    fn lifecycle(&self, params: &Value) {
        if !self.is_main(params) {
            return;
        }
        let text = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut state = self.state();
        if text("loaderId") != state.loader {
            return;
        }
        match text("name") {
            "DOMContentLoaded" => state.dom_ready = true,
            "load" => (state.dom_ready, state.loaded) = (true, true),
            _ => {}
        }
    }

    /// A worker waits until it is told to run.
    fn attached(&self, params: &Value) {
        if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
            self.client.tell(Some(session), &self.agent);
            self.client.tell(Some(session), &self.headers);
            self.client.tell(Some(session), &RunIfWaitingForDebuggerParams::default());
        }
    }

    fn dialog(&self, params: &Value) {
        let kind = params.get("type").and_then(Value::as_str).unwrap_or_default();
        // Declining to leave would keep the page where it is; every other question is declined.
        let accept = kind == "beforeunload";
        self.client.tell(Some(&self.session), &HandleJavaScriptDialogParams::new(accept));
        let mut state = self.state();
        state.dialogs += 1;
        state.console.note(&format!("a dialog ({kind}) was {}", if accept { "accepted" } else { "dismissed" }));
        if state.dialogs > MAX_DIALOGS {
            let message = format!("the page opened more than {MAX_DIALOGS} dialogs");
            state.fault.get_or_insert(Fault::new(FailureReason::LimitExceeded, message));
        }
    }
}

impl Listener for Watch {
    fn on_event(&self, event: &Event) {
        let params = &event.params;
        match event.method.as_str() {
            "Network.requestWillBeSent" => self.request_started(params),
            "Network.responseReceived" => self.response(params),
            "Network.loadingFinished" => self.request_ended(params, false),
            "Network.loadingFailed" => self.request_ended(params, true),
            "Page.frameNavigated" => self.navigated(params),
            "Page.navigatedWithinDocument" if self.is_main(params) => {
                if let Some(url) = params.get("url").and_then(Value::as_str) {
                    self.state().url = url.to_owned();
                }
            }
            "Page.lifecycleEvent" => self.lifecycle(params),
            "Page.frameStartedLoading" if self.is_main(params) => self.state().loading = true,
            "Page.frameStoppedLoading" if self.is_main(params) => {
                // A document whose loading was cut short, by a download for instance, has no load event.
                let mut state = self.state();
                (state.loading, state.dom_ready, state.loaded) = (false, true, true);
            }
            "Page.downloadWillBegin" => {
                let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
                self.note(&format!("a download of {} was refused", crate::hosts::without_query(url)));
            }
            "Target.attachedToTarget" => self.attached(params),
            "Page.javascriptDialogOpening" => self.dialog(params),
            "Runtime.consoleAPICalled" => self.state().console.api(params),
            "Runtime.exceptionThrown" => self.state().console.exception(params),
            "Log.entryAdded" => self.state().console.entry(params),
            "Inspector.targetCrashed" => return self.renderer_crashed(),
            _ => return,
        }
        self.changed.notify_waiters();
    }

    fn on_gone(&self) {
        self.browser_gone();
    }
}
