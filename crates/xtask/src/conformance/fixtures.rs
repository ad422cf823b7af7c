//! The protocol's conformance tests on a server of fixtures behind the layers of the real endpoint: what a real server
//! has no tools for.
//!
//! `tests/mcp/not-offered.json` lists what fails on purpose, with the reason. A failure that is not there is an error, and
//! so is a line there that nothing fails by any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde::Deserialize;

use super::{Proxy, clients, tools::Tools};
use crate::{Outcome, step, workspace};

/// The test that is the server where the variable is set, and what it prints before its address and between that and its
/// token.
const SERVER: &str = "mcp::fixtures::fixtures_are_served_until_the_end_of_input";
const SERVE: &str = "PINHOLE_FIXTURES";
const BEFORE_ADDRESS: &str = "fixtures at ";
const BEFORE_TOKEN: &str = " for ";
/// What is not offered on purpose.
const NOT_OFFERED: &str = "tests/mcp/not-offered.json";
/// Length of the time in the name of a scenario's results, with the hyphen before it.
const TIME: usize = "-2026-07-28T00-00-00-000Z".len();

/// One run of the conformance tests: a version of them, and the revision of the protocol that they speak.
struct Run {
    program: &'static str,
    arguments: [&'static str; 2],
    revision: &'static str,
}

const RUNS: [Run; 3] = [
    Run { program: clients::OLD_CONFORMANCE, arguments: ["--suite", "all"], revision: "2025-11-25" },
    Run { program: clients::CONFORMANCE, arguments: ["--requirements", "2025-11-25"], revision: "2025-11-25" },
    Run { program: clients::CONFORMANCE, arguments: ["--requirements", "2026-07-28"], revision: "2026-07-28" },
];

/// Scenarios that fail on purpose.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotOffered {
    scenarios: Vec<String>,
    /// In this revision of the protocol; without it in each that has them.
    revision: Option<String>,
    /// The checks that fail where the others hold.
    checks: Option<BTreeSet<String>>,
    /// Why they fail.
    reason: String,
}

/// The part of a check's result that we read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    error_message: Option<String>,
}

/// The checks that failed, with what they say, by scenario; those of which none failed too.
type Failed = BTreeMap<String, BTreeMap<String, String>>;

/// Runs all of them on a server that is a test of `pinhole-server`.
pub(super) fn check(tools: &Tools, work: &Path) -> Outcome {
    let server = Server::start(&program()?)?;
    let proxy = Proxy::start(tools, &server.base, &server.token)?;
    let (list, mut seen) = (not_offered()?, BTreeSet::new());
    for (number, run) in RUNS.iter().enumerate() {
        step::step(&format!("fixtures: {} with {}", run.program, run.revision), || {
            let failed = failures(tools, &work.join(format!("fixtures-{number}")), &proxy.base, run)?;
            let wrong: Vec<_> = judge(&list, run, &failed).collect();
            let passed = failed.values().filter(|checks| checks.is_empty()).count();
            println!("    {passed} scenarios passed, {} are not offered", failed.len() - passed);
            seen.extend(failed.into_keys());
            if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
        })?;
    }
    match list.iter().flat_map(|line| &line.scenarios).find(|scenario| !seen.contains(*scenario)) {
        Some(scenario) => Err(format!("{NOT_OFFERED} lists {scenario}, which no run has")),
        None => Ok(()),
    }
}

/// Everything that is not as the list says.
fn judge<'a>(list: &'a [NotOffered], run: &'a Run, failed: &'a Failed) -> impl Iterator<Item = String> + 'a {
    failed.iter().filter_map(move |(scenario, checks)| {
        let of_this_run = |line: &&NotOffered| {
            line.scenarios.contains(scenario)
                && line.revision.as_deref().is_none_or(|revision| revision == run.revision)
        };
        let found: BTreeSet<_> = checks.keys().cloned().collect();
        match list.iter().find(of_this_run) {
            None if checks.is_empty() => None,
            None => Some(format!("{scenario} failed: {checks:#?}")),
            Some(line) if checks.is_empty() => Some(format!("{scenario} passed, but is listed: {}", line.reason)),
            Some(line) if line.checks.as_ref().is_none_or(|listed| *listed == found) => None,
            Some(_) => Some(format!("{scenario} failed in other checks than are listed: {checks:#?}")),
        }
    })
}

