//! `cargo xtask conformance`: clients of MCP that are not ours, on the real server: the protocol's own conformance tests,
//! the Inspector and the Python client.
//!
//! It says nothing about what operations do; it says that strangers can talk to the endpoint.

mod clients;
mod fixtures;
mod tools;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use clap::Args;

use crate::{Outcome, bench::server::Server, packages, step, workspace};
use tools::Tools;

/// Revisions of the protocol that the endpoint speaks.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

#[derive(Args)]
pub(crate) struct Conformance {
    /// Also the conformance tests that need fixtures, on a server that has them.
    #[arg(long)]
    full: bool,
    /// Install missing system packages (as root).
    #[arg(long)]
    install: bool,
}

impl Conformance {
    pub(crate) fn run(self) -> Outcome {
        packages::ensure(&packages::conformance().collect::<Vec<_>>(), self.install)?;
        step::run("build", workspace::cargo().args(["build", "--package", "pinhole"]))?;
        check(self.full)
    }
}

/// Runs every client on a server of the built program; with `full` the conformance tests on a server of fixtures too.
pub(crate) fn check(full: bool) -> Outcome {
    let target = workspace::metadata()?.target_directory;
    let (pinhole, tools) = (target.join("debug/pinhole"), Tools::installed(&target.join("mcp"))?);
    let work = Work::make(&target.join(format!("conformance-{}", std::process::id())))?;
    let server = Server::start(&pinhole, &work.0, 1)?;
    let token = token(&pinhole, &work.0)?;
    let endpoint = format!("{}/mcp", server.base());
    let proxy = Proxy::start(&tools, server.base(), &token)?;
    for revision in REVISIONS {
        clients::conformance(&tools, &work.0, &format!("{}/mcp", proxy.base), revision)?;
    }
    clients::inspector(&tools, &endpoint, &token)?;
    clients::python(&tools, &endpoint, &token)?;
    if full {
        fixtures::check(&tools, &work.0)?;
    }
    step::step("the OpenAPI document", || tools.python_module("openapi_spec_validator", "docs/contract/openapi.json"))
}

/// An administrator's token.
fn token(pinhole: &Path, work: &Path) -> Outcome<String> {
    let mut command = Command::new(pinhole);
    command.args(["token", "create", "--name", "conformance", "--admin", "--data-dir"]).arg(work.join("data"));
    Ok(step::output(&mut command)?.trim().to_owned())
}

/// A directory that goes with us.
pub(crate) struct Work(pub(crate) std::path::PathBuf);

impl Work {
    pub(crate) fn make(path: &Path) -> Outcome<Self> {
        std::fs::create_dir_all(path).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        Ok(Self(path.to_path_buf()))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

/// Stands before the server and adds the credential, which the conformance tests cannot send.
struct Proxy {
    child: Child,
    base: String,
}

impl Proxy {
    fn start(tools: &Tools, server: &str, token: &str) -> Outcome<Self> {
        let port = server.rsplit(':').next().unwrap_or_default();
        let mut command = tools.node();
        command.arg(workspace::root().join("tests/mcp/auth-proxy.mjs")).arg(port).env("PINHOLE_TOKEN", token);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot run {}: {e}", step::line(&command)))?;
        let mut line = String::new();
        let read = child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let proxy = Self { child, base: format!("http://127.0.0.1:{}", line.trim()) };
        match read {
            Some(Ok(1..)) => Ok(proxy),
            _ => Err("the proxy of the conformance tests did not start".into()),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
