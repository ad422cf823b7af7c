//! The DevTools connection: commands out, answers and events in, one task that owns the socket.
//!
//! It drives `chromiumoxide::Connection` itself instead of that crate's `Handler`, because the handler keeps running
//! on a dead socket, sends its own set-up to every page and does not time commands out. Here the first error on the
//! socket ends the task, and with it every pending and every later call. No call waits without a limit.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chromiumoxide::{
    Command, Connection,
    error::CdpError,
    types::{CallId, EventMessage, Message, Method, MethodId},
};
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::error::CallError;

/// An event, kept as JSON: a browser newer than the protocol description cannot make it unreadable.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    pub(crate) method: String,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    #[serde(default)]
    pub(crate) params: Value,
}

impl Method for Event {
    fn identifier(&self) -> MethodId {
        self.method.clone().into()
    }
}

impl EventMessage for Event {
    fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

/// Takes the events of one session, on the socket's task: it must not block.
pub(crate) trait Listener: Send + Sync {
    fn on_event(&self, event: &Event);
    /// The browser is dead; no event will follow.
    fn on_gone(&self);
}

struct Request {
    method: MethodId,
    session: Option<String>,
    params: Value,
    /// Absent when nobody waits for the answer.
    answer: Option<oneshot::Sender<Result<Value, CallError>>>,
}

type Listeners = Arc<Mutex<HashMap<String, Arc<dyn Listener>>>>;

/// A handle on the connection; clones share it.
#[derive(Clone)]
pub(crate) struct Client {
    requests: mpsc::UnboundedSender<Request>,
    listeners: Listeners,
    dead: Arc<AtomicBool>,
}

/// The key under which the browser's own events are heard.
const BROWSER: &str = "";

impl Client {
    /// Connects and starts the task that owns the socket; the task ends with the socket or the last handle.
    pub(crate) async fn connect(url: &str) -> Result<Self, CallError> {
        let connection =
            Connection::<Event>::connect(url).await.map_err(|error| CallError::Refused(error.to_string()))?;
        let (requests, incoming) = mpsc::unbounded_channel();
        let client = Self { requests, listeners: Listeners::default(), dead: Arc::default() };
        let (listeners, dead) = (Arc::clone(&client.listeners), Arc::clone(&client.dead));
        tokio::spawn(async move {
            // Also when the task is dropped with its runtime, or panics in the library.
            let _end = End { listeners: Arc::clone(&listeners), dead };
            drive(connection, incoming, &listeners).await;
        });
        Ok(client)
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// Hears the events of `session`, or the browser's own ones.
    pub(crate) fn listen(&self, session: Option<&str>, listener: Arc<dyn Listener>) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.insert(session.unwrap_or(BROWSER).to_owned(), listener);
    }

    pub(crate) fn unlisten(&self, session: &str) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    /// Sends a command to the browser itself and waits at most `limit`.
    pub(crate) async fn call<C: Command>(&self, command: C, limit: Duration) -> Result<C::Response, CallError> {
        self.call_in(None, command, limit).await
    }

