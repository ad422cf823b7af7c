//! Reads JSON (RFC 8259) into the syntax tree. YAML's reader does not do for it: escaped surrogate pairs and tabs
//! before a key are JSON and not YAML, while a bare word is YAML and not JSON.

use serde::de::IgnoredAny;

use crate::{
    diagnostics::{Path, Position, Problems, quote},
    tree::{Entry, Kind, MAX_DEPTH, MAX_MEMBERS, Node},
};

/// Reads the one value of `text`. `None` after a problem that ends the reading.
pub(crate) fn read(text: &str, problems: &mut Problems) -> Option<Node> {
    // The grammar is checked first and by serde_json, so that the reader below only has to find its way.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).max(1);
        let at = Position { line: number(error.line()), column: number(error.column()) };
        let full = error.to_string();
        let what = full.rsplit_once(" at line ").map_or(full.as_str(), |(what, _)| what);
        problems.add(at, &Path::Root, format!("not JSON: {what}"));
        return None;
    }
    Reader { text, at: 0, position: Position { line: 1, column: 1 }, problems }.value(0)
}

/// A cursor over a text that is known to be JSON.
struct Reader<'t, 'p> {
    text: &'t str,
    /// Bytes read.
    at: usize,
    /// Of the next byte.
    position: Position,
    problems: &'p mut Problems,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn advance(&mut self) {
        match self.peek() {
            Some(b'\n') => self.position = Position { line: self.position.line.saturating_add(1), column: 1 },
            // Only the first byte of a character counts.
            Some(byte) if byte & 0xC0 != 0x80 => self.position.column = self.position.column.saturating_add(1),
            _ => {}
        }
        self.at += 1;
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.advance();
        }
    }

    /// Skips blanks and takes the next byte if it is `wanted`.
    fn take(&mut self, wanted: u8) -> bool {
        self.skip_blanks();
        let there = self.peek() == Some(wanted);
        if there {
            self.advance();
        }
        there
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        self.skip_blanks();
        let at = self.position;
        let kind = match self.peek()? {
            b'{' | b'[' if depth == MAX_DEPTH => {
                self.problems.add(at, &Path::Root, format!("nested deeper than {MAX_DEPTH} lists and maps"));
                return None;
            }
            b'{' => self.map(depth)?,
            b'[' => self.list(depth)?,
            b'"' => Kind::Text(self.string()?),
            _ => self.word(),
        };
        Some(Node { at, kind })
    }

    fn list(&mut self, depth: usize) -> Option<Kind> {
        let mut items = Vec::new();
        self.take(b'[');
        while !self.take(b']') {
            items.push(self.value(depth + 1)?);
            self.take(b',');
        }
        Some(Kind::List(items))
    }

    fn map(&mut self, depth: usize) -> Option<Kind> {
        let mut entries: Vec<Entry> = Vec::new();
        self.take(b'{');
        while !self.take(b'}') {
            let at = self.position;
            let key = self.string()?;
            if entries.len() == MAX_MEMBERS {
                self.problems.add(at, &Path::Root, format!("expected at most {MAX_MEMBERS} keys in a map"));
                return None;
            }
            if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                let line = first.at.line;
                let message = format!("the key {} is there twice, first in line {line}", quote(&key));
                self.problems.add(at, &Path::Root, message);
            }
            self.take(b':');
            let value = self.value(depth + 1)?;
            entries.push(Entry { key, at, value });
            self.take(b',');
        }
        Some(Kind::Map(entries))
    }

    fn string(&mut self) -> Option<String> {
        let (start, at) = (self.at, self.position);
        self.advance();
        while self.peek().is_some_and(|byte| byte != b'"') {
            if self.peek() == Some(b'\\') {
                self.advance();
            }
            self.advance();
        }
        self.advance();
        let decoded = self.text.get(start..self.at).and_then(|written| serde_json::from_str(written).ok());
        if decoded.is_none() {
            self.problems.add(at, &Path::Root, "not JSON: the text holds an escape that is no character");
        }
        decoded
    }

    /// `true`, `false`, `null` or a number.
    fn word(&mut self) -> Kind {
        let start = self.at;
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.peek().is_some_and(inner) {
            self.advance();
        }
        match self.text.get(start..self.at).unwrap_or_default() {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            number => Kind::Number(number.to_owned()),
        }
    }
}
