//! Console messages, page errors and what the worker did about the page, kept within bounds as JSON evidence.

use serde::Serialize;
use serde_json::Value;

use crate::{error::clip, hosts::without_query};

/// At most so many messages are kept.
const MAX_MESSAGES: usize = 1000;
/// And so many bytes, so that the file stays below a mebibyte.
const MAX_BYTES: usize = 1000 * 1024;
/// Characters of one message.
const MAX_CHARS: usize = 2000;

/// One message.
#[derive(Clone, Debug, Serialize)]
struct Entry {
    /// `error`, `warning`, `info`, `log`, `debug`, `exception` or `worker`.
    level: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

/// The messages of one cell.
#[derive(Debug, Default)]
pub(crate) struct Console {
    entries: Vec<Entry>,
    bytes: usize,
    dropped: u64,
    errors: u32,
    first_error: Option<String>,
}

impl Console {
    pub(crate) fn errors(&self) -> u32 {
        self.errors
    }

    pub(crate) fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// The evidence file: the messages in order, and how many did not fit.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let value = serde_json::json!({ "messages": self.entries, "dropped": self.dropped });
        serde_json::to_vec(&value).unwrap_or_default()
    }

    /// Something that the worker did to the page or saw of it.
    pub(crate) fn note(&mut self, text: &str) {
        self.push("worker", text, None, None);
    }

    /// `Runtime.consoleAPICalled`.
    pub(crate) fn api(&mut self, params: &Value) {
        let level = params.get("type").and_then(Value::as_str).unwrap_or("log");
        let arguments = params.get("args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<String> = arguments.iter().map(argument_text).collect();
        let frame = params.pointer("/stackTrace/callFrames/0");
        let url = frame.and_then(|frame| frame.get("url")).and_then(Value::as_str);
        let line = frame.and_then(|frame| frame.get("lineNumber")).and_then(Value::as_u64);
        self.push(level, &texts.join(" "), url, line);
    }

    /// `Runtime.exceptionThrown`.
    pub(crate) fn exception(&mut self, params: &Value) {
        let details = params.get("exceptionDetails").unwrap_or(&Value::Null);
        let text = details
            .pointer("/exception/description")
            .or_else(|| details.get("text"))
            .and_then(Value::as_str)
            .unwrap_or("uncaught exception");
        let url = details.get("url").and_then(Value::as_str);
        self.push("exception", text, url, details.get("lineNumber").and_then(Value::as_u64));
    }

    /// `Log.entryAdded`: what the browser itself says, such as a request that failed.
    pub(crate) fn entry(&mut self, params: &Value) {
        let text = |name: &str| params.pointer(&format!("/entry/{name}")).and_then(Value::as_str);
        let level = if text("level") == Some("verbose") { "debug" } else { text("level").unwrap_or("info") };
        let line = params.pointer("/entry/lineNumber").and_then(Value::as_u64);
        self.push(level, text("text").unwrap_or_default(), text("url"), line);
    }

    fn push(&mut self, level: &str, text: &str, url: Option<&str>, line: Option<u64>) {
        let text = clip(text, MAX_CHARS);
        if matches!(level, "error" | "exception" | "assert") {
            self.errors = self.errors.saturating_add(1);
            self.first_error.get_or_insert_with(|| clip(&text, 300));
        }
        let url = url.filter(|url| !url.is_empty()).map(without_query);
        // As JSON, where one control character takes six bytes.
        let written = serde_json::to_string(&text).map_or(0, |text| text.len());
        let size = written + url.as_ref().map_or(0, String::len) + 80;
        if self.entries.len() >= MAX_MESSAGES || self.bytes + size > MAX_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += size;
        self.entries.push(Entry { level: clip(level, 20), text, url, line: line.map(|line| line + 1) });
    }
}

fn argument_text(argument: &Value) -> String {
    let text = |name: &str| argument.get(name);
    match text("value") {
        Some(Value::String(value)) => clip(value, MAX_CHARS),
        Some(value) => clip(&value.to_string(), MAX_CHARS),
        None => {
            let said = text("description").or_else(|| text("unserializableValue")).or_else(|| text("type"));
            clip(said.and_then(Value::as_str).unwrap_or_default(), MAX_CHARS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bounds_hold_and_errors_are_counted_past_them() {
        let mut console = Console::default();
        let long = "\u{1}".repeat(5000);
        for _ in 0..2000 {
            console.api(&json!({ "type": "error", "args": [{ "type": "string", "value": long }] }));
        }
        assert_eq!(console.errors(), 2000);
        assert!(console.entries.len() < MAX_MESSAGES && console.dropped > 0);
        let file: Value = serde_json::from_slice(&console.to_json()).unwrap();
        assert!(console.to_json().len() < 1024 * 1024);
        assert_eq!(file["messages"].as_array().unwrap().len() as u64 + console.dropped, 2000);
    }

    #[test]
    fn addresses_lose_their_query() {
        let mut console = Console::default();
        let entry = json!({ "entry": { "level": "error", "text": "gone", "url": "http://h/x?secret=1" } });
        console.entry(&entry);
        assert!(!String::from_utf8(console.to_json()).unwrap().contains("secret"));
    }
}