    /// Sends a command to `session` and waits at most `limit`.
    pub(crate) async fn call_in<C: Command>(
        &self,
        session: Option<&str>,
        command: C,
        limit: Duration,
    ) -> Result<C::Response, CallError> {
        let method = command.identifier();
        let name = static_name(&method);
        let params = serde_json::to_value(&command).map_err(|error| CallError::Refused(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        let session = session.map(str::to_owned);
        self.requests.send(Request { method, session, params, answer: Some(answer) }).map_err(|_| CallError::Gone)?;
        let value = tokio::time::timeout(limit, answered)
            .await
            .map_err(|_| CallError::Timeout(name))?
            .unwrap_or(Err(CallError::Gone))?;
        C::response_from_value(value).map_err(|error| CallError::Refused(format!("{name}: {error}")))
    }

    /// Sends a command whose answer nobody needs.
    pub(crate) fn tell<C: Command>(&self, session: Option<&str>, command: &C) {
        if let Ok(params) = serde_json::to_value(command) {
            let session = session.map(str::to_owned);
            let _ = self.requests.send(Request { method: command.identifier(), session, params, answer: None });
        }
    }
}

fn static_name(method: &MethodId) -> &'static str {
    match method {
        MethodId::Borrowed(name) => name,
        MethodId::Owned(_) => "a command",
    }
}

/// Tells everybody that the connection is over, however its task ends.
struct End {
    listeners: Listeners,
    dead: Arc<AtomicBool>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.dead.store(true, Ordering::Release);
        let listeners = std::mem::take(&mut *self.listeners.lock().unwrap_or_else(PoisonError::into_inner));
        for listener in listeners.values() {
            listener.on_gone();
        }
    }
}

/// A message again whose strings hold half of a character, such as a text that a page cut in the middle of an emoji:
/// JavaScript has such strings and Rust has not. They get the replacement character there.
fn mended(error: CdpError) -> Result<Message<Event>, CdpError> {
    let CdpError::InvalidMessage(text, why) = error else { return Err(error) };
    serde_json::from_str(&without_half_characters(&text)).map_err(|_| CdpError::InvalidMessage(text, why))
}

/// Replaces the escapes of surrogates without their other half (RFC 8259, section 8.2) in a JSON text.
fn without_half_characters(json: &str) -> String {
    let unit = |at: &str| {
        let digits = at.strip_prefix("\\u").and_then(|rest| rest.get(..4))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let (half, length) = match unit(escape) {
            Some(0xD800..=0xDBFF) => match escape.get(6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => (false, 12),
                _ => (true, 6),
            },
            Some(0xDC00..=0xDFFF) => (true, 6),
            Some(_) => (false, 6),
            None => (false, 2),
        };
        let (escape, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        mended.push_str(if half { "\u{FFFD}" } else { escape });
        rest = after;
    }
    mended.push_str(rest);
    mended
}

async fn drive(
    mut connection: Connection<Event>,
    mut requests: mpsc::UnboundedReceiver<Request>,
    listeners: &Listeners,
) {
    let mut pending: HashMap<CallId, oneshot::Sender<Result<Value, CallError>>> = HashMap::new();
    loop {
        tokio::select! {
            request = requests.recv() => {
                let Some(Request { method, session, params, answer }) = request else { return };
                let Ok(id) = connection.submit_command(method, session.map(Into::into), params) else { continue };
                if let Some(answer) = answer {
                    // Calls that timed out are never answered; they must not pile up.
                    if pending.len() >= 512 {
                        pending.retain(|_, answer| !answer.is_closed());
                    }
                    pending.insert(id, answer);
                }
            }
            message = connection.next() => match message.map(|message| message.or_else(mended)) {
                Some(Ok(Message::Response(response))) => {
                    if let Some(answer) = pending.remove(&response.id) {
                        let result = match response.error {
                            Some(error) => Err(CallError::Refused(error.message)),
                            None => Ok(response.result.unwrap_or(Value::Null)),
                        };
                        let _ = answer.send(result);
                    }
                }
                Some(Ok(Message::Event(event))) => {
                    let key = event.session.as_deref().unwrap_or(BROWSER);
                    let listener = listeners.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
                    if let Some(listener) = listener {
                        listener.on_event(&event);
                    }
                }
                Some(Err(CdpError::InvalidMessage(..))) => tracing::warn!("unreadable message from the browser"),
                Some(Err(error)) => {
                    tracing::debug!(%error, "the browser's connection broke");
                    return;
                }
                None => return,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_characters_are_replaced_and_nothing_else() {
        for (written, read) in [
            (r#""cut \ud83d""#, "cut \u{FFFD}"),
            (r#""\udE00\ud83d\ude00\uD83D\u0041""#, "\u{FFFD}\u{1F600}\u{FFFD}A"),
            (r#""\\ud83d \" \n é""#, "\\ud83d \" \n é"),
        ] {
            let text: String = serde_json::from_str(&without_half_characters(written)).unwrap();
            assert_eq!(text, read);
        }
        for cut in ["\\", "\\u", "\\ud8", "\\ud83d\\", "\\u+123é"] {
            let _ = without_half_characters(cut);
        }
    }
}
