//! Programs of others on Node.js, with packages that are pinned in the folders of this crate.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::{NamedTempFile, TempDir};

use super::command::binary;

/// `script` of a folder of this crate, to be run where the folder's packages are.
pub(super) fn node(folder: &str, script: &str) -> Command {
    let (source, place) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), installed(folder));
    // Written at once: another process may be reading it.
    let fresh = NamedTempFile::new_in(&place).unwrap();
    fs::copy(source.join(script), fresh.path()).unwrap();
    fresh.persist(place.join(script)).unwrap();
    let mut command = Command::new("node");
    command.current_dir(place).arg(script);
    command
}

/// Where the folder's packages are, installed as its lock file says. Several test processes may come here at once: each
/// installs beside the place and moves it there; the first one wins.
fn installed(folder: &str) -> PathBuf {
    let target = binary().parent().and_then(Path::parent).unwrap().to_owned();
    let (source, place) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), target.join(folder));
    if place.join("node_modules").is_dir() {
        return place;
    }
    let fresh = TempDir::with_prefix_in(format!("{folder}-"), &target).unwrap();
    for file in ["package.json", "package-lock.json"] {
        fs::copy(source.join(file), fresh.path().join(file)).unwrap();
    }
    let mut npm = Command::new("npm");
    npm.current_dir(fresh.path()).args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
    let output = npm.output().expect("npm is installed");
    assert!(output.status.success(), "npm ci: {}", String::from_utf8_lossy(&output.stderr));
    let fresh = fresh.keep();
    if fs::rename(&fresh, &place).is_err() {
        // Another process was faster; its packages are the same.
        fs::remove_dir_all(&fresh).ok();
    }
    place
}