/// Runs the tests; what failed of each scenario.
fn failures(tools: &Tools, folder: &Path, base: &str, run: &Run) -> Outcome<Failed> {
    let mut command = tools.script(run.program);
    command.args(["server", "--url", &format!("{base}/mcp")]).args(run.arguments).arg("--output-dir").arg(folder);
    let (_, text) = clients::run(&mut command)?;
    // It comes last; without it something ended the tests early.
    if !text.contains("=== SUMMARY ===") {
        return Err(format!("{} did not end well:\n{text}", step::line(&command)));
    }
    let unreadable = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let mut failed = Failed::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let scenario = name.strip_prefix("server-").and_then(|name| name.get(..name.len().saturating_sub(TIME)));
        let scenario = scenario.ok_or_else(|| format!("{}: no result of a scenario", path.display()))?;
        failed.insert(scenario.to_owned(), failed_checks(&path.join("checks.json"))?);
    }
    Ok(failed)
}

/// What does not hold; a warning is as good as a failure.
fn failed_checks(file: &Path) -> Outcome<BTreeMap<String, String>> {
    let checks: Vec<Check> = json(file)?;
    let failed = checks.into_iter().filter(|check| matches!(check.status.as_str(), "FAILURE" | "WARNING"));
    Ok(failed.map(|check| (check.id, check.error_message.unwrap_or_default())).collect())
}

fn not_offered() -> Outcome<Vec<NotOffered>> {
    json(&workspace::root().join(NOT_OFFERED))
}

fn json<T: serde::de::DeserializeOwned>(file: &Path) -> Outcome<T> {
    let bytes = fs::read(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", file.display()))
}

/// The server crate's own tests, built with the features of the whole workspace like everything else.
fn program() -> Outcome<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Target,
        profile: Profile,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let mut command = workspace::cargo();
    command.args(["test", "--no-run", "--workspace", "--lib", "--message-format=json"]);
    let lines = step::step(&step::line(&command), || step::output(&mut command))?;
    let artifacts = lines.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    let mut tests = artifacts.filter(|artifact| artifact.profile.test && artifact.target.name == "pinhole_server");
    tests.find_map(|artifact| artifact.executable).ok_or_else(|| "Cargo built no tests of pinhole-server".into())
}

/// The server of fixtures. It ends with its input, which we hold.
struct Server {
    child: Child,
    base: String,
    token: String,
    /// It would fail to print more to nobody.
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(program: &Path) -> Outcome<Self> {
        let mut command = Command::new(program);
        command.args([SERVER, "--exact", "--nocapture"]).env(SERVE, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("cannot run {}: {e}", step::line(&command)))?;
        let stdout = child.stdout.take().ok_or("the server of fixtures has no output")?;
        let mut server = Self { child, base: String::new(), token: String::new(), output: BufReader::new(stdout) };
        let mut line = String::new();
        while server.output.read_line(&mut line).is_ok_and(|read| read > 0) {
            let found = line.split_once(BEFORE_ADDRESS).and_then(|(_, rest)| rest.trim().split_once(BEFORE_TOKEN));
            if let Some((base, token)) = found {
                (server.base, server.token) = (base.to_owned(), token.to_owned());
                return Ok(server);
            }
            line.clear();
        }
        Err(format!("{} did not start", step::line(&command)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _reaped = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(list: &str, failed: &[(&str, &[&str])]) -> Vec<String> {
        let list: Vec<NotOffered> = serde_json::from_str(list).unwrap();
        let checks = |ids: &[&str]| ids.iter().map(|id| ((*id).to_owned(), String::new())).collect();
        let failed: Failed = failed.iter().map(|(name, ids)| ((*name).to_owned(), checks(ids))).collect();
        judge(&list, &RUNS[0], &failed).collect()
    }

    #[test]
    fn what_the_list_says_is_what_has_to_fail() {
        let list = r#"[
            { "scenarios": ["a", "e"], "reason": "not offered" },
            { "scenarios": ["b"], "checks": ["b1"], "reason": "not offered" },
            { "scenarios": ["c"], "revision": "2026-07-28", "reason": "not offered" }
        ]"#;
        assert!(judged(list, &[("a", &["a1"]), ("b", &["b1"]), ("c", &[]), ("d", &[])]).is_empty());
        for (scenario, checks) in [("a", &[][..]), ("b", &["b1", "b2"]), ("b", &["b2"]), ("c", &["c1"]), ("d", &["d1"])]
        {
            let wrong = judged(list, &[(scenario, checks)]);
            assert!(wrong.len() == 1 && wrong[0].starts_with(scenario), "{scenario} {checks:?}: {wrong:?}");
        }
    }

    #[test]
    fn the_committed_list_can_be_read_and_says_why() {
        let list = not_offered().unwrap();
        assert!(list.iter().all(|line| !line.reason.is_empty()));
    }
}
