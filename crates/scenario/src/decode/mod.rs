//! Turns the syntax tree into the types of the language and tells every problem on the way.
//!
//! This module has what all types share; [`elements`] and [`scenario`] say which keys there are. A new action or
//! condition is one variant and one line in a table there.

mod elements;
mod scenario;

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use pinhole_core::{Error, Slug, Title, True};

use crate::{
    diagnostics::{Path, Position, Problems, quote},
    text::{AttributeName, KeyChord, Target, Text, Value},
    tree::{Entry, Kind, Node},
};

/// Reads a value; `None` means that a problem was noted.
pub(crate) trait Read: Sized {
    /// Reads `node`, which stands at `path`.
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self>;
}

/// [`Read::read`] as a value, for the tables of keys.
type Reader<T> = fn(&Node, &Path<'_>, &mut Problems) -> Option<T>;

impl<T: Read> Read for Box<T> {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        T::read(node, path, problems).map(Self::new)
    }
}

macro_rules! read_texts {
    ($($name:ident),*) => {$(
        impl Read for $name {
            fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
                text(node, path, problems)
            }
        }
    )*};
}

read_texts!(AttributeName, KeyChord, Slug, Target, Text, Title, Value);

impl Read for True {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        if matches!(node.kind, Kind::Bool(true)) {
            return Some(Self);
        }
        expected("true", node, path, problems)
    }
}

impl Read for bool {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        match node.kind {
            Kind::Bool(value) => Some(value),
            _ => expected("true or false", node, path, problems),
        }
    }
}

