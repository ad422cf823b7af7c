//! A `pinhole serve` of our own: started on a free port, asked until it is ready, and ended with us.

use std::{
    fs::OpenOptions,
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Command, Stdio},
};

use super::{api::Api, serving::Serving};
use crate::Outcome;

/// A running server; it is ended when dropped.
pub(crate) struct Server {
    _serving: Serving,
    base: String,
}

impl Server {
    /// Starts `pinhole` on the data directory `work/data` with that many browsers; without any, nothing is captured.
    pub(crate) fn start(pinhole: &Path, work: &Path, lanes: u32) -> Outcome<Self> {
        let failed = |what: &str, error: std::io::Error| format!("{what} in {}: {error}", work.display());
        let config = work.join(format!("lanes-{lanes}.toml"));
        // One client calls as fast as it can.
        let limits = "[limits]\ncalls_per_second = 1000000\ncalls_at_once = 1000000\n\
                      stranger_calls_per_second = 1000000\nstranger_calls_at_once = 1000000\n";
        let text = format!("{limits}[capture]\nprocesses = {}\nlanes = {}\n", lanes.min(1), lanes.max(1));
        std::fs::write(&config, text).map_err(|e| failed("no configuration", e))?;
        let log_file = work.join("server.log");
        let log = OpenOptions::new().create(true).append(true).open(&log_file).map_err(|e| failed("no log", e))?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let mut command = Command::new(pinhole);
        command.args(["serve", "--migrate", "--listen", &address, "--config"]).arg(config);
        command.arg("--data-dir").arg(work.join("data"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let base = format!("http://{address}");
        let serving = Serving::start(&mut command, || Api::new(&base, "").is_ready(), &log_file)?;
        Ok(Self { _serving: serving, base })
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
}

/// A port that nobody listens on at this moment.
pub(super) fn free_port() -> Outcome<u16> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|e| format!("no free port on 127.0.0.1: {e}"))
}
