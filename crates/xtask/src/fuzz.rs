//! `cargo xtask fuzz`: schemathesis against the real server, as two owners who must not see each other's projects.
//!
//! It knows the OpenAPI document and nothing else: what it sends is made from the schemas, and every answer has to be one
//! that the document describes. A finding is an error.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use serde_json::json;

use crate::{
    Outcome,
    bench::{api::Api, server::Server},
    conformance::Work,
    packages, step, workspace,
};

/// The two owners, each of a project of the same name.
const OWNERS: [&str; 2] = ["alice", "bob"];

#[derive(Args)]
pub(crate) struct Fuzz {
    /// How many inputs are made for each operation and kind of test.
    #[arg(long, default_value_t = 4)]
    examples: u32,
    /// Install missing system packages (as root).
    #[arg(long)]
    install: bool,
}

impl Fuzz {
    pub(crate) fn run(self) -> Outcome {
        packages::ensure(&packages::conformance().collect::<Vec<_>>(), self.install)?;
        step::run("build", workspace::cargo().args(["build", "--package", "pinhole"]))?;
        check(self.examples)
    }
}

/// Tries the built program with so many inputs for each operation and kind of test.
pub(crate) fn check(examples: u32) -> Outcome {
    let target = workspace::metadata()?.target_directory;
    let (pinhole, tools) = (target.join("debug/pinhole"), installed(&target.join("schemathesis"))?);
    let work = Work::make(&target.join(format!("fuzz-{}", std::process::id())))?;
    let server = Server::start(&pinhole, &work.0, 0)?;
    let configuration = configuration(&pinhole, &work.0, server.base())?;
    let mut command = Command::new(tools);
    command.arg("--config-file").arg(configuration).arg("run");
    command.arg(format!("{}/api/v1/openapi.json", server.base()));
    command.args(["--checks", "all", "--max-examples", &examples.to_string()]);
    step::run("schemathesis", command.current_dir(&work.0))
}

/// The program, installed among the build's own files as `tests/rest` pins it.
fn installed(folder: &Path) -> Outcome<PathBuf> {
    let program = folder.join("bin/schemathesis");
    let pins = workspace::root().join("tests/rest/requirements.txt");
    if !program.is_file() {
        step::run("Python environment", Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    // Does nothing when the pinned version is there.
    let mut pip = Command::new(folder.join("bin/pip"));
    step::run("Python packages", pip.args(["install", "--quiet", "-r"]).arg(pins))?;
    Ok(program)
}

/// Gives both owners a token and a project, and writes who they are for schemathesis.
fn configuration(pinhole: &Path, work: &Path, base: &str) -> Outcome<PathBuf> {
    let mut people = Vec::new();
    for name in OWNERS {
        let mut command = Command::new(pinhole);
        command.args(["token", "create", "--admin", "--name", name, "--data-dir"]).arg(work.join("data"));
        let token = step::output(&mut command)?.trim().to_owned();
        let project = json!({ "slug": format!("of-{name}"), "title": name });
        Api::new(base, &token).post("/projects", name, &project)?;
        let header = json!({ "name": "Authorization", "value": format!("Bearer {token}") });
        people.push(json!({ "name": name, "fixedHeaders": [header] }));
    }
    let people = json!({ "schemaVersion": "0.2.0", "auth": people });
    write(work.join("people.json"), &people.to_string())?;
    // The second list: a refusal of valid input is no finding where its object does not exist or its state forbids it.
    let text = "seed = 1\ncontinue-on-failure = true\n[auth.wfc]\npath = \"people.json\"\npeers = [\"alice\", \"bob\"]\n\
                [checks.positive_data_acceptance]\n\
                expected-statuses = [\"2xx\", \"3xx\", 401, 403, 404, 409, 410, 413, 422, 428, 429, 503]\n";
    write(work.join("schemathesis.toml"), text)
}

fn write(path: PathBuf, text: &str) -> Outcome<PathBuf> {
    fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(path)
}
