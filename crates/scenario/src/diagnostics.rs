//! What is wrong with a scenario text, and where: every problem with its path, line and column.

use std::fmt;

use pinhole_core::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Characters of a foreign text that a message repeats.
const QUOTED_CHARS: usize = 40;
/// Characters of the message that an error of an operation carries.
const ERROR_CHARS: usize = 2000;

/// A place in the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Counted from 1.
    pub(crate) line: u32,
    /// Counted from 1, in characters.
    pub(crate) column: u32,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// The member, such as `steps[3].click.css`; empty for the text as a whole.
    pub path: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1, in characters.
    pub column: u32,
    /// What is wrong and what is expected.
    pub message: String,
    /// For an unknown key or word: the known one that is nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.line, self.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Every problem of a text, in the order of the text where one pass finds them; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostics {
    /// The problems, at most [`Diagnostics::MAX`].
    pub problems: Vec<Diagnostic>,
    /// How many more there are.
    pub left_out: u32,
}

impl Diagnostics {
    /// The greatest number of problems that are told.
    pub const MAX: usize = 50;
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostics> for Error {
    /// `invalid_arguments`: field and reason are the first problem's, the message tells all, cut at 2000 characters.
    fn from(diagnostics: Diagnostics) -> Self {
        let message = shorten(&diagnostics.to_string(), ERROR_CHARS);
        let first = diagnostics.problems.into_iter().next();
        let (field, reason) = first.map(|first| (first.path, first.message)).unwrap_or_default();
        Error::invalid(field, reason).with_message(message)
    }
}

/// Where in the syntax tree the decoder is.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The whole scenario.
    Root,
    /// A member of a map.
    Key(&'a Path<'a>, &'a str),
    /// An item of a list.
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Path::Root, key) => f.write_str(&shorten(key, QUOTED_CHARS)),
            Self::Key(parent, key) => write!(f, "{parent}.{}", shorten(key, QUOTED_CHARS)),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Collects problems while a text is read.
#[derive(Default)]
pub(crate) struct Problems {
    found: Vec<Diagnostic>,
    left_out: u32,
}

impl Problems {
    /// Notes a problem.
    pub(crate) fn add(&mut self, at: Position, path: &Path<'_>, message: impl Into<String>) {
        self.note(at, path, message.into(), None);
    }

    /// Notes a word that is not among the known ones, with the nearest of these.
    pub(crate) fn add_unknown<'k>(
        &mut self,
        at: Position,
        path: &Path<'_>,
        what: &str,
        word: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        if self.is_full() {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let nearest = nearest(word, known.clone());
        let mut message = format!("unknown {what} {}", quote(word));
        if let Some(nearest) = nearest {
            message.push_str(&format!("; the nearest known {what} is `{nearest}`"));
        }
        if known.clone().nth(1).is_some() && known.clone().count() <= 20 {
            let all: Vec<_> = known.collect();
            message.push_str(&format!(" (known: {})", all.join(", ")));
        }
        self.note(at, path, message, nearest.map(str::to_owned));
    }

    fn note(&mut self, at: Position, path: &Path<'_>, message: String, nearest: Option<String>) {
        if self.is_full() {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let Position { line, column } = at;
        self.found.push(Diagnostic { path: path.to_string(), line, column, message, nearest });
    }

    fn is_full(&self) -> bool {
        self.found.len() == Diagnostics::MAX
    }

    /// Whether nothing was found so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

impl From<Problems> for Diagnostics {
    fn from(problems: Problems) -> Self {
        Self { problems: problems.found, left_out: problems.left_out }
    }
}

/// A foreign text as messages repeat it: in backticks and cut.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", shorten(text, QUOTED_CHARS).escape_debug())
}

fn shorten(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The known word that the fewest changes of one character make out of `word`; the first of several.
fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let word: Vec<char> = word.chars().take(QUOTED_CHARS).collect();
    known.min_by_key(|candidate| distance(&word, candidate))
}

/// Levenshtein distance: the least number of characters inserted, removed or replaced.
fn distance(word: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (i, wanted) in candidate.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, have) in word.iter().enumerate() {
            let replaced = diagonal + usize::from(*have != wanted);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[word.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_with_fewest_changes() {
        let known = ["navigate", "click", "fill", "wait_for"];
        for (word, expected) in [("clik", "click"), ("waitfor", "wait_for"), ("double_click", "click"), ("fil", "fill")]
        {
            assert_eq!(nearest(word, known.into_iter()), Some(expected), "{word}");
        }
        assert_eq!(distance(&['a', 'b'], "ba"), 2);
        assert_eq!(distance(&[], "abc"), 3);
    }

    #[test]
    fn problems_and_messages_are_bounded() {
        let mut problems = Problems::default();
        for _ in 0..Diagnostics::MAX + 7 {
            problems.add(Position { line: 1, column: 1 }, &Path::Root, "x".repeat(100));
        }
        let diagnostics = Diagnostics::from(problems);
        assert_eq!((diagnostics.problems.len(), diagnostics.left_out), (Diagnostics::MAX, 7));
        let error = Error::from(diagnostics);
        assert!(error.message().chars().count() <= ERROR_CHARS + 1);
        assert!(quote(&"é".repeat(1000)).chars().count() <= QUOTED_CHARS + 3);
    }
}