/// Notes that `node` is something else than `what`.
fn expected<T>(what: &str, node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<T> {
    problems.add(node.at, path, format!("expected {what}, {}", node.found()));
    None
}

/// Reads a text by its type's own rule.
fn text<T: FromStr<Err = Error>>(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<T> {
    let written = match &node.kind {
        Kind::Text(written) => written,
        Kind::Number(number) => {
            let message = format!("expected a text: put the number in quotes, \"{}\"", quote(number).replace('`', ""));
            problems.add(node.at, path, message);
            return None;
        }
        _ => return expected("a text", node, path, problems),
    };
    match written.parse() {
        Ok(value) => Some(value),
        Err(error) => expected_by(&error, node, path, problems),
    }
}

/// Notes the rule of a core type that `node` breaks.
fn expected_by<T>(error: &Error, node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<T> {
    let rule = error.reason().unwrap_or_else(|| error.message());
    problems.add(node.at, path, format!("{rule}, {}", node.found()));
    None
}

/// Reads a whole number of a range.
fn whole(node: &Node, path: &Path<'_>, problems: &mut Problems, min: u64, max: u64) -> Option<u64> {
    if let Kind::Number(number) = &node.kind
        && let Ok(value) = number.parse()
        && (min..=max).contains(&value)
    {
        return Some(value);
    }
    expected(&format!("a whole number from {min} to {max}"), node, path, problems)
}

/// Reads a whole number of a range into a smaller type; the range must fit it.
fn whole_in<T: TryFrom<u64> + Copy + Display + Into<u64>>(
    node: &Node,
    path: &Path<'_>,
    problems: &mut Problems,
    min: T,
    max: T,
) -> Option<T> {
    whole(node, path, problems, min.into(), max.into()).and_then(|value| T::try_from(value).ok())
}

/// Reads a number of a range.
fn number(node: &Node, path: &Path<'_>, problems: &mut Problems, min: f64, max: f64) -> Option<f64> {
    if let Kind::Number(number) = &node.kind
        && let Ok(value) = number.parse()
        && (min..=max).contains(&value)
    {
        // Negative zero is written as 0 in canonical JSON and must not differ from it.
        return Some(value + 0.0);
    }
    expected(&format!("a number from {min} to {max}"), node, path, problems)
}

/// Reads one of a closed list of words.
fn word<T: Copy>(
    node: &Node,
    path: &Path<'_>,
    problems: &mut Problems,
    what: &str,
    known: &[(&'static str, T)],
) -> Option<T> {
    let Some(written) = node.text() else {
        return expected(&format!("a {what}"), node, path, problems);
    };
    let found = known.iter().find(|(word, _)| *word == written).map(|(_, value)| *value);
    if found.is_none() {
        problems.add_unknown(node.at, path, what, written, known.iter().map(|(word, _)| *word));
    }
    found
}

/// Reads a list of at most `max` items; all problems of all items are told.
fn list<T: Read>(node: &Node, path: &Path<'_>, problems: &mut Problems, max: usize) -> Option<Vec<T>> {
    let Kind::List(items) = &node.kind else {
        return expected("a list", node, path, problems);
    };
    if items.len() > max {
        problems.add(node.at, path, format!("expected at most {max} items, found {}", items.len()));
        return None;
    }
    let mut values = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        values.extend(T::read(item, &Path::Index(path, index), problems));
    }
    (values.len() == items.len()).then_some(values)
}

/// Notes every text of `named` that an earlier one equals, with the place of that one.
fn no_repeats<'n>(
    named: impl Iterator<Item = (usize, &'n Node)>,
    problems: &mut Problems,
    mut note: impl FnMut(usize, &'n Node, &str, &mut Problems),
) {
    let mut seen = BTreeMap::new();
    for (index, node) in named {
        let Some(text) = node.text() else { continue };
        if let Some(Position { line, column }) = seen.get(text) {
            let message =
                format!("{} is there twice, first in line {line}, column {column}: each must differ", quote(text));
            note(index, node, &message, problems);
        } else {
            seen.insert(text, node.at);
        }
    }
}

/// A map whose keys are known.
struct Members<'n, 'p> {
    node: &'n Node,
    entries: &'n [Entry],
    path: &'p Path<'p>,
}

impl<'n, 'p> Members<'n, 'p> {
    /// Opens a map; every unknown key is a problem, but the known ones are read all the same.
    fn open(node: &'n Node, path: &'p Path<'p>, problems: &mut Problems, known: &[&str]) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            return expected(&format!("a map with {}", known.join(", ")), node, path, problems);
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let path = Path::Key(path, &entry.key);
            problems.add_unknown(entry.at, &path, "key", &entry.key, known.iter().copied());
        }
        Some(Self { node, entries, path })
    }

    fn get(&self, key: &str) -> Option<&'n Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Reads a member with `read` if it is there.
    fn optional_with<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        read: impl FnOnce(&Node, &Path<'_>, &mut Problems) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.get(key) {
            Some(node) => read(node, &Path::Key(self.path, key), problems).map(Some),
            None => Some(None),
        }
    }

    /// Reads a member if it is there.
    fn optional<T: Read>(&self, key: &str, problems: &mut Problems) -> Option<Option<T>> {
        self.optional_with(key, problems, T::read)
    }

    /// Reads a member with `read`; it must be there.
    fn required_with<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        read: impl FnOnce(&Node, &Path<'_>, &mut Problems) -> Option<T>,
    ) -> Option<T> {
        if self.get(key).is_none() {
            problems.add(self.node.at, self.path, format!("the key `{key}` is missing"));
        }
        self.optional_with(key, problems, read)?
    }

    /// Reads a member that must be there.
    fn required<T: Read>(&self, key: &str, problems: &mut Problems) -> Option<T> {
        self.required_with(key, problems, T::read)
    }

    /// Reads a list that is empty when it is not there.
    fn list<T: Read>(&self, key: &str, problems: &mut Problems, max: usize) -> Option<Vec<T>> {
        self.optional_with(key, problems, |node, path, problems| list(node, path, problems, max))
            .map(Option::unwrap_or_default)
    }

    /// Which of `keys` is there; it must be exactly one.
    fn one_of<'k>(&self, keys: &[&'k str], problems: &mut Problems) -> Option<&'k str> {
        let mut there = keys.iter().copied().filter(|key| self.get(key).is_some());
        match (there.next(), there.next()) {
            (Some(one), None) => Some(one),
            (None, _) => {
                let message = format!("expected one of the keys {}", keys.join(", "));
                problems.add(self.node.at, self.path, message);
                None
            }
            (Some(one), Some(other)) => {
                let message = format!("`{one}` and `{other}` exclude each other: leave one out");
                problems.add(self.node.at, self.path, message);
                None
            }
        }
    }
}

/// Reads a map with exactly one key, which says what it is.
fn tagged<T>(
    node: &Node,
    path: &Path<'_>,
    problems: &mut Problems,
    what: &str,
    table: &[(&'static str, Reader<T>)],
) -> Option<T> {
    let entries = match &node.kind {
        Kind::Map(entries) if !entries.is_empty() => entries,
        _ => return expected(&format!("a map whose one key is the {what}"), node, path, problems),
    };
    let (first, others) = entries.split_first()?;
    let known = table.iter().find(|(name, _)| *name == first.key);
    if known.is_none() {
        let path = Path::Key(path, &first.key);
        problems.add_unknown(first.at, &path, "key", &first.key, table.iter().map(|(name, _)| *name));
    }
    if let Some(other) = others.first() {
        let message = format!(
            "expected one key, found {} beside {}: indent it further to put it inside, or make it an item of its own",
            quote(&other.key),
            quote(&first.key)
        );
        problems.add(other.at, path, message);
        return None;
    }
    let (name, read) = known?;
    read(&first.value, &Path::Key(path, name), problems)
}
