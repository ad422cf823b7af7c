//! An nginx of our own that serves one file: started on a free port with everything below one directory, ended with us.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
};

use super::{server::free_port, serving::Serving};
use crate::Outcome;

/// The name under which the file is served.
const NAME: &str = "file.png";

/// A running nginx; it is ended when dropped.
pub(super) struct Nginx {
    _serving: Serving,
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
        let is_ready = || TcpStream::connect(address).is_ok();
        let serving = Serving::start(&mut command, is_ready, &work.join("error.log"))?;
        Ok(Self { _serving: serving, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the file is.
    pub(super) fn path(&self) -> &'static str {
        "/file.png"
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
