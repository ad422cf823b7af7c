//! Real Git servers on loopback for tests: Apache over HTTPS, OpenSSH, and a relay that counts, slows and stops. Each has
//! a free port and a temporary folder of its own, and ends with its test. They serve the repositories below a folder of
//! the test's.

mod apache;
mod relay;
mod sshd;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command, time::Duration};

pub(crate) use apache::{Apache, PASSWORD};
pub(crate) use relay::{Pace, Relay};
pub(crate) use sshd::Sshd;

/// How long a server may take to start on a busy machine.
const START: Duration = Duration::from_secs(30);

/// Runs a program of the machine without anybody's configuration; answers with what it printed.
pub(crate) fn run(program: &str, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "Someone"), ("GIT_AUTHOR_EMAIL", "someone@example.org")])
        .envs([("GIT_COMMITTER_NAME", "Someone"), ("GIT_COMMITTER_EMAIL", "someone@example.org")])
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}: `cargo xtask test` names the packages"));
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Lets a server that runs as another user read and change what is below `folder`.
fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().ends_with(".git") {
            run("git", &entry.path(), &["config", "core.sharedRepository", "0666"]);
            run("chmod", folder, &["-R", "a+rwX", entry.path().to_str().unwrap()]);
        }
    }
}
