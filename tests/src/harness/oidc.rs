//! A real OpenID provider, and an issuer that signs any identity token, each as a process of its own.

use std::{
    env,
    io::{BufRead as _, BufReader, Lines},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::OnceLock,
};

use super::command::binary;

/// A running provider. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct OidcProvider {
    child: Child,
    /// Held open: a provider that cannot write its warnings ends.
    _output: Lines<BufReader<ChildStdout>>,
    issuer: String,
}

impl OidcProvider {
    /// The issuer of a provider on this port.
    pub(crate) fn issuer_on(port: u16) -> String {
        format!("http://127.0.0.1:{port}")
    }

    /// `oidc-provider` with the people `alice` and `bob`, for one client that is sent back to `redirect`.
    pub(crate) fn real(port: u16, redirect: &str) -> Self {
        Self::run("provider.mjs", port, &[redirect])
    }

    /// An issuer that signs what the code says.
    pub(crate) fn forger(port: u16) -> Self {
        Self::run("forger.mjs", port, &[])
    }

    /// Its issuer.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    fn run(script: &str, port: u16, arguments: &[&str]) -> Self {
        let mut command = Command::new("node");
        command.current_dir(installed()).arg(script).arg(port.to_string()).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
        let mut child = command.spawn().expect("node is installed");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().any(|line| line.is_ok_and(|line| line == "ready")), "{script} did not start");
        Self { child, _output: lines, issuer: Self::issuer_on(port) }
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Where the provider's packages are, installed as the lock file says. Several test processes may come here at once:
/// each installs beside the place and moves it there; the first one wins.
fn installed() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let target = binary().parent().and_then(Path::parent).unwrap().to_owned();
        let place = target.join("oidc");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("oidc");
        if !place.join("node_modules/oidc-provider/package.json").is_file() {
            let fresh = tempfile::TempDir::with_prefix_in("oidc-", &target).unwrap();
            for file in ["package.json", "package-lock.json"] {
                std::fs::copy(source.join(file), fresh.path().join(file)).unwrap();
            }
            let mut npm = Command::new("npm");
            npm.current_dir(fresh.path()).args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
            let output = npm.output().expect("npm is installed");
            assert!(output.status.success(), "npm ci: {}", String::from_utf8_lossy(&output.stderr));
            let fresh = fresh.keep();
            if std::fs::rename(&fresh, &place).is_err() {
                // Another process was faster; its packages are the same.
                std::fs::remove_dir_all(&fresh).ok();
            }
        }
        for script in ["provider.mjs", "forger.mjs"] {
            let (from, to) = (source.join(script), place.join(script));
            // Written at once: another process may be reading it.
            let fresh = tempfile::NamedTempFile::new_in(&place).unwrap();
            std::fs::copy(from, fresh.path()).unwrap();
            fresh.persist(to).unwrap();
        }
        place
    })
}
