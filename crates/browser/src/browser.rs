//! One browser: launched, checked, used by one cell after another, and closed. It knows nothing of scenarios.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chromiumoxide::cdp::browser_protocol::browser::{CloseParams, GetVersionParams};

use crate::{
    client::Client,
    error::BrowserError,
    facts::{self, BrowserFacts},
    popups::Popups,
    process::{Process, Start},
};

/// The user that a browser runs under when its worker is root and names no other.
pub const DEFAULT_UID: u32 = 61_990;

/// The limit of commands that the browser process answers by itself, without a page.
pub(crate) const BROWSER_CALL: Duration = Duration::from_secs(10);

/// How a browser is started.
#[derive(Clone, Debug)]
pub struct BrowserConfig {
    /// Path of `chromium-headless-shell`, the binary itself and not a wrapper script.
    pub executable: PathBuf,
    /// The uid (and gid) to run the browser under; needed when this process is root, and possible only then.
    pub uid: Option<u32>,
    /// Go on without Chromium's sandbox where the machine has no user namespaces. Recorded in every receipt.
    pub allow_no_sandbox: bool,
}

impl Default for BrowserConfig {
    /// Debian's binary, with [`DEFAULT_UID`] when this process is root.
    fn default() -> Self {
        Self {
            executable: "/usr/lib/chromium/chromium-headless-shell".into(),
            uid: rustix::process::geteuid().is_root().then_some(DEFAULT_UID),
            allow_no_sandbox: false,
        }
    }
}

/// A running browser. Dropping it kills it; [`Browser::close`] does so off the async threads.
pub struct Browser {
    pub(crate) client: Client,
    pub(crate) popups: std::sync::Arc<Popups>,
    process: Mutex<Option<Process>>,
    pid: u32,
    facts: BrowserFacts,
    pub(crate) user_agent: String,
    /// Set when a cell could not be cleaned up.
    spoilt: AtomicBool,
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser").field("pid", &self.pid).field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Browser {
    /// Starts a browser in a process group and directory of its own and checks its sandbox.
    ///
    /// # Errors
    /// When this process is root and `uid` is absent or 0, the binary is missing or does not come up within 20
    /// seconds, or its sandbox is off and not allowed to be. Nothing is left running then.
    pub async fn launch(config: &BrowserConfig) -> Result<Self, BrowserError> {
        let root = rustix::process::geteuid().is_root();
        if root && config.uid.is_none_or(|uid| uid == 0) {
            return Err(BrowserError::RootWithoutUser);
        }
        let uid = config.uid.filter(|_| root);
        match Self::start(config, uid, true).await {
            Err(BrowserError::NoSandbox(why) | BrowserError::Exited(why)) if config.allow_no_sandbox => {
                tracing::warn!(why, "starting the browser without its sandbox, as the configuration allows");
                Self::start(config, uid, false).await
            }
            result => result,
        }
    }

    async fn start(config: &BrowserConfig, uid: Option<u32>, sandbox: bool) -> Result<Self, BrowserError> {
        let executable = config.executable.clone();
        let (process, fonts) = blocking(move || {
            let flags = flags(sandbox);
            let process = Process::start(&Start { executable: &executable, flags: &flags, uid })?;
            if sandbox {
                facts::check_sandbox(process.pid())?;
            }
            Ok((process, facts::fonts_digest()))
        })
        .await?;
        let client = Client::connect(&process.endpoint).await?;
        let version = client.call(GetVersionParams {}, BROWSER_CALL).await?;
        let popups = Popups::watch(&client).await?;
        let facts = BrowserFacts {
            product: version.product,
            revision: version.revision,
            flags: facts::PIXEL_FLAGS.iter().map(|&flag| flag.to_owned()).collect(),
            fonts,
            uid: process.uid(),
            sandboxed: sandbox,
        };
        Ok(Self {
            client,
            popups,
            pid: process.pid(),
            process: Mutex::new(Some(process)),
            facts,
            user_agent: version.user_agent,
            spoilt: AtomicBool::new(false),
        })
    }

    /// What this browser is.
    pub fn facts(&self) -> &BrowserFacts {
        &self.facts
    }

    /// Whether another cell may be given to it: it lives, and every earlier cell was cleaned up.
    pub fn is_healthy(&self) -> bool {
        !self.client.is_dead() && !self.spoilt.load(Ordering::Acquire)
    }

    /// The process id of the browser, which is also its process group.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Asks the browser to end, kills what is left of its group and removes its directory.
    pub async fn close(self) {
        let closing = self.client.call(CloseParams {}, Duration::from_secs(2)).await;
        let grace = if closing.is_ok() { Duration::from_secs(2) } else { Duration::ZERO };
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(process) = process {
            let _ = tokio::task::spawn_blocking(move || process.stop(grace)).await;
        }
    }

    pub(crate) fn spoil(&self) {
        self.spoilt.store(true, Ordering::Release);
    }
}

fn flags(sandbox: bool) -> Vec<String> {
    let mut flags: Vec<String> =
        facts::PIXEL_FLAGS.iter().chain(facts::QUIET_FLAGS).map(|&flag| flag.to_owned()).collect();
    // Containers often have 64 MiB there, on which big pages die.
    const ENOUGH: u64 = 512 * 1024 * 1024;
    if rustix::fs::statvfs("/dev/shm").is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) < ENOUGH) {
        flags.push("--disable-dev-shm-usage".into());
    }
    if !sandbox {
        flags.push("--no-sandbox".into());
    }
    flags
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BrowserError> + Send + 'static,
) -> Result<T, BrowserError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| BrowserError::Protocol(error.to_string()))?
}
