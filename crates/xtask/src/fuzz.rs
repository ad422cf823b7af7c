//! `cargo xtask fuzz`: schemathesis against the real server, as two owners who must not see each other's projects.
//!
//! It knows the OpenAPI document, and one real object of every kind in the project of either owner: what it sends is made
//! from the schemas and about those objects, and every answer has to be one that the document describes. A finding is an
//! error, and so is an operation that nothing was learnt about.

mod calls;
mod client;
mod ground;
mod site;
mod tally;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::{Outcome, bench::server::Server, conformance::Work, packages, step, workspace};
use calls::{Calls, ENDING, People};
use client::{Client, PASSWORD, described, text};
use ground::{Owner, REMOTE, SCENARIO};

/// Whose objects are whose: by these names the hooks know the owners.
const OWNERS: [&str; 2] = ["alice", "bob"];
/// How schemathesis tries them on an operation until one is let in. Nobody comes after the first by itself.
const CALLERS: [&str; 5] = ["alice", "alice-session", "root", "robot", "bob"];

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
        let needs = packages::DEMO.iter().chain(packages::conformance());
        packages::ensure(&needs.collect::<Vec<_>>(), self.install)?;
        step::run("build", workspace::cargo().args(["build", "--package", "pinhole"]))?;
        check(self.examples)
    }
}

/// Tries the built program with so many inputs for each operation and kind of test.
pub(crate) fn check(examples: u32) -> Outcome {
    let target = workspace::metadata()?.target_directory;
    let (pinhole, tools) = (target.join("debug/pinhole"), installed(&target.join("schemathesis"))?);
    let work = Work::make(&target.join(format!("fuzz-{}", std::process::id())))?;
    let installation = Installation { pinhole: &pinhole, work: &work.0 };
    let server = step::step("objects to call about", || installation.prepare())?;
    let mut command = Command::new(tools);
    command.arg("--config-file").arg(work.0.join("schemathesis.toml")).arg("run");
    command.arg(format!("{}/api/v1/openapi.json", server.base()));
    command.args(["--checks", "all", "--max-examples", &examples.to_string()]);
    command.env("SCHEMATHESIS_HOOKS", workspace::root().join("tests/rest/hooks.py"));
    command.env("PINHOLE_KNOWN", work.0.join("known.json")).env("PINHOLE_TALLY", work.0.join("tally"));
    let found = step::run("schemathesis", command.current_dir(&work.0));
    let told = step::step("what was learnt", || tally::judge(&work.0.join("tally")));
    found.and(told)
}

/// The program, installed among the build's own files as `tests/rest` pins it.
fn installed(folder: &Path) -> Outcome<PathBuf> {
    let pins = workspace::root().join("tests/rest/requirements.txt");
    let wanted = fs::read(&pins).map_err(|e| format!("cannot read {}: {e}", pins.display()))?;
    let stamp = folder.join("requirements.installed");
    // Asking pip takes as long as a good part of the tests.
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder.join("bin/schemathesis"));
    }
    step::run("Python environment", Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    step::run("Python packages", pip.args(["install", "--quiet", "-r"]).arg(pins))?;
    fs::write(&stamp, wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))?;
    Ok(folder.join("bin/schemathesis"))
}

/// What is called.
struct Installation<'a> {
    pinhole: &'a Path,
    work: &'a Path,
}

