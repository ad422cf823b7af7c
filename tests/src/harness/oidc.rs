//! A real OpenID provider, and an issuer that signs any identity token, each as a process of its own.

use std::{
    io::{BufRead as _, BufReader, Lines},
    process::{Child, ChildStdout, Stdio},
};

use super::node::node;

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
