//! What can go wrong with a browser, and with a step of a cell. Both are typed: nothing here is a bare string.

use std::{fmt, io, path::PathBuf, time::Duration};

use pinhole_core::FailureReason;

use crate::tab::AskError;

/// A browser that could not be started or has ended.
#[derive(Debug)]
pub enum BrowserError {
    /// The process runs as root and no other user was named for the browser.
    RootWithoutUser,
    /// The executable is not there.
    NoExecutable(PathBuf),
    /// The operating system refused something; the text says what.
    Io(&'static str, io::Error),
    /// The process ended before it listened; its last lines are given.
    Exited(String),
    /// It did not listen, or answer, within the time given.
    Timeout(&'static str, Duration),
    /// Chromium's sandbox is not on and the configuration does not allow that.
    NoSandbox(String),
    /// The connection broke or the browser answered with an error.
    Protocol(String),
}

impl fmt::Display for BrowserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootWithoutUser => {
                f.write_str("refusing to start a browser as root: name an unprivileged uid for it")
            }
            Self::NoExecutable(path) => {
                write!(f, "no browser at {}: install chromium-headless-shell or set its path", path.display())
            }
            Self::Io(what, _) => write!(f, "cannot {what}"),
            Self::Exited(lines) => write!(f, "the browser ended before it listened; it said: {lines}"),
            Self::Timeout(what, after) => write!(f, "the browser did not {what} within {} s", after.as_secs()),
            Self::NoSandbox(why) => write!(f, "the browser's sandbox is not on ({why}): allow user namespaces"),
            Self::Protocol(why) => write!(f, "the browser's protocol failed: {why}"),
        }
    }
}

impl std::error::Error for BrowserError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, source) => Some(source),
            _ => None,
        }
    }
}

/// Why a step did not do what it should: the closed reason and what a person needs to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: FailureReason,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(reason: FailureReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(crate) fn browser_gone() -> Self {
        Self::new(FailureReason::BrowserCrashed, "the browser process ended")
    }
}

/// An answer that a command did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The browser is dead: nothing will be answered any more.
    Gone,
    /// No answer in time.
    Timeout(&'static str),
    /// The browser refused the command.
    Refused(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the browser process ended"),
            Self::Timeout(method) => write!(f, "{method} was not answered in time"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl From<CallError> for BrowserError {
    fn from(error: CallError) -> Self {
        Self::Protocol(error.to_string())
    }
}

/// The first `max` characters of `text`, marked when something was cut.
pub(crate) fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Gone => Self::browser_gone(),
            CallError::Timeout(_) => Self::new(FailureReason::StepDeadline, format!("the page hangs: {error}")),
            CallError::Refused(_) => Self::new(FailureReason::NavigationFailed, format!("the page is gone: {error}")),
        }
    }
}

impl From<AskError> for Fault {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Navigated => Self::new(FailureReason::NavigationFailed, "the page went away during the step"),
            AskError::Call(error) => error.into(),
            AskError::Script(why) => {
                Self::new(FailureReason::NavigationFailed, format!("the page could not be examined: {why}"))
            }
        }
    }
}
