//! The system packages that a command needs: which are missing, and installing them where that is wished.
//!
//! It must not change a machine unasked: it installs only as root and only with `--install` or `CI=true`. It must not
//! start a service either: programs are needed, and the tests start their own.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, symlink},
    path::Path,
    process::Command,
};

use crate::{Outcome, step, workspace};

/// What building `pinhole` needs: Git's HTTPS and SSH are OpenSSL's. Whatever needs packages builds it.
const BUILD: &[Need] = &[Need("pkg-config", &["pkgconf"]), Need("libssl-dev", &[])];

/// What the demo and every capture need: the browser and one set of fonts.
pub(crate) const DEMO: &[Need] = &[Need("chromium-headless-shell", &[]), Need("fonts-dejavu-core", &[])];

/// What the tests need besides: the databases with their shells, Git with real servers for HTTPS and SSH, Node for the
/// provider of identities and the sender of webhooks, and HTML documentation as real pages.
pub(crate) const TEST: &[Need] = &[
    Need("postgresql", &[]),
    Need("sqlite3", &[]),
    Need("git", &[]),
    Need("openssh-client", &[]),
    Need(SSH_SERVER, &[]),
    Need("apache2-bin", &[]),
    Need("openssl", &[]),
    Need("nodejs", &[]),
    Need("npm", &["nodejs"]),
    Need("postgresql-doc", &["postgresql-doc-15", "postgresql-doc-16", "postgresql-doc-17", "python3-doc"]),
];

/// The one package here whose service would listen on every address.
const SSH_SERVER: &str = "openssh-server";
/// What starts it, at once or when the machine starts again.
const SSH_UNITS: [&str; 2] = ["/etc/systemd/system/ssh.service", "/etc/systemd/system/ssh.socket"];
/// The program that Debian's packages ask before they start a service.
const SERVICE_POLICY: &str = "/usr/sbin/policy-rc.d";

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
    let needs: Vec<_> = BUILD.iter().chain(needs.iter().copied()).collect();
    let missing = missing(&needs, is_installed)?;
    if missing.is_empty() {
        return Ok(());
    }
    let allowed = install || workspace::in_ci();
    if !(allowed && rustix::process::geteuid().is_root()) {
        return Err(advice(&missing, allowed));
    }
    step::run("package lists", apt().arg("update"))?;
    let _quiet = NoServices::begin(&missing)
        .map_err(|e| format!("services of the packages cannot be kept from starting: {e}"))?;
    step::run("packages", apt().args(["install", "--yes", "--no-install-recommends"]).args(&missing))
}

/// While it lives, packages that are installed start no service. A policy that the machine has is kept instead.
struct NoServices {
    made: bool,
}

impl NoServices {
    fn begin(missing: &[&str]) -> io::Result<Self> {
        if missing.contains(&SSH_SERVER) {
            mask(&SSH_UNITS)?;
        }
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(SERVICE_POLICY) {
            Ok(mut policy) => {
                let made = Self { made: true };
                policy.write_all(
                    b"#!/bin/sh\n# Made by cargo xtask while it installs packages; may be deleted.\nexit 101\n",
                )?;
                Ok(made)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Self { made: false }),
            Err(error) => Err(error),
        }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.made
            && let Err(error) = fs::remove_file(SERVICE_POLICY)
        {
            eprintln!("delete {SERVICE_POLICY} yourself: {error}");
        }
    }
}

/// Masks units that the machine does not have yet: whoever wants the service later unmasks it.
fn mask(units: &[&str]) -> io::Result<()> {
    for unit in units.iter().map(Path::new) {
        let has_systemd = unit.parent().is_some_and(Path::exists);
        if has_systemd && unit.symlink_metadata().is_err() {
            symlink("/dev/null", unit)?;
            println!("    masked {}: the tests need the server's program alone", unit.display());
        }
    }
    Ok(())
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
        let needs: Vec<_> = BUILD.iter().chain(DEMO).chain(TEST).collect();
        let installed = |name: &str| Ok(["pkgconf", "fonts-dejavu-core", "git", "python3-doc"].contains(&name));
        let found = missing(&needs, installed).unwrap();
        let databases = ["postgresql", "sqlite3"];
        let servers = ["openssh-client", "openssh-server", "apache2-bin", "openssl"];
        assert_eq!(
            found,
            [&["libssl-dev", "chromium-headless-shell"][..], &databases, &servers, &["nodejs", "npm"]].concat()
        );
    }

    #[test]
    fn only_units_that_are_not_there_are_masked() {
        let folder = tempfile::tempdir().unwrap();
        let units = ["ssh.service", "ssh.socket", "none/ssh.service"].map(|name| folder.path().join(name));
        fs::write(&units[0], "[Unit]").unwrap();
        let names: Vec<_> = units.iter().map(|unit| unit.to_str().unwrap()).collect();
        mask(&names).unwrap();
        mask(&names).unwrap();
        assert_eq!(fs::read_to_string(&units[0]).unwrap(), "[Unit]");
        assert_eq!(fs::read_link(&units[1]).unwrap(), Path::new("/dev/null"));
        assert!(!units[2].exists());
    }

    #[test]
    fn the_advice_is_a_command_to_type() {
        let text = advice(&["git", "postgresql"], false);
        assert!(text.contains("sudo apt-get install --yes --no-install-recommends git postgresql\n"), "{text}");
        assert!(text.contains("--install:"), "{text}");
    }
}
