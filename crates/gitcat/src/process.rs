//! Settings of libgit2 that hold for the whole process: no configuration of the user or the machine, and timeouts.

use std::sync::OnceLock;

use git2::{ConfigLevel, opts};

use crate::failure::Failure;

/// How long to wait for a connection, in milliseconds.
const CONNECT_TIMEOUT_MS: i32 = 10_000;
/// How long to wait for the next bytes, in milliseconds. It bounds a stalled server; the parent's deadline bounds one
/// that drips.
const READ_TIMEOUT_MS: i32 = 30_000;

/// Applies the settings once, before anything else is done with libgit2.
pub(crate) fn isolate() -> Result<(), Failure> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    let done = DONE.get_or_init(|| apply().map_err(|error| error.message().to_owned()));
    done.as_ref().copied().map_err(Failure::configuration)
}

#[expect(unsafe_code, reason = "libgit2's global options have no safe form; `isolate` calls this once, before any use")]
fn apply() -> Result<(), git2::Error> {
    let levels = [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG, ConfigLevel::ProgramData];
    for level in levels {
        // SAFETY: the `OnceLock` lets one thread in and makes all others wait until it is through.
        unsafe { opts::set_search_path(level, "") }?;
    }
    // SAFETY: as above.
    unsafe {
        opts::set_server_connect_timeout_in_milliseconds(CONNECT_TIMEOUT_MS)?;
        opts::set_server_timeout_in_milliseconds(READ_TIMEOUT_MS)
    }
}