impl Installation<'_> {
    /// Fills it, and writes for schemathesis who may call and about what. The server that it gives captures nothing: runs
    /// that are started stay queued.
    fn prepare(&self) -> Outcome<Server> {
        let site = site::serve()?;
        let server = Server::start(self.pinhole, self.work, 1)?;
        let root = self.token(server.base(), "root", &["--admin"])?;
        let remote = json!({ "url": "https://127.0.0.1:9/catalog.git", "branches": ["main", "release/*"] });
        root.change("PUT", &format!("/remotes/{REMOTE}"), 0, &remote)?;
        let mut owners = Vec::new();
        for (name, scenarios) in OWNERS.into_iter().zip([&[SCENARIO, "claimed", "disposed"][..], &[SCENARIO]]) {
            let token = self.token(server.base(), name, &[])?;
            let session = Client::session(server.base(), self.pinhole, self.work, name)?;
            let clients = [token, session, root.moved_to(server.base())];
            owners.push(Owner::settle(name, clients, &site, scenarios)?);
        }
        drop(server);
        let server = Server::start(self.pinhole, self.work, 0)?;
        for owner in &mut owners {
            owner.token = owner.token.moved_to(server.base());
            owner.session = owner.session.moved_to(server.base());
        }
        let (known, callers) = self.known(server.base(), &mut owners, root.moved_to(server.base()), &site)?;
        write(&self.work.join("known.json"), &known.to_string())?;
        write(&self.work.join("people.json"), &json!({ "schemaVersion": "0.2.0", "auth": callers }).to_string())?;
        // The second list: a refusal of valid input is no finding where its object does not exist or its state forbids it.
        let text = "seed = 1\ncontinue-on-failure = true\n[auth.wfc]\npath = \"people.json\"\npeers = [\"alice\", \"bob\"]\n\
                    [checks.positive_data_acceptance]\n\
                    expected-statuses = [\"2xx\", \"3xx\", 401, 403, 404, 409, 410, 413, 422, 428, 429, 503]\n";
        write(&self.work.join("schemathesis.toml"), text)?;
        Ok(server)
    }

    /// What exists and how it is called about, and the callers in their order.
    fn known(&self, base: &str, owners: &mut [Owner], root: Client, site: &str) -> Outcome<(Value, Vec<Value>)> {
        let robot = self.token(base, "robot", &["--class", "service"])?;
        let robot_id = text(&robot.get("/me")?, "/id")?;
        let [alice, bob] = owners else { return Err("there are two owners".into()) };
        let grant = json!({ "project": alice.project, "subject": robot_id, "role": "operator" });
        root.call("PUT", "/admin/grants", &[], &grant)?;
        // Signing in anew by a link ends older sessions.
        alice.session = Client::session(base, self.pinhole, self.work, alice.name)?;
        let mut own = vec![json!(robot_id)];
        for client in [&alice.token, &bob.token, &root] {
            own.push(client.get("/me")?["id"].clone());
        }
        for (list, members) in [("/me/sessions", "sessions"), ("/me/tokens", "tokens")] {
            for item in alice.session.get(list)?[members].as_array().into_iter().flatten() {
                own.push(item["id"].clone());
            }
        }
        Client::nobody(base).call("POST", "/session", &[], &json!({ "name": alice.name, "password": PASSWORD }))?;
        let newest = text(&alice.session.get("/me/sessions")?, "/sessions/0/id")?;
        let people = People { session: newest, root };
        let calls = Calls::of(alice, bob, &people, site)?.0;
        let mut clients = Map::new();
        for (operation, person) in ENDING {
            self.token(base, person, &[])?;
            let session = Client::session(base, self.pinhole, self.work, person)?;
            clients.insert(person.into(), described(operation, &session)["fixedHeaders"].clone());
        }
        let callers = [&alice.token, &alice.session, &people.root, &robot, &bob.token];
        let callers: Vec<_> = CALLERS.iter().zip(callers).map(|(name, client)| described(name, client)).collect();
        for caller in &callers {
            clients.insert(text(caller, "/name")?, caller["fixedHeaders"].clone());
        }
        let known = json!({
            "known": { "alice": alice.known, "bob": bob.known }, "calls": calls, "callers": clients,
            "own": own, "ending": ENDING.into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        });
        Ok((known, callers))
    }

    /// Somebody new, with a token.
    fn token(&self, base: &str, name: &str, options: &[&str]) -> Outcome<Client> {
        let mut command = Command::new(self.pinhole);
        command.args(["token", "create", "--name", name]).args(options);
        command.arg("--data-dir").arg(self.work.join("data"));
        Ok(Client::bearer(base, step::output(&mut command)?.trim()))
    }
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
