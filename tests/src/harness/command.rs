//! The program under test as a command that ends: its output is read whole, and it is killed when it takes too long.

use std::{
    io::Read,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a command may take unless a test says otherwise.
const DEADLINE: Duration = Duration::from_secs(120);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Its exit status.
    pub(crate) status: ExitStatus,
    /// What it wrote to standard output.
    pub(crate) stdout: String,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
}

/// The built program, beside the directory of this test program.
pub(crate) fn binary() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("pinhole");
    assert!(path.is_file(), "{} is missing: run `cargo build -p pinhole` first", path.display());
    path
}

/// The program as a command without anything from the environment of the tests but the search path.
pub(crate) fn pinhole() -> Command {
    let mut command = Command::new(binary());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
    command
}

impl Finished {
    /// Runs `command` to its end.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::within(DEADLINE, command)
    }

    /// Runs `command` to its end, at most for `deadline`.
    #[track_caller]
    pub(crate) fn within(deadline: Duration, command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap()));
        let status = ended(&mut child, deadline);
        if status.is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        let Some(status) = status else {
            panic!("{command:?} did not end within {deadline:?}\n{stdout}\n{stderr}");
        };
        Self { status, stdout, stderr }
    }

    /// The exit status; a death by a signal has none.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Asserts the exit status and gives standard output.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &str {
        assert_eq!(self.code(), Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        &self.stdout
    }
}

/// Waits for the end of `child`; none when the deadline passes.
pub(super) fn ended(child: &mut Child, deadline: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if started.elapsed() > deadline {
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
