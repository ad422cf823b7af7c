//! The program of the Git child on its own: `git-helper` reads one request and writes one answer.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [mode] if mode == "git-helper" => pinhole_worker_publication::git_helper(),
        _ => {
            // Without a standard error output there is nobody to tell.
            drop(writeln!(io::stderr(), "expected the argument git-helper, and a request on the standard input"));
            ExitCode::from(2)
        }
    }
}
