//! How a server is set up and what its processes can see: who can read its files, where it listens, what its workers are
//! told, and how its browsers are contained.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use pinhole_testkit::{Behaviour, Database, Engine, Site, wait_for, wait_until};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{
    Finished, Project, Server, Setup, command_line, descendants, environment, has_ended, namespace, pinhole, status,
    uid,
};

/// How long something that a process does by itself may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const SCENARIO: &str = "\
schema: pinhole.scenario.v1
title: A page
steps:
  - navigate: /index.html
  - capture: { name: page }
";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn nobody_else_can_look_into_the_data() {
    let server = Server::start(Setup { capture_processes: 0, ..Setup::default() }).await;
    let data = server.data_dir();
    let directories: Vec<_> = entries(&data).into_iter().filter(|path| path.is_dir()).collect();
    assert!(directories.contains(&data.join("keys")), "{directories:?}");
    for directory in directories.iter().chain([&data]) {
        assert_eq!(mode(directory), 0o700, "{}", directory.display());
    }
    let keys = entries(&data.join("keys"));
    assert!(keys.len() >= 2, "{keys:?}");
    for key in keys {
        assert_eq!(mode(&key), 0o600, "{}", key.display());
    }
}

/// `serve` on a data directory in a temporary one, expected to end by itself with an error.
struct Refused {
    directory: TempDir,
}

impl Refused {
    fn new() -> Self {
        Self { directory: TempDir::with_prefix("pinhole-refused-").unwrap() }
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// What it says.
    fn serve(&self, options: &[&str]) -> String {
        let mut command = pinhole();
        command.args(["serve", "--data-dir"]).arg(self.data()).args(options);
        let finished = Finished::of(&mut command);
        finished.expect(2);
        finished.stderr
    }
}

#[test]
fn a_data_directory_that_others_can_read_is_refused() {
    let refused = Refused::new();
    fs::DirBuilder::new().mode(0o755).create(refused.data()).unwrap();
    fs::set_permissions(refused.data(), fs::Permissions::from_mode(0o755)).unwrap();
    let words = refused.serve(&["--listen", "127.0.0.1:0", "--migrate"]);
    let path = refused.data().display().to_string();
    assert!(words.contains(&path) && words.contains("chmod 700"), "{words}");
    assert!(entries(&refused.data()).is_empty(), "nothing was written");
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let refused = Refused::new();
        let words = refused.serve(&["--listen", address, "--migrate"]);
        assert!(words.contains(address) && words.contains("not a loopback address"), "{words}");
        assert!(!refused.data().exists(), "nothing was made");
    }
}

#[test]
fn a_database_without_a_schema_is_named_as_that() {
    for engine in Engine::ALL {
        let database = (engine == Engine::Postgres).then(Database::postgres);
        let mut options = vec!["--listen", "127.0.0.1:0"];
        options.extend(database.iter().flat_map(|database| ["--database-url", database.url()]));
        let refused = Refused::new();
        let words = refused.serve(&options);
        assert!(words.contains("schema version 0") && words.contains("pinhole serve --migrate"), "{engine:?}: {words}");
    }
}

/// The server has the database's address in its environment and a key in its memory; neither may reach a worker.
#[tokio::test]
async fn workers_are_told_no_secret_in_their_environment_or_arguments() {
    let secret = ("PINHOLE_E2E_SECRET".to_owned(), "swordfish".to_owned());
    let setup = Setup { engine: Engine::Postgres, capture_processes: 2, env: vec![secret], ..Setup::default() };
    let mut server = Server::start(setup).await;
    let site = Site::named("demo");
    let project = Project::prepare(&server, &site, SCENARIO).await;
    project.run("first", &json!({ "none": true })).await;
    let own = environment(server.pid());
    assert!(own.contains("swordfish") && own.contains(server.database_url().unwrap()), "the server has them: {own}");
    let workers = server.workers();
    assert_eq!(workers.len(), 2);
    for worker in workers {
        let words = environment(worker);
        assert!(words.starts_with("PATH=/") && !words.contains(' '), "only a search path: {words}");
        let line = command_line(worker);
        assert_eq!(line.split_once(' ').map(|(_, arguments)| arguments), Some("worker capture"), "{line}");
        let keys = server.data_dir().join("keys");
        let open = entries(Path::new(&format!("/proc/{worker}/fd")));
        let targets: Vec<_> = open.iter().filter_map(|link| fs::read_link(link).ok()).collect();
        assert!(!targets.is_empty() && targets.iter().all(|target| !target.starts_with(&keys)), "{targets:?}");
    }
}

/// Workers must not go on without their server, and what was recorded is there again.
#[tokio::test]
async fn a_server_that_was_killed_takes_its_workers_along_and_starts_again() {
    let mut server = Server::start(Setup::default()).await;
    let site = Site::named("demo");
    let project = Project::prepare(&server, &site, SCENARIO).await;
    let first = project.run("first", &json!({ "none": true })).await;
    let workers = server.workers();
    assert_eq!(workers.len(), 1);
    server.kill();
    wait_until(PATIENCE, "the worker ends", async || workers.iter().all(|pid| has_ended(*pid))).await;
    server.run().await;
    assert_eq!(project.result(first["run_id"].as_str().unwrap()).await, first);
    let second = project.run("second", &json!({ "receipt": "previous" })).await;
    assert_eq!(second["checkpoints"][0]["verdict"], "matched", "{second:#}");
}

#[tokio::test]
async fn a_browser_is_contained_while_a_page_is_open() {
    let mut server = Server::start(Setup::default()).await;
    let site = Site::named("demo");
    let project = Project::prepare(&server, &site, SCENARIO).await;
    // The document is shown and goes on loading, so that its renderer stays.
    site.set_behaviour("/style.css", Behaviour::Silent);
    project.start("first", &json!({ "none": true })).await;
    let (browser, renderers) = wait_for(PATIENCE, "a renderer has the page", async || {
        let browser = *server.browsers().first()?;
        let is_renderer = |pid: &u32| command_line(*pid).contains("--type=renderer");
        let renderers: Vec<u32> = descendants(browser).into_iter().filter(is_renderer).collect();
        (site.hits("/style.css") > 0 && !renderers.is_empty()).then_some((browser, renderers))
    })
    .await;
    let directories = server.browser_directories();
    assert_eq!(directories.iter().map(|path| mode(path)).collect::<Vec<_>>(), [0o700], "{directories:?}");
    let family: Vec<u32> = [browser].into_iter().chain(descendants(browser)).collect();
    let owner = if uid(std::process::id()) == Some(0) { server.browser_uid() } else { uid(server.pid()).unwrap() };
    for pid in family {
        assert_eq!(uid(pid), Some(owner), "{}", command_line(pid));
        assert_eq!(status(pid, "NoNewPrivs").as_deref(), Some("1"), "{}", command_line(pid));
    }
    let ours = namespace(server.pid(), "user");
    for renderer in renderers {
        assert_eq!(status(renderer, "Seccomp").as_deref(), Some("2"));
        assert_ne!(namespace(renderer, "user"), ours);
    }
    let words = environment(browser);
    assert!(!words.contains("PINHOLE") && !words.contains("data_dir"), "{words}");
    // The page is still open: ending the server ends the browser too, which `stop` asserts.
    server.stop();
}
