//! The child's side: one request from the standard input, one answer to the standard output. It knows of no database,
//! and of no key but the one whose path a commit request names.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use pinhole_core::{Error, Result};
use pinhole_gitcat::{CommitKey, GitRequest};
use serde::{Deserialize, Serialize};

/// Greatest size of a request in bytes: a catalog at its limit of 2 GiB, in base64.
const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024 * 1024;
/// Greatest size of a key file in bytes; ours have some 200.
const MAX_KEY_BYTES: u64 = 4096;

/// What the child is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HelperRequest {
    /// File of the commit key, for the one operation that needs it.
    pub(crate) commit_key: Option<PathBuf>,
    /// After so many milliseconds the child ends itself: its parent, which would kill it, may be gone.
    pub(crate) deadline_ms: u64,
    /// The operation.
    pub(crate) git: GitRequest,
}

/// The whole life of the child process: reads one request, does it, writes the answer as one JSON document.
///
/// Exits with status 1, and a line on the standard error output, when there is no request to answer.
pub fn git_helper() -> ExitCode {
    match answer(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The parent logs it; when that is gone, nobody is left to tell.
            drop(writeln!(io::stderr(), "{error}"));
            ExitCode::FAILURE
        }
    }
}

fn answer(input: &mut impl io::Read, output: &mut impl io::Write) -> Result<()> {
    let wrong = |error: &dyn std::fmt::Display| Error::invalid("request", error.to_string());
    // Read to its end first: the limit is then an error and not a cut.
    let mut bytes = Vec::new();
    input.take(MAX_REQUEST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
    if bytes.len() as u64 > MAX_REQUEST_BYTES {
        return Err(Error::too_large("request", MAX_REQUEST_BYTES));
    }
    let request: HelperRequest = serde_json::from_slice(&bytes).map_err(|error| wrong(&error))?;
    drop(bytes);
    end_after(Duration::from_millis(request.deadline_ms));
    let key = request.commit_key.as_deref().map(read_key).transpose()?;
    let answer = pinhole_gitcat::run(request.git, key.as_ref());
    serde_json::to_writer(&mut *output, &answer).map_err(Error::internal)?;
    output.flush().map_err(Error::internal)
}

fn read_key(path: &Path) -> Result<CommitKey> {
    let unreadable = |error: io::Error| Error::invalid("commit_key", format!("{}: {error}", path.display()));
    let mut pem = String::new();
    File::open(path).map_err(unreadable)?.take(MAX_KEY_BYTES).read_to_string(&mut pem).map_err(unreadable)?;
    CommitKey::from_pkcs8_pem(&pem)
}

fn end_after(deadline: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(deadline);
        std::process::exit(1);
    });
}
