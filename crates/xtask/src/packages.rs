//! The system packages that a command needs: which are missing, and installing them where that is wished.
//!
//! It must not change a machine unasked: it installs only as root and only with `--install` or `CI=true`.

use std::process::Command;

use crate::{Outcome, step, workspace};

/// What the demo and every capture need: the browser and one set of fonts.
pub(crate) const DEMO: &[Need] = &[Need("chromium-headless-shell", &[]), Need("fonts-dejavu-core", &[])];

/// What the tests need besides: the databases with their shells, Git over its own transports, Node for the provider of
/// identities and the sender of webhooks, and HTML documentation as real pages.
pub(crate) const TEST: &[Need] = &[
    Need("postgresql", &[]),
    Need("sqlite3", &[]),
    Need("git", &[]),
    Need("openssh-client", &[]),
    Need("nodejs", &[]),
    Need("npm", &["nodejs"]),
    Need("postgresql-doc", &["postgresql-doc-15", "postgresql-doc-16", "postgresql-doc-17", "python3-doc"]),
];

/// What the clients of others need besides: Node.js to install them with, and Python with its environments.
const CONFORMANCE: &[Need] = &[Need("npm", &[]), Need("python3-venv", &[])];

/// The same for this machine: Node.js that does not come from Debian brings npm along, and no package of that name.
pub(crate) fn conformance() -> impl Iterator<Item = &'static Need> {
    let mut npm = Command::new("npm");
    let has_npm = npm.arg("--version").output().is_ok_and(|output| output.status.success());
    CONFORMANCE.iter().filter(move |Need(name, _)| *name != "npm" || !has_npm)
}

/// What the measurement of admissions needs: a shell of the database, and a rival that is a package unless it is given.
pub(crate) const ADMISSION: &[Need] = &[Need("sqlite3", &[])];
/// The same with the rival.
pub(crate) const NGINX: &[Need] = &[Need("sqlite3", &[]), Need("nginx", &["nginx-light"])];

/// A Debian package, and others that do as well.
pub(crate) struct Need(&'static str, &'static [&'static str]);

/// Makes sure that all are there. Otherwise installs them, or fails with the command to type.
pub(crate) fn ensure(needs: &[&Need], install: bool) -> Outcome {
    let missing = missing(needs, is_installed)?;
    if missing.is_empty() {
        return Ok(());
    }
    let allowed = install || workspace::in_ci();
    if !(allowed && rustix::process::geteuid().is_root()) {
        return Err(advice(&missing, allowed));
    }
    step::run("package lists", apt().arg("update"))?;
    step::run("packages", apt().args(["install", "--yes", "--no-install-recommends"]).args(&missing))
}

fn missing(needs: &[&Need], is_installed: impl Fn(&str) -> Outcome<bool>) -> Outcome<Vec<&'static str>> {
    let mut missing = Vec::new();
    for Need(name, others) in needs {
        let mut found = false;
        for candidate in [name].into_iter().chain(*others) {
            found = found || is_installed(candidate)?;
        }
        if !found {
            missing.push(*name);
        }
    }
    Ok(missing)
}

fn advice(missing: &[&str], tried: bool) -> String {
    let why = if tried { "installing needs root" } else { "or run this again as root with --install" };
    let list = missing.join(" ");
    format!(
        "system packages are missing; {why}:\n\n    \
         sudo apt-get update && sudo apt-get install --yes --no-install-recommends {list}\n"
    )
}

/// Asks Debian's package database. A known package that is not installed is a failure of the command, like an unknown.
fn is_installed(package: &str) -> Outcome<bool> {
    let output = Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]).output();
    let output = output.map_err(|e| {
        format!("cannot run dpkg-query: {e}; this command knows Debian and its descendants only, see CONTRIBUTING.md")
    })?;
    Ok(output.status.success() && output.stdout == b"installed")
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nothing_stands_in_for_is_missing() {
        let needs: Vec<_> = DEMO.iter().chain(TEST).collect();
        let installed = |name: &str| Ok(["fonts-dejavu-core", "git", "python3-doc"].contains(&name));
        let found = missing(&needs, installed).unwrap();
        assert_eq!(found, ["chromium-headless-shell", "postgresql", "sqlite3", "openssh-client", "nodejs", "npm"]);
    }

    #[test]
    fn the_advice_is_a_command_to_type() {
        let text = advice(&["git", "postgresql"], false);
        assert!(text.contains("sudo apt-get install --yes --no-install-recommends git postgresql\n"), "{text}");
        assert!(text.contains("--install:"), "{text}");
    }
}
