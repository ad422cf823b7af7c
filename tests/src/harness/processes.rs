//! Processes as `/proc` shows them. It asks nobody else, least of all the program under test.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Clock ticks after the start of the machine.
    started: u64,
}

impl Process {
    /// The process with this number, when there is one that has not ended.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let (_, started) = stat(pid)?;
        Some(Self { pid, started })
    }

    /// Whether it still is there; one that has ended and only waits to be reaped is not.
    pub(super) fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

/// Whether no process with this number is left, but for one that waits to be reaped.
pub(crate) fn has_ended(pid: u32) -> bool {
    stat(pid).is_none()
}

/// Every process that `pid` started and that has not ended.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    parents().into_iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| child).collect()
}

/// The processes that `pid` started, and those that they started, and so on.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let parents = parents();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}

/// The command line, its words separated by spaces; empty when the process is gone.
pub(crate) fn command_line(pid: u32) -> String {
    words(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
}

/// The environment that the process was started with, its variables separated by spaces.
pub(crate) fn environment(pid: u32) -> String {
    words(&fs::read(format!("/proc/{pid}/environ")).unwrap())
}

/// A field of the process's status, such as `Seccomp`; none when the process is gone.
pub(crate) fn status(pid: u32, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// The effective user.
pub(crate) fn uid(pid: u32) -> Option<u32> {
    status(pid, "Uid")?.split_whitespace().nth(1)?.parse().ok()
}

/// The name of a namespace that the process is in, such as that of kind `user`.
pub(crate) fn namespace(pid: u32, kind: &str) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/ns/{kind}")).unwrap()
}

/// Every process that runs under `uid` and has not ended.
pub(super) fn of_user(owner: u32) -> Vec<u32> {
    parents().into_keys().filter(|pid| uid(*pid) == Some(owner)).collect()
}

/// The directories of browsers that belong to `owner`.
pub(super) fn browser_directories(owner: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let named =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pinhole-browser-"));
    let owned = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.uid() == owner);
    entries.map(|entry| entry.path()).filter(|path| named(path) && owned(path)).collect()
}

/// Processes with their parents.
fn parents() -> BTreeMap<u32, u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?.0))).collect()
}

/// Parent and start of a process that has not ended. The name, which may hold anything, ends with the last bracket.
fn stat(pid: u32) -> Option<(u32, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let (state, parent, started) = (fields.first()?, fields.get(1)?, fields.get(19)?);
    (!matches!(*state, "Z" | "X")).then_some((parent.parse().ok()?, started.parse().ok()?))
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', " ").trim_end().to_owned()
}
