//! Smart HTTP as most servers speak it: `git http-backend` behind Apache, with TLS and Basic authentication.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use pinhole_core::{RemoteAccess, RemoteCredential};
use pinhole_testkit::{free_port, wait_for};
use rustix::process::geteuid;
use tempfile::TempDir;

use super::{START, open_to_all, run};

/// The user and password that the server knows.
const USER: &str = "pinhole";
pub(crate) const PASSWORD: &str = "hush-4f1c9a7e2b";
/// Whom the server runs as when the tests are root's: Apache refuses root.
const NOBODY: u32 = 65534;
const MODULES: [&str; 11] = [
    "mpm_prefork",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_user",
    "auth_basic",
    "alias",
    "cgi",
    "env",
    "rewrite",
    "ssl",
];
/// Requests that can be answered with a status alone, by the end of their path.
const REQUESTS: [(&str, &str); 3] =
    [("look", "/info/refs$"), ("fetch", "/git-upload-pack$"), ("push", "/git-receive-pack$")];
const STATUSES: [u16; 6] = [401, 403, 404, 429, 500, 503];

/// A running server.
pub(crate) struct Apache {
    process: Process,
    port: u16,
    folder: TempDir,
}

impl Apache {
    /// Serves the bare repositories in `root` to whoever knows [`PASSWORD`].
    pub(crate) async fn start(root: &Path) -> Self {
        open_to_all(root);
        let folder = TempDir::with_prefix("pinhole-apache-").unwrap();
        prepare(folder.path());
        // Between finding a free port and listening on it, somebody else may take it.
        for _ in 0..5 {
            let port = free_port();
            fs::write(folder.path().join("apache.conf"), configuration(folder.path(), root, port)).unwrap();
            let mut process = Process::start(folder.path());
            if process.listens(folder.path(), port).await {
                return Self { process, port, folder };
            }
        }
        panic!("is apache2-bin installed? {}", fs::read_to_string(folder.path().join("error.log")).unwrap_or_default());
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Where the repository `remote.git` is, when the server is reached at `address`.
    pub(crate) fn url_at(address: SocketAddr) -> String {
        format!("https://{address}/git/remote.git")
    }

    pub(crate) fn url(&self) -> String {
        Self::url_at(self.address())
    }

    /// What the server's administrator would tell.
    pub(crate) fn access(&self) -> RemoteAccess {
        RemoteAccess {
            credential: Some(RemoteCredential::Password { user: USER.into(), password: PASSWORD.into() }),
            host_key: None,
            certificate_authorities: Some(self.certificate()),
        }
    }

    pub(crate) fn certificate(&self) -> String {
        fs::read_to_string(self.folder.path().join("certificate.pem")).unwrap()
    }

    /// Answers a request ("look", "fetch" or "push") with a status, or with a redirect "away" or "aside", from now on; or as
    /// usual again.
    pub(crate) fn answer(&self, request: &str, with: &str, on: bool) {
        let switch = self.folder.path().join(format!("{request}-{with}"));
        if on { fs::write(switch, "").unwrap() } else { fs::remove_file(switch).unwrap() }
    }

    /// Changes the password, so that [`Self::access`] is out of date.
    pub(crate) fn change_password(&self, password: &str) {
        set_password(self.folder.path(), password);
    }
}

/// Runs Apache until the standard input ends: with the test, however that ends. Apache ends its children itself when it
/// is asked to; they would go on writing into folders that are being removed otherwise.
const SCRIPT: &str = "exec 3<&0; apache2 -f \"$1\" -DFOREGROUND </dev/null & server=$!; \
                      { read -r _; kill -TERM $server; } <&3 & wait $server";

/// The shell that runs Apache.
struct Process(Child);

impl Process {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "apache2"]).arg(folder.join("apache.conf")).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        if geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        Self(command.spawn().unwrap())
    }

    /// Whether it listens; false when it has ended instead.
    async fn listens(&mut self, folder: &Path, port: u16) -> bool {
        wait_for(START, "Apache to listen", async || {
            if self.0.try_wait().unwrap().is_some() {
                return Some(false);
            }
            let listens = folder.join("pid").exists() && TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
            listens.then_some(true)
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// Makes the certificate and the password's file.
fn prepare(folder: &Path) {
    let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=git.example \
                   -addext subjectAltName=IP:127.0.0.1,DNS:git.example -keyout key.pem -out certificate.pem";
    run("openssl", folder, &request.split_whitespace().collect::<Vec<_>>());
    set_password(folder, PASSWORD);
    if geteuid().is_root() {
        let owner = format!("{NOBODY}:{NOBODY}");
        run("chown", folder, &["-R", &owner, "."]);
    }
}

fn set_password(folder: &Path, password: &str) {
    let hash = run("openssl", folder, &["passwd", "-apr1", password]);
    fs::write(folder.join("passwords"), format!("{USER}:{hash}\n")).unwrap();
}

fn configuration(folder: &Path, root: &Path, port: u16) -> String {
    let (folder, root) = (folder.display(), root.display());
    let modules =
        MODULES.map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")).concat();
    let programs = run("git", Path::new("/"), &["--exec-path"]);
    let mut answers = String::new();
    for (request, path) in REQUESTS {
        for status in STATUSES {
            let switch = format!("RewriteCond \"{folder}/{request}-{status}\" -f\n");
            answers += &format!("{switch}RewriteRule \"{path}\" - [R={status},L]\n");
        }
        // To another host, and to another path of the same.
        for (name, target) in [("away", "https://localhost:9/"), ("aside", "/elsewhere/")] {
            let switch = format!("RewriteCond \"{folder}/{request}-{name}\" -f\n");
            answers += &format!("{switch}RewriteRule \"^/git/(.*{path})\" \"{target}$1\" [R=302,L]\n");
        }
    }
    format!(
        "{modules}ServerRoot \"{folder}\"\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile \"{folder}/pid\"\n\
         DefaultRuntimeDir \"{folder}\"\nMutex \"file:{folder}\" default\nErrorLog \"{folder}/error.log\"\n\
         StartServers 1\nMinSpareServers 1\nMaxSpareServers 2\n\
         SSLEngine on\nSSLCertificateFile \"{folder}/certificate.pem\"\nSSLCertificateKeyFile \"{folder}/key.pem\"\n\
         SSLSessionCache none\nRewriteEngine on\n{answers}\
         SetEnv GIT_PROJECT_ROOT \"{root}\"\nSetEnv GIT_HTTP_EXPORT_ALL 1\nSetEnv GIT_CONFIG_COUNT 1\n\
         SetEnv GIT_CONFIG_KEY_0 safe.directory\nSetEnv GIT_CONFIG_VALUE_0 *\n\
         ScriptAlias /git/ \"{programs}/git-http-backend/\"\nScriptAlias /elsewhere/ \"{programs}/git-http-backend/\"\n\
         <Directory \"{programs}\">\nOptions +ExecCGI\nRequire all granted\n</Directory>\n\
         <LocationMatch \"^/(git|elsewhere)/\">\nAuthType Basic\nAuthName git\nAuthUserFile \"{folder}/passwords\"\n\
         Require valid-user\n</LocationMatch>\n"
    )
}
