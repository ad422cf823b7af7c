//! A real OpenID provider, and an issuer that signs any identity token, each as a process of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader, Lines},
    process::{Child, ChildStdout, Stdio},
};

use tempfile::NamedTempFile;

use super::node::node;

/// What the providers know the server by.
pub(crate) const OIDC_SECRET: &str = "a-secret-of-the-tests";

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

    /// The configuration of a server that trusts the issuer on this port, with `more` in its section, and the file that it
    /// reads when it starts.
    pub(crate) fn configuration(port: u16, more: &str) -> (String, NamedTempFile) {
        let (issuer, secret) = (Self::issuer_on(port), NamedTempFile::new().unwrap());
        fs::write(secret.path(), OIDC_SECRET).unwrap();
        let file = secret.path().display();
        // People of the tests sign in more often than others do.
        let text = format!(
            "[limits]\nsign_ins_per_minute = 1000\n[oidc]\nissuer = '{issuer}'\nclient_id = 'pinhole'\n\
             client_secret_file = '{file}'\n{more}"
        );
        (text, secret)
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
        let mut command = node("oidc", script);
        command.arg(port.to_string()).args(arguments);
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
