//! Fault injection: a first attempt kills its own process at a named point, as a power failure would. Off unless the
//! configuration names a point; tests do, through `PINHOLE_CRASH_AT`.

use std::str::FromStr;

use pinhole_core::Error;

/// The points at which a worker may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The cell is claimed, nothing is done.
    Claimed,
    /// The first picture is staged.
    Staged,
    /// Everything is staged, the submission is not written.
    BeforeSubmit,
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "claimed" => Ok(Self::Claimed),
            "staged" => Ok(Self::Staged),
            "before_submit" => Ok(Self::BeforeSubmit),
            _ => Err(Error::invalid("PINHOLE_CRASH_AT", "expected claimed, staged or before_submit")),
        }
    }
}

impl Fault {
    /// Kills this process when `wanted` is this point and it is a first attempt.
    pub(crate) fn reach(self, wanted: Option<Self>, attempt: u32) {
        if wanted == Some(self) && attempt == 1 {
            tracing::warn!(point = ?self, "killing this process on purpose");
            let _ended = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}
