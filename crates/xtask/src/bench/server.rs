//! A `pinhole serve` of our own: started on a free port, asked until it is ready, and ended with us.

use std::{
    fs::OpenOptions,
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::api::Api;
use crate::{Outcome, step};

/// Longest time to become ready, and to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// A running server; it is ended when dropped.
pub(crate) struct Server {
    child: Child,
    base: String,
}

impl Server {
    /// Starts `pinhole` on the data directory `work/data` with that many browsers; without any, nothing is captured.
    pub(crate) fn start(pinhole: &Path, work: &Path, lanes: u32) -> Outcome<Self> {
        let failed = |what: &str, error: std::io::Error| format!("{what} in {}: {error}", work.display());
        let config = work.join(format!("lanes-{lanes}.toml"));
        // One client calls as fast as it can.
        let limits = "[limits]\ncalls_per_second = 1000000\ncalls_at_once = 1000000\n";
        let text = format!("{limits}[capture]\nprocesses = {}\nlanes = {}\n", lanes.min(1), lanes.max(1));
        std::fs::write(&config, text).map_err(|e| failed("no configuration", e))?;
        let log = OpenOptions::new().create(true).append(true).open(work.join("server.log"));
        let log = log.map_err(|e| failed("no log", e))?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let mut command = Command::new(pinhole);
        command.args(["serve", "--migrate", "--listen", &address, "--config"]).arg(config);
        command.arg("--data-dir").arg(work.join("data"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().map_err(|e| format!("cannot run {}: {e}", step::line(&command)))?;
        let mut server = Self { child, base: format!("http://{address}") };
        server.await_ready()?;
        Ok(server)
    }

    /// Where it is.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The same as an address.
    pub(super) fn address(&self) -> Outcome<SocketAddr> {
        let address = self.base.trim_start_matches("http://");
        address.parse().map_err(|e| format!("{address}: {e}"))
    }

    fn await_ready(&mut self) -> Outcome {
        let (api, deadline) = (Api::new(&self.base, ""), Instant::now() + PATIENCE);
        while !api.is_ready() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the server ended at once ({status}); server.log says why"));
            }
            if Instant::now() > deadline {
                return Err(format!("the server was not ready after {} s; see server.log", PATIENCE.as_secs()));
            }
            sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _killed = self.child.kill();
            }
            sleep(LOOK);
        }
    }
}

/// A port that nobody listens on at this moment.
pub(super) fn free_port() -> Outcome<u16> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|e| format!("no free port on 127.0.0.1: {e}"))
}
