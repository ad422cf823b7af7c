//! `pinhole serve` as a process of its own on a fresh data directory, and the proof that it leaves nothing behind.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use pinhole_testkit::{Database, Engine, free_port, wait_for};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use super::{
    Answer, Client, Finished, children,
    command::{ended, pinhole},
    command_line, descendants,
    processes::{self, Process},
};

/// How long a server may take until it is ready.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end after SIGTERM; a worker alone has 15 s.
const STOP: Duration = Duration::from_secs(30);
/// How long what it started may take to be gone after it has ended.
const AFTERMATH: Duration = Duration::from_secs(10);
/// The password that everybody gets who signs in.
pub(crate) const PASSWORD: &str = "seventeen-sparrows";
/// The media type of a form.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
/// How much of a log is shown when a test fails, in lines.
const LOG_LINES: usize = 60;

/// What kind of server a test wants.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Its database.
    pub(crate) engine: Engine,
    /// Its capture worker processes.
    pub(crate) capture_processes: u32,
    /// More of the configuration, as TOML.
    pub(crate) configuration: String,
    /// Environment variables of the server, which its workers must not inherit.
    pub(crate) env: Vec<(String, String)>,
}

/// A running server. Dropping it stops it and asserts that nothing of it is left.
#[derive(Debug)]
pub(crate) struct Server {
    setup: Setup,
    child: Option<Child>,
    /// The same after a restart, unless another program has taken it.
    port: u16,
    /// The users that its browsers ran under.
    browser_uids: BTreeSet<u32>,
    /// Holds the configuration, the log and the data directory.
    directory: TempDir,
    database: Option<Database>,
    /// Every process of this server that was ever looked at.
    seen: BTreeSet<Process>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { engine: Engine::Sqlite, capture_processes: 1, configuration: String::new(), env: Vec::new() }
    }
}

impl Server {
    /// Starts a server with `setup` and waits until it is ready.
    pub(crate) async fn start(setup: Setup) -> Self {
        let directory = TempDir::with_prefix("pinhole-e2e-").unwrap();
        let database = (setup.engine == Engine::Postgres).then(Database::postgres);
        let mut server = Self {
            setup,
            child: None,
            port: 0,
            browser_uids: BTreeSet::new(),
            directory,
            database,
            seen: BTreeSet::new(),
        };
        server.run().await;
        server
    }

    /// Starts it again on the same data, after [`Server::stop`] or [`Server::kill`].
    pub(crate) async fn run(&mut self) {
        assert!(self.child.is_none(), "the server is running");
        for _ in 0..3 {
            if self.port == 0 {
                self.port = free_port();
            }
            if self.try_run().await {
                self.look_around();
                return;
            }
            self.port = 0;
        }
        panic!("the server did not start\n{}", self.log_tail());
    }

