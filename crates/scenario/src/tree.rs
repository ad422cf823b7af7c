//! The syntax tree between the two readers (YAML, JSON) and the decoder: plain values, each with its position.

use crate::diagnostics::{Position, quote};

/// The greatest nesting of lists and maps. It bounds the recursion of everything that walks a tree.
pub(crate) const MAX_DEPTH: usize = 24;

/// The greatest number of members of a map; no map of the language has more than 12.
pub(crate) const MAX_MEMBERS: usize = 64;

/// A value and where it begins.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) kind: Kind,
}

/// A value.
#[derive(Debug)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// As written, so that the decoder decides which numbers it takes.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A member of a map. Keys of one map differ.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
}

impl Node {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a member, if this is a map that has it.
    pub(crate) fn member(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub(crate) fn found(&self) -> String {
        match &self.kind {
            Kind::Null => "found nothing".into(),
            Kind::Bool(value) => format!("found {value}"),
            Kind::Number(number) => format!("found the number {}", quote(number)),
            Kind::Text(text) => format!("found the text {}", quote(text)),
            Kind::List(_) => "found a list".into(),
            Kind::Map(_) => "found a map".into(),
        }
    }
}
