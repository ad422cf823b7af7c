//! SSH: OpenSSH's own server, one process for each connection, with a configuration of its own.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use pinhole_core::{RemoteAccess, RemoteCredential};
use rustix::process::geteuid;
use tempfile::TempDir;

use super::run;

/// A running server.
pub(crate) struct Sshd {
    address: SocketAddr,
    folder: TempDir,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sshd {
    /// Serves whoever runs the tests, with the key of [`Self::access`].
    pub(crate) fn start() -> Self {
        let folder = TempDir::with_prefix("pinhole-sshd-").unwrap();
        prepare(folder.path());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, place) = (stop.clone(), folder.path().to_owned());
        let thread = std::thread::spawn(move || {
            let mut children = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let output = stream.try_clone().unwrap();
                let child = Command::new("/usr/sbin/sshd")
                    .arg("-i")
                    .arg("-f")
                    .arg(place.join("sshd.conf"))
                    .arg("-E")
                    .arg(place.join("log"))
                    .stdin(Stdio::from(OwnedFd::from(stream)))
                    .stdout(Stdio::from(OwnedFd::from(output)))
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap_or_else(|error| panic!("sshd: {error}: install openssh-server"));
                children.push(child);
            }
            // A process of a client that is gone ends by itself.
            for mut child in children {
                child.wait().unwrap();
            }
        });
        Self { address, folder, stop, thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the repository at `path` is for whoever runs the tests.
    pub(crate) fn url(&self, path: &Path) -> String {
        self.url_at(self.address, path)
    }

    /// The same when the server is reached at `address`.
    pub(crate) fn url_at(&self, address: SocketAddr, path: &Path) -> String {
        let user = run("id", self.folder.path(), &["-un"]);
        format!("ssh://{user}@{address}{}", path.display())
    }

    /// What the server's administrator would tell.
    pub(crate) fn access(&self) -> RemoteAccess {
        let listed = run("ssh-keygen", self.folder.path(), &["-l", "-E", "sha256", "-f", "host.pub"]);
        RemoteAccess {
            credential: Some(RemoteCredential::SshKey { private_key: self.read("client") }),
            host_key: listed.split(' ').nth(1).map(str::to_owned),
            certificate_authorities: None,
        }
    }

    /// Lets one more key in.
    pub(crate) fn admit(&self, public_key: &str) {
        let keys = self.folder.path().join("authorized_keys");
        fs::write(&keys, format!("{}{public_key}", self.read("authorized_keys"))).unwrap();
    }

    /// What the server has written down.
    pub(crate) fn log(&self) -> String {
        self.read("log")
    }

    /// A file of the server's folder: "host.pub", or "stranger", a key that it does not know.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn prepare(folder: &Path) {
    if geteuid().is_root() {
        // What Debian's service would make: the empty folder that OpenSSH locks its unprivileged part into.
        fs::create_dir_all("/run/sshd").unwrap();
    }
    for name in ["host", "client", "stranger"] {
        run("ssh-keygen", folder, &["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]);
    }
    fs::copy(folder.join("client.pub"), folder.join("authorized_keys")).unwrap();
    let place = folder.display();
    let configuration = format!(
        "HostKey {place}/host\nAuthorizedKeysFile {place}/authorized_keys\nStrictModes no\nUsePAM no\nPidFile none\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
    );
    fs::write(folder.join("sshd.conf"), configuration).unwrap();
}