    /// One start; false when it ended by itself, for instance since another process took the port in between.
    async fn try_run(&mut self) -> bool {
        self.browser_uids.insert(self.browser_uid());
        self.write_configuration();
        let log = File::options().append(true).create(true).open(self.log()).unwrap();
        let mut command = self.command("serve");
        command.arg("--migrate").stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        self.child = Some(command.spawn().unwrap());
        let anybody = self.client(None);
        let ready = wait_for(START, "the server answers /readyz, or ends", async || {
            if self.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                return Some(false);
            }
            let answer = anybody.request(reqwest::Method::GET, "/readyz").send().await;
            answer.is_ok_and(|answer| answer.status() == 200).then_some(true)
        })
        .await;
        if !ready {
            self.child = None;
        }
        ready
    }

    /// The browser's uid is the port: no other server has the same at the same time, so that whatever is owned by this
    /// uid belongs to this server.
    fn write_configuration(&self) {
        let mut text = format!("listen = '127.0.0.1:{}'\ndata_dir = '{}'\n", self.port, self.data_dir().display());
        write!(text, "[capture]\nprocesses = {}\n", self.setup.capture_processes).unwrap();
        write!(text, "[browser]\nuid = {}\n", self.port).unwrap();
        let repository = self.repository().display().to_string();
        write!(text, "[[remotes]]\nslug = 'local'\nurl = '{repository}'\nbranches = ['main']\n").unwrap();
        text.push_str(&self.setup.configuration);
        fs::write(self.configuration(), text).unwrap();
    }

    /// A command of the program on this installation.
    pub(crate) fn command(&self, name: &str) -> Command {
        self.command_of(&[name])
    }

    /// The same for a command with a subcommand, such as `token create`.
    pub(crate) fn command_of(&self, words: &[&str]) -> Command {
        let mut command = pinhole();
        command.args(words).arg("--config").arg(self.configuration());
        if let Some(database) = &self.database {
            command.env("PINHOLE_DATABASE_URL", database.url());
        }
        command.envs(self.setup.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A token of the user `name`, made by the real command; `options` such as `--admin`.
    pub(crate) fn token(&self, name: &str, options: &[&str]) -> String {
        let mut command = self.command_of(&["token", "create"]);
        Finished::of(command.args(["--name", name]).args(options)).expect(0).trim().to_owned()
    }

    /// The path of a sign-in link for the user `name`, made by the real command.
    pub(crate) fn sign_in_link(&self, name: &str) -> String {
        let printed = Finished::of(self.command_of(&["admin", "reset"]).arg(name)).expect(0).trim().to_owned();
        printed.split_once("/sign-in/").map(|(_, rest)| format!("/sign-in/{rest}")).expect("a sign-in link")
    }

    /// The cookie of a new session of the user `name`, whose password it sets.
    pub(crate) async fn sign_in(&self, name: &str) -> String {
        self.use_sign_in_link(&self.sign_in_link(name)).await
    }

    /// The cookie of the session that a sign-in link begins.
    pub(crate) async fn use_sign_in_link(&self, path: &str) -> String {
        let link = self.client(None).request(reqwest::Method::POST, path);
        let form = link.header("Sec-Fetch-Site", "same-origin").header("Content-Type", FORM);
        let answer = Answer::of(form.body(format!("password={PASSWORD}"))).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        answer.header("set-cookie").split(';').next().unwrap().to_owned()
    }

    /// A decision ticket of the user `name` for an approval or for receipts, separated by commas.
    pub(crate) fn ticket(&self, name: &str, object: &str, outcome: &str, reason: &str) -> String {
        self.token(name, &["--ticket", object, "--outcome", outcome, "--reason", reason])
    }

    /// Gives a principal a role in a project.
    pub(crate) fn grant(&self, name: &str, role: &str, project: &str) {
        let mut command = self.command_of(&["token", "grant"]);
        Finished::of(command.args(["--name", name, "--role", role, "--project", project])).expect(0);
    }

    /// The address of a path.
    pub(crate) fn at(&self, path: &str) -> reqwest::Url {
        self.url().join(path).unwrap()
    }

    /// Its address.
    pub(crate) fn url(&self) -> reqwest::Url {
        format!("http://127.0.0.1:{}/", self.port).parse().unwrap()
    }

    /// A client with this token.
    pub(crate) fn client(&self, token: Option<&str>) -> Client {
        Client::new(&format!("http://127.0.0.1:{}", self.port), token)
    }

    /// The server's own process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server is running").id()
    }

    /// The user that its browsers run under when the tests are root.
    pub(crate) fn browser_uid(&self) -> u32 {
        u32::from(self.port)
    }

    /// Its worker processes.
    pub(crate) fn workers(&mut self) -> Vec<u32> {
        self.look_around();
        children(self.pid()).into_iter().filter(|pid| command_line(*pid).contains(" worker capture")).collect()
    }

    /// The main processes of its workers' browsers.
    pub(crate) fn browsers(&mut self) -> Vec<u32> {
        let of_workers = self.workers().into_iter().flat_map(children);
        of_workers.filter(|pid| command_line(*pid).contains("--user-data-dir=")).collect()
    }

    /// Where it keeps everything.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Where the repository of its remote `local` belongs, whose branch `main` may be published to. Nobody makes it.
    pub(crate) fn repository(&self) -> PathBuf {
        self.directory.path().join("catalog.git")
    }

    /// The address of its database, when that is not in the data directory.
    pub(crate) fn database_url(&self) -> Option<&str> {
        self.database.as_ref().map(Database::url)
    }

    /// Everything that it wrote to its log so far, over all of its starts.
    pub(crate) fn log_text(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log()).unwrap_or_default()).into_owned()
    }

    /// Ends it as a supervisor does, and asserts that nothing of it is left.
    pub(crate) fn stop(&mut self) {
        self.look_around();
        let Some(mut child) = self.child.take() else { return };
        signal(&child, Signal::TERM);
        let status = ended(&mut child, STOP);
        if status.is_none() {
            signal(&child, Signal::KILL);
            child.wait().unwrap();
        }
        let left = self.leftovers();
        self.clear();
        assert!(status.is_some(), "the server did not end within {STOP:?} of SIGTERM\n{}", self.log_tail());
        assert!(status.unwrap().success(), "the server ended with {status:?}\n{}", self.log_tail());
        assert!(left.is_empty(), "left behind: {left:?}\n{}", self.log_tail());
    }

    /// Ends it as a power cut does. Its workers see the end of their input; [`Server::run`] starts it again.
    pub(crate) fn kill(&mut self) {
        self.look_around();
        let mut child = self.child.take().expect("the server is running");
        signal(&child, Signal::KILL);
        child.wait().unwrap();
    }

    /// Remembers the processes there are, so that they can be missed later.
    fn look_around(&mut self) {
        if let Some(child) = &self.child {
            let family = [child.id()].into_iter().chain(descendants(child.id()));
            self.seen.extend(family.filter_map(Process::of));
        }
    }

    /// What is still there after some time to go.
    fn leftovers(&self) -> Vec<String> {
        let started = Instant::now();
        loop {
            let left = self.remains();
            if left.is_empty() || started.elapsed() > AFTERMATH {
                return left;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn remains(&self) -> Vec<String> {
        let tell = |pid: u32| format!("process {pid}: {}", command_line(pid));
        let alive = self.alive().into_iter().map(tell);
        alive.chain(self.browser_directories().iter().map(|path| path.display().to_string())).collect()
    }

    fn alive(&self) -> BTreeSet<u32> {
        let seen = self.seen.iter().filter(|process| process.is_alive()).map(|process| process.pid);
        seen.chain(self.browser_uids.iter().flat_map(|uid| processes::of_user(*uid))).collect()
    }

    /// The directories that its browsers have now.
    pub(crate) fn browser_directories(&self) -> Vec<PathBuf> {
        self.browser_uids.iter().flat_map(|uid| processes::browser_directories(*uid)).collect()
    }

    /// Removes what should not be there any more, so that one failure does not spoil other tests.
    fn clear(&self) {
        for pid in self.alive() {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            pid.map(|pid| rustix::process::kill_process(pid, Signal::KILL));
        }
        for directory in self.browser_directories() {
            fs::remove_dir_all(directory).ok();
        }
    }

    fn configuration(&self) -> PathBuf {
        self.directory.path().join("pinhole.toml")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn log_tail(&self) -> String {
        let text = self.log_text();
        let lines: Vec<&str> = text.lines().collect();
        format!("its log:\n{}", lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop();
            return;
        }
        // The test has failed already: show why it may have, and clean up without a second failure.
        eprintln!("{}", self.log_tail());
        self.look_around();
        if let Some(mut child) = self.child.take() {
            signal(&child, Signal::TERM);
            if ended(&mut child, STOP).is_none() {
                signal(&child, Signal::KILL);
                child.wait().ok();
            }
        }
        self.clear();
    }
}

fn signal(child: &Child, signal: Signal) {
    rustix::process::kill_process(Pid::from_child(child), signal).ok();
}
