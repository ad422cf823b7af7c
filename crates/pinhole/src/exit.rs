//! Exit statuses: one table for all commands.

use std::process::ExitCode;

use pinhole_core::{Code, Error};

/// What the help texts print.
pub(crate) const TABLE: &str = "Exit status:
  0  the same as before, a first capture, or valid
  1  changed, or not valid
  2  failed: the command could not do what it was asked
  3  not evidence: what was captured proves nothing, or cannot be compared";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The same, first, or valid.
    Success = 0,
    /// Changed, or not valid.
    Changed = 1,
    /// Could not be done.
    Failed = 2,
    /// Proves nothing.
    NotEvidence = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Tells an error to a person and gives its status.
pub(crate) fn failed(error: &Error) -> ExitCode {
    if error.code() == Code::Internal {
        // There is no request that a log could be searched for: the person at the terminal is the operator.
        eprintln!("pinhole: {error:?}");
    } else {
        eprintln!("pinhole: {}", error.message());
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            eprintln!("  because: {cause}");
            source = cause.source();
        }
    }
    Exit::Failed.into()
}

/// Writes a line to standard output; a reader that is gone ends nothing.
macro_rules! say {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _gone = writeln!(std::io::stdout(), $($argument)*);
    }};
}
pub(crate) use say;
