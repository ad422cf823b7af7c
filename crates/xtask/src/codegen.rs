//! `cargo xtask codegen`: the files of `docs/contract`, which the program itself writes.
//!
//! It must not make any of them itself: what is committed is what the program says of itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;

use crate::{Outcome, step, workspace};

/// The committed files, relative to the root of the repository.
const FOLDER: &str = "docs/contract";

/// Files by their paths below a folder.
type Files = BTreeMap<PathBuf, Vec<u8>>;

#[derive(Args)]
pub(crate) struct Codegen {
    /// Change nothing; fail when a committed file is not what the program writes.
    #[arg(long)]
    check: bool,
}

impl Codegen {
    pub(crate) fn run(self) -> Outcome {
        step::run("build", workspace::cargo().args(["build", "--package", "pinhole"]))?;
        if self.check { check() } else { write() }
    }
}

/// Compares the committed files with those that the built program writes.
pub(crate) fn check() -> Outcome {
    let stale = stale(&files(&folder())?, &generated()?);
    if stale.is_empty() {
        return Ok(());
    }
    let list = stale.iter().map(|path| format!("\n  {FOLDER}/{}", path.display())).collect::<String>();
    Err(format!("the contract's files are stale; run `cargo xtask codegen` and commit what it changes:{list}"))
}

fn write() -> Outcome {
    let (committed, generated) = (files(&folder())?, generated()?);
    for path in stale(&committed, &generated) {
        let target = folder().join(&path);
        let cannot = |error| format!("cannot change {}: {error}", target.display());
        match generated.get(&path) {
            Some(bytes) => {
                fs::create_dir_all(target.parent().unwrap_or(&target)).map_err(cannot)?;
                fs::write(&target, bytes).map_err(cannot)?;
            }
            None => fs::remove_file(&target).map_err(cannot)?,
        }
        println!("    {FOLDER}/{}", path.display());
    }
    Ok(())
}

/// What the program writes, by way of a folder among the build's own.
fn generated() -> Outcome<Files> {
    let target = workspace::metadata()?.target_directory;
    let folder = target.join("contract");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| format!("cannot empty {}: {e}", folder.display()))?;
    }
    step::output(Command::new(target.join("debug/pinhole")).args(["contract", "--out"]).arg(&folder))?;
    files(&folder)
}

fn folder() -> PathBuf {
    workspace::root().join(FOLDER)
}

/// Paths whose files differ, or are in one of both only.
fn stale(committed: &Files, generated: &Files) -> BTreeSet<PathBuf> {
    let all = committed.keys().chain(generated.keys());
    all.filter(|path| committed.get(*path) != generated.get(*path)).cloned().collect()
}

/// Every file below `folder`; none when there is no such folder.
fn files(folder: &Path) -> Outcome<Files> {
    let cannot = |error| format!("cannot read {}: {error}", folder.display());
    let (mut found, mut left) = (Files::new(), vec![folder.to_path_buf()]);
    while let Some(next) = left.pop().filter(|next| next.exists()) {
        for entry in fs::read_dir(&next).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_path_buf();
                found.insert(name, fs::read(&path).map_err(cannot)?);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_new_and_removed_files_are_stale() {
        let of = |files: &[(&str, &str)]| -> Files {
            files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect()
        };
        let committed = of(&[("same", "1"), ("changed", "1"), ("removed", "1")]);
        let generated = of(&[("same", "1"), ("changed", "2"), ("a/new", "1")]);
        let expected = ["a/new", "changed", "removed"].map(PathBuf::from);
        assert_eq!(stale(&committed, &generated), BTreeSet::from(expected));
        assert!(stale(&generated, &generated).is_empty());
    }
}
