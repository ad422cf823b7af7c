//! The workspace as Cargo sees it, and Cargo as a command.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use crate::{Outcome, step};

/// The part of `cargo metadata` that we read.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    /// The packages of the workspace.
    pub(crate) packages: Vec<Package>,
    /// Where Cargo builds.
    pub(crate) target_directory: PathBuf,
}

/// A package of the workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as its manifest declares it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    /// The name of the package, also where the manifest renames it.
    pub(crate) name: String,
    /// `dev`, `build` or, for an ordinary one, nothing.
    pub(crate) kind: Option<String>,
    /// The directory of a package of ours.
    pub(crate) path: Option<PathBuf>,
}

/// The root of the repository. Cargo sets the variable when it runs us, and what it says outlives a moved checkout.
pub(crate) fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.ancestors().nth(2).map(Path::to_path_buf).unwrap_or(manifest)
}

/// The Cargo that runs us, in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Incremental files cost time and disk, and pay only where the next build is on the same machine.
    if in_ci() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Whether a continuous integration runs us; the variable is the custom of all of them.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// Asks Cargo for the packages of the workspace, without their dependencies' own.
pub(crate) fn metadata() -> Outcome<Metadata> {
    let json = step::output(cargo().args(["metadata", "--format-version=1", "--no-deps"]))?;
    serde_json::from_str(&json).map_err(|e| format!("cargo metadata printed something unexpected: {e}"))
}
