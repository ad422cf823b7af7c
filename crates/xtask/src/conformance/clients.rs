//! What each client is asked to do, and how it has to end.

use std::{path::Path, process::Command};

use super::tools::Tools;
use crate::{Outcome, step, workspace};

/// The protocol's own tests, and the version of them before the newest revision.
pub(super) const CONFORMANCE: &str = "@modelcontextprotocol/conformance";
pub(super) const OLD_CONFORMANCE: &str = "conformance-0.1";
/// The Inspector's exit status for a tool that refused.
const REFUSED: i32 = 5;

/// A call by the Inspector: the tool, its arguments, the exit status, and what the answer must hold.
type Call = (&'static str, &'static str, i32, &'static str);

/// One that reads, one that is refused, one that makes something. The key is the same in both eras: what the second one
/// finds is what the first one made.
const CALLS: &[Call] = &[
    ("whoami", "{}", 0, "\"conformance\""),
    ("get_project", r#"{"project":"nothing"}"#, REFUSED, "not_found"),
    ("whoami", r#"{"colour":"red"}"#, REFUSED, "invalid_arguments"),
    ("create_project", r#"{"slug":"shop","title":"Shop","idempotency_key":"inspector"}"#, 0, "\"shop\""),
];

/// Every scenario of a revision of the protocol; those that only a server of fixtures can pass have to fail.
pub(super) fn conformance(tools: &Tools, work: &Path, endpoint: &str, revision: &str) -> Outcome {
    step::step(&format!("conformance with {revision}"), || {
        let known = workspace::root().join(format!("tests/mcp/needs-fixtures-{revision}.yml"));
        let mut command = tools.script(CONFORMANCE);
        command.args(["server", "--url", endpoint, "--requirements", revision, "--expected-failures"]).arg(known);
        command.arg("--output-dir").arg(work.join(revision)).current_dir(work);
        let (status, text) = run(&mut command)?;
        let summary = text.rsplit("=== SUMMARY ===").next().unwrap_or(&text);
        let passed = summary.lines().filter(|line| line.contains('✓')).count();
        match status {
            Some(0) if passed > 0 => {
                println!("    {passed} scenarios passed");
                Ok(())
            }
            _ => Err(format!("conformance with {revision} failed ({status:?}):\n{summary}")),
        }
    })
}

/// The Inspector in both eras: the list with all of its schemas, and calls of each kind.
pub(super) fn inspector(tools: &Tools, endpoint: &str, token: &str) -> Outcome {
    step::step("Inspector", || {
        for era in ["modern", "legacy"] {
            let listed = inspect(tools, endpoint, token, era, &["--method", "tools/list", "--strict"]);
            expect(era, "tools/list", listed?, 0, "start_scenario_run")?;
            for (tool, arguments, status, holds) in CALLS {
                let call = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments];
                expect(era, tool, inspect(tools, endpoint, token, era, &call)?, *status, holds)?;
            }
        }
        Ok(())
    })
}

fn inspect(tools: &Tools, endpoint: &str, token: &str, era: &str, what: &[&str]) -> Outcome<(Option<i32>, String)> {
    let mut command = tools.program("mcp-inspector");
    command.args(["--cli", endpoint, "--transport", "http", "--format", "json", "-q", "--protocol-era", era]);
    command.arg("--header").arg(format!("Authorization: Bearer {token}")).args(what);
    run(&mut command)
}

fn expect(era: &str, what: &str, (status, text): (Option<i32>, String), wanted: i32, holds: &str) -> Outcome {
    if status == Some(wanted) && text.contains(holds) {
        return Ok(());
    }
    let end: String = text.chars().rev().take(4000).collect::<Vec<_>>().into_iter().rev().collect();
    Err(format!("Inspector ({era}), {what}: status {status:?} instead of {wanted}, or no {holds} in:\n{end}"))
}

/// The Python client.
pub(super) fn python(tools: &Tools, endpoint: &str, token: &str) -> Outcome {
    let script = workspace::root().join("tests/mcp/client.py");
    step::run("Python client", tools.python().arg(script).arg(endpoint).env("PINHOLE_TOKEN", token))
}

/// Runs to the end: the status and everything that was printed.
pub(super) fn run(command: &mut Command) -> Outcome<(Option<i32>, String)> {
    let output = command.output().map_err(|e| format!("cannot run {}: {e}", step::line(command)))?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((output.status.code(), text.concat()))
}
