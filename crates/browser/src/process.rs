//! The browser's process: started in a group of its own under an unprivileged user, in a directory of its own, and
//! gone without a trace afterwards, whichever way it ends. Nothing here speaks to the browser.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions};
use tempfile::TempDir;

use crate::{
    abandoned,
    error::{BrowserError, clip},
};

/// How long a started browser may take to listen.
const LISTEN: Duration = Duration::from_secs(20);

/// What the process is started with.
pub(crate) struct Start<'a> {
    pub(crate) executable: &'a Path,
    pub(crate) flags: &'a [String],
    /// The user and group to run under; absent to stay who we are.
    pub(crate) uid: Option<u32>,
}

/// A running browser. Dropping it kills the group and removes the directory.
pub(crate) struct Process {
    child: Child,
    group: Pid,
    uid: u32,
    directory: Option<TempDir>,
    /// Where DevTools listens.
    pub(crate) endpoint: String,
}

impl Process {
    /// Starts the browser and waits until it listens. Blocks: call it off the async threads.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self, BrowserError> {
        if !start.executable.is_file() {
            return Err(BrowserError::NoExecutable(start.executable.to_owned()));
        }
        let directory =
            own_directory(start.uid).map_err(|error| BrowserError::Io("make the profile directory", error))?;
        let mut child = command(start, directory.path())
            .spawn()
            .map_err(|error| BrowserError::Io("start the browser process", error))?;
        // The browser's helpers outlive it for a moment; as children of ours they are reaped, and not left to an init
        // process that a container may not have.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let uid = start.uid.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        let group = Pid::from_child(&child);
        let stderr = child.stderr.take();
        // From here on `Drop` cleans up.
        let mut process = Self { child, group, uid, directory: Some(directory), endpoint: String::new() };
        let stderr = stderr.ok_or_else(|| BrowserError::Protocol("no standard error".into()))?;
        process.endpoint = wait_for_endpoint(stderr)?;
        Ok(process)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Gives the browser `grace` to end by itself, then kills what is left. Blocks.
    pub(crate) fn stop(mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.destroy();
    }

    fn destroy(&mut self) {
        // The leader may be gone and reaped while its helpers live on: the group exists as long as any of them does.
        let _ = rustix::process::kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
        await_group_end(self.group);
        if let Some(directory) = self.directory.take() {
            remove(directory);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.directory.is_some() {
            self.destroy();
        }
    }
}

/// A directory that only the browser's user can enter.
fn own_directory(uid: Option<u32>) -> io::Result<TempDir> {
    let directory = tempfile::Builder::new().prefix(&abandoned::prefix()).tempdir()?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700))?;
    for name in ["profile", "tmp"] {
        fs::create_dir(directory.path().join(name))?;
    }
    if let Some(uid) = uid {
        for path in [directory.path().to_owned(), directory.path().join("profile"), directory.path().join("tmp")] {
            std::os::unix::fs::chown(path, Some(uid), Some(uid))?;
        }
    }
    Ok(directory)
}

fn command(start: &Start<'_>, directory: &Path) -> Command {
    let mut command = match start.uid {
        None => Command::new(start.executable),
        Some(uid) => {
            // The launcher drops every privilege before the browser's first instruction.
            let mut command = Command::new("/usr/bin/setpriv");
            command.args([format!("--reuid={uid}"), format!("--regid={uid}")]);
            command.args(["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"]);
            command.arg(start.executable);
            command
        }
    };
    let profile: PathBuf = directory.join("profile");
    let mut profile_flag = OsString::from("--user-data-dir=");
    profile_flag.push(profile);
    command
        .args(start.flags)
        .arg(profile_flag)
        .args(["--remote-debugging-port=0", "about:blank"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", directory)
        .env("TMPDIR", directory.join("tmp"))
        .env("LANG", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}

/// Reads the browser's messages until it says where it listens, and goes on reading so that it never blocks on them.
fn wait_for_endpoint(stderr: std::process::ChildStderr) -> Result<String, BrowserError> {
    let (found, endpoint) = mpsc::channel();
    std::thread::Builder::new()
        .name("browser-messages".into())
        .spawn(move || read_messages(stderr, &found))
        .map_err(|error| BrowserError::Io("start a thread", error))?;
    endpoint.recv_timeout(LISTEN).map_err(|_| BrowserError::Timeout("listen", LISTEN))?.map_err(BrowserError::Exited)
}

fn read_messages(stderr: std::process::ChildStderr, found: &mpsc::Sender<Result<String, String>>) {
    use io::{BufRead as _, Read as _};
    const MAX_LINE: u64 = 4096;
    let mut reader = io::BufReader::new(stderr);
    let mut last = String::new();
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(url) = line.trim().strip_prefix("DevTools listening on ") {
            let _ = found.send(Ok(url.to_owned()));
        } else if !line.trim().is_empty() {
            last = clip(line.trim(), 300);
        }
    }
    let _ = found.send(Err(if last.is_empty() { "nothing".into() } else { last }));
}

/// Waits until no process of the killed group is left, at most two seconds: they hold files of the profile.
fn await_group_end(group: Pid) {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        while let Ok(Some(_)) = rustix::process::waitpgid(group, WaitOptions::NOHANG) {}
        if rustix::process::test_kill_process_group(group).is_err() || Instant::now() >= deadline {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A helper that is about to die may still write a file while the tree is being removed.
fn remove(directory: TempDir) {
    let path = directory.keep();
    for _ in 0..50 {
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(Duration::from_millis(20)),
            _ => return,
        }
    }
    tracing::warn!(path = %path.display(), "a browser's directory could not be removed");
}
