//! What a worker that was killed leaves behind: a browser that nobody drives, and its directory. The next worker ends
//! the one and removes the other.
//!
//! Nothing inside such a directory is believed, since its browser could write there. The directory's own name says which
//! process made it, and a process counts as its browser only when its command line says so.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal};

/// How the directories begin.
const PREFIX: &str = "pinhole-browser-";

/// The beginning of a directory's name: it tells this process from a later one with the same pid.
pub(crate) fn prefix() -> String {
    let pid = std::process::id();
    format!("{PREFIX}{pid}-{}-", start_time(pid).unwrap_or_default())
}

/// Ends the browsers of processes that are gone and removes their directories. Blocks for as long as that takes.
///
/// # Errors
/// When the folder for temporary files cannot be listed; a directory that cannot be removed is left.
pub fn clear_abandoned() -> io::Result<()> {
    for entry in fs::read_dir(std::env::temp_dir())? {
        let path = entry?.path();
        let Some(owner) = path.file_name().and_then(|name| name.to_str()).and_then(owner) else { continue };
        if !is_alive(owner) {
            end_browser(&path);
            if let Err(error) = fs::remove_dir_all(&path) {
                tracing::warn!(%error, path = %path.display(), "an abandoned directory could not be removed");
            }
        }
    }
    Ok(())
}

/// Pid and start time in a directory's name.
fn owner(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn is_alive((pid, started): (u32, u64)) -> bool {
    start_time(pid) == Some(started)
}

/// When a process began, in clock ticks after the machine did: field 22 of proc_pid_stat(5).
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name, in parentheses, may hold anything.
    stat.get(stat.rfind(')')? + 2..)?.split(' ').nth(19)?.parse().ok()
}

fn end_browser(directory: &Path) {
    let mut flag = std::ffi::OsString::from("--user-data-dir=");
    flag.push(directory.join("profile"));
    for pid in processes() {
        let Ok(command) = fs::read(format!("/proc/{pid}/cmdline")) else { continue };
        let ours = command.split(|byte| *byte == 0).any(|argument| argument == flag.as_encoded_bytes());
        if let Some(pid) = Pid::from_raw(pid).filter(|_| ours) {
            // The browser leads a group of its own; its helpers, which do not name the directory, are in it.
            let _gone = if rustix::process::getpgid(Some(pid)).is_ok_and(|group| group == pid) {
                rustix::process::kill_process_group(pid, Signal::KILL)
            } else {
                rustix::process::kill_process(pid, Signal::KILL)
            };
        }
    }
}

fn processes() -> impl Iterator<Item = i32> {
    let entries: Vec<PathBuf> =
        fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
    entries.into_iter().filter_map(|path| path.file_name()?.to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_process() {
        let me = owner(&format!("{}x1", prefix())).unwrap();
        assert_eq!(me.0, std::process::id());
        assert!(is_alive(me));
        assert!(!is_alive((me.0, me.1 + 1)));
        for other in ["pinhole-browser-", "pinhole-browser-x-1-a", "pinhole-demo-1-2-x", "pinhole-browser-1"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
