//! An nginx of our own that serves one file: started on a free port with everything below one directory, ended with us.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::server::free_port;
use crate::Outcome;

/// Longest time to become ready, and to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);
/// The name under which the file is served.
const NAME: &str = "file.png";

/// A running nginx; it is ended when dropped.
pub(super) struct Nginx {
    child: Child,
    address: SocketAddr,
}

impl Nginx {
    /// Starts `program` below `work` with a link to `file`.
    pub(super) fn start(program: &Path, work: &Path, file: &Path) -> Outcome<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let failed = |error: std::io::Error| format!("{}: {error}", work.display());
        let prepare = || {
            fs::create_dir_all(work.join("files"))?;
            let link = work.join("files").join(NAME);
            if !link.exists() {
                std::os::unix::fs::symlink(file, link)?;
            }
            fs::write(work.join("nginx.conf"), configuration(address))
        };
        prepare().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("-p").arg(work).args(["-c", "nginx.conf", "-e", "error.log"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("cannot run {}: {e}", program.display()))?;
        let mut nginx = Self { child, address };
        nginx.await_ready(work)?;
        Ok(nginx)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the file is.
    pub(super) fn path(&self) -> &'static str {
        "/file.png"
    }

    fn await_ready(&mut self, work: &Path) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(self.address).is_err() {
            if matches!(self.child.try_wait(), Ok(Some(_))) || Instant::now() > deadline {
                return Err(format!("nginx did not start; {}/error.log says why", work.display()));
            }
            sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Nginx {
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

/// Debian's defaults as far as they matter for one file, and nothing that is written for each request. The workers keep
/// the user, who alone can read the data directory.
fn configuration(address: SocketAddr) -> String {
    let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
    format!(
        "{user}daemon off;\nworker_processes auto;\npid nginx.pid;\nevents {{ worker_connections 768; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 100000;\n  \
         types {{ image/png png; }}\n  client_body_temp_path body;\n  proxy_temp_path proxy;\n  fastcgi_temp_path fastcgi;\n  \
         uwsgi_temp_path uwsgi;\n  scgi_temp_path scgi;\n  server {{ listen {address}; root files; }}\n}}\n"
    )
}
