//! A program that serves until we are done with it: awaited until it is ready, and ended with us.

use std::{
    path::Path,
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Outcome, step};

/// Longest time to become ready, and to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// A running program. It is asked to end when dropped, and killed when it does not.
pub(super) struct Serving(Child);

impl Serving {
    /// Starts the program and waits until it is ready; what went wrong otherwise is in `log`.
    pub(super) fn start(command: &mut Command, is_ready: impl Fn() -> bool, log: &Path) -> Outcome<Self> {
        let (line, log) = (step::line(command), log.display());
        let mut serving = Self(command.spawn().map_err(|e| format!("cannot run {line}: {e}"))?);
        let deadline = Instant::now() + PATIENCE;
        while !is_ready() {
            if let Ok(Some(status)) = serving.0.try_wait() {
                return Err(format!("{line} ended at once ({status}); {log} says why"));
            }
            if Instant::now() > deadline {
                return Err(format!("{line} was not ready after {} s; see {log}", PATIENCE.as_secs()));
            }
            sleep(LOOK);
        }
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ended = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.0.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _killed = self.0.kill();
            }
            sleep(LOOK);
        }
    }
}
