//! Why something was not verified: where and what, and nothing that a caller should act on by program.

use std::fmt;

use pinhole_core::Error;

/// The first thing that is wrong: a path (a file, or a member within it) and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    path: String,
    reason: String,
}

impl VerifyError {
    /// Says what is wrong at `path`.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }

    /// Where it is wrong.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Puts the name of the file that was read before the path.
    #[must_use]
    pub fn within(self, file: &str) -> Self {
        let path = if self.path.is_empty() { file.to_owned() } else { format!("{file}: {}", self.path) };
        Self { path, ..self }
    }

    /// Turns a domain error about a value at `path` into this one.
    pub(crate) fn from_error(path: &str, error: &Error) -> Self {
        Self::new(path, error.message())
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.path, self.reason) }
    }
}

impl std::error::Error for VerifyError {}

impl From<VerifyError> for Error {
    /// For callers to whom the bytes are input; where they are our own, wrap it in [`Error::internal`] instead.
    fn from(error: VerifyError) -> Self {
        Self::invalid(error.path, error.reason)
    }
}
