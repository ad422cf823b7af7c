//! Reads YAML 1.2 into the syntax tree, without the parts that make a text mean something other than it shows:
//! anchors, aliases, merge keys, tags, repeated keys and further documents are refused where they stand.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

use crate::{
    diagnostics::{Path, Position, Problems, quote},
    tree::{Entry, Kind, MAX_DEPTH, MAX_MEMBERS, Node},
};

/// Reads the one document of `text`. `None` when it has none or a problem that ends the reading.
pub(crate) fn read(text: &str, problems: &mut Problems) -> Option<Node> {
    let mut builder = Builder { problems, open: Vec::new(), root: None, documents: 0 };
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => {
                let message = format!("not YAML: {}", error.info());
                builder.refuse(position(error.marker()), message);
                return None;
            }
        }
    }
    let root = builder.root;
    if root.is_none() {
        problems.add(Position { line: 1, column: 1 }, &Path::Root, "the text holds no document");
    }
    root
}

/// A list or map whose end has not been read.
enum Open {
    List { at: Position, items: Vec<Node> },
    Map { at: Position, entries: Vec<Entry>, key: Option<(String, Position)> },
}

struct Builder<'p> {
    problems: &'p mut Problems,
    open: Vec<Open>,
    root: Option<Node>,
    documents: u32,
}

impl Builder<'_> {
    /// Takes one event. `None` ends the reading; the problem is noted.
    fn event(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let at = position(&span.start);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self.stop(at, "a second document: a scenario file holds one");
                }
            }
            Event::Alias(_) => {
                self.refuse(at, "aliases are not part of the language: write the value out");
                return self.scalar("", ScalarStyle::DoubleQuoted, at);
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.properties(anchor, tag.is_some(), at);
                return self.scalar(&text, style, at);
            }
            Event::SequenceStart(anchor, tag) => {
                self.properties(anchor, tag.is_some(), at);
                return self.begin(Open::List { at, items: Vec::new() }, at);
            }
            Event::MappingStart(anchor, tag) => {
                self.properties(anchor, tag.is_some(), at);
                return self.begin(Open::Map { at, entries: Vec::new(), key: None }, at);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.end(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Some(())
    }

    fn refuse(&mut self, at: Position, message: impl Into<String>) {
        self.problems.add(at, &Path::Root, message);
    }

    fn stop(&mut self, at: Position, message: impl Into<String>) -> Option<()> {
        self.refuse(at, message);
        None
    }

    fn properties(&mut self, anchor: usize, tagged: bool, at: Position) {
        // The parser numbers anchors from 1.
        if anchor > 0 {
            self.refuse(at, "anchors are not part of the language: write the value out where it is used");
        }
        if tagged {
            self.refuse(at, "tags are not part of the language: leave it out");
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Map { key: None, .. }))
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, at: Position) -> Option<()> {
        if !self.awaits_key() {
            self.attach(Node { at, kind: resolve(text, style) });
            return Some(());
        }
        if text == "<<" && style == ScalarStyle::Plain {
            self.refuse(at, "merge keys are not part of the language: write the members out");
        }
        if let Some(Open::Map { entries, key, .. }) = self.open.last_mut() {
            if entries.len() == MAX_MEMBERS {
                return self.stop(at, format!("expected at most {MAX_MEMBERS} keys in a map"));
            }
            let first = entries.iter().find(|entry| entry.key == text).map(|entry| entry.at.line);
            *key = Some((text.to_owned(), at));
            if let Some(line) = first {
                self.refuse(at, format!("the key {} is there twice, first in line {line}", quote(text)));
            }
        }
        Some(())
    }

    fn begin(&mut self, open: Open, at: Position) -> Option<()> {
        if self.awaits_key() {
            return self.stop(at, "a key must be a text: found a list or map");
        }
        if self.open.len() == MAX_DEPTH {
            return self.stop(at, format!("nested deeper than {MAX_DEPTH} lists and maps"));
        }
        self.open.push(open);
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        let node = match self.open.pop()? {
            Open::List { at, items } => Node { at, kind: Kind::List(items) },
            Open::Map { at, entries, .. } => Node { at, kind: Kind::Map(entries) },
        };
        self.attach(node);
        Some(())
    }

    fn attach(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => {
                if let Some((key, at)) = key.take() {
                    entries.push(Entry { key, at, value: node });
                }
            }
            None => self.root = Some(node),
        }
    }
}

fn position(marker: &Marker) -> Position {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position { line: number(marker.line()), column: number(marker.col() + 1) }
}

/// What a scalar means: the core schema of YAML 1.2.2, section 10.3.2. Only plain scalars mean anything but a text.
fn resolve(text: &str, style: ScalarStyle) -> Kind {
    if style != ScalarStyle::Plain {
        return Kind::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ if is_number(text) => Kind::Number(text.to_owned()),
        _ => Kind::Text(text.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let based = |prefix: &str, base: u32| {
        text.strip_prefix(prefix).is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_digit(base)))
    };
    if based("0x", 16) || based("0o", 8) {
        return true;
    }
    let decimal = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
    text.bytes().all(decimal) && text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f64>().is_ok()
}
