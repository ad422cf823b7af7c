//! One private PostgreSQL cluster per test process, from the installed binaries.
//!
//! It has to start fast, since a test runner may give each test a process of its own, and to vanish whatever becomes
//! of the process: `initdb` runs once into a template under Cargo's target directory, a start is a copy of that; and a
//! small shell script owns the server, waits for the end of a pipe that only this process holds, then stops the server
//! and removes its files. It must not touch a PostgreSQL service of the machine: it speaks over a socket in its own
//! directory and listens on no port.

use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Output, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long the server has to come up on a machine that is busy with other tests.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// The superuser of the cluster. Only those who can reach the socket's directory can connect.
const USER: &str = "pinhole";

/// Owns the server. Its arguments are the directory to remove and then the server's command line; its standard input is
/// the pipe. The server's end, wished or not, ends it too.
const WATCHDOG: &str = r#"
directory=$1
shift
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
trap '' HUP INT TERM
{ while read -r _ <&3; do :; done; kill -QUIT "$server"; } &
reader=$!
wait "$server"
kill -KILL "$reader"
rm -rf "$directory"
"#;

/// A running server. There is one per process and nothing stops it but the end of the process.
#[derive(Debug)]
pub(crate) struct Cluster {
    binaries: PathBuf,
    /// Data, log and socket.
    directory: PathBuf,
    databases: AtomicU32,
    /// The watchdog's standard input: closed by the kernel when this process ends, in whatever way.
    _pipe: ChildStdin,
}

impl Cluster {
    /// The cluster of this process, started now if it is not yet.
    pub(crate) fn of_this_process() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(Self::start)
    }

    /// The address of database `name`. The socket's directory is in the query, where libpq and sqlx both look for it.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("postgres://{USER}@localhost/{name}?host={}", self.directory.display())
    }

    /// Creates an empty database and returns its name.
    pub(crate) fn create_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.execute(&format!("create database {name}")).unwrap_or_else(|message| panic!("{message}"));
        name
    }

    /// Removes a database together with the connections that are still open on it. A failure is only told: it must
    /// not hide that of the test, and the whole cluster goes soon anyway.
    pub(crate) fn drop_database(&self, name: &str) {
        if let Err(message) = self.execute(&format!("drop database if exists {name} with (force)")) {
            eprintln!("{message}");
        }
    }

    fn execute(&self, statement: &str) -> Result<(), String> {
        let mut psql = Command::new(self.binaries.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--command", statement, &self.url("postgres")]);
        let output = psql.stdin(Stdio::null()).output().map_err(|e| format!("cannot run {psql:?}: {e}"))?;
        if output.status.success() { Ok(()) } else { Err(failure(&psql, &output)) }
    }

    fn start() -> Self {
        let binaries = find_binaries();
        let owner = Owner::of_servers();
        let directory = TempDir::with_prefix("pinhole-postgres-").expect("the temporary directory is writable");
        owner.give(directory.path());
        let data = directory.path().join("data");
        run(Command::new("cp").args(["-a", "--reflink=auto"]).arg(template(&binaries, &owner)).arg(&data));
        let log = File::options().read(true).append(true).create(true).open(directory.path().join("log"));
        let log = log.expect("a new directory is writable");

        // From here on the watchdog removes it.
        let directory = directory.keep();
        let mut watchdog = watch(&owner.command(&binaries.join("postgres")), &directory, &log);
        let pipe = watchdog.stdin.take().expect("the standard input was asked for");
        let cluster = Self { binaries, directory, databases: AtomicU32::new(0), _pipe: pipe };
        cluster.wait_until_ready(&mut watchdog, log);
        cluster
    }

    /// The server writes its state on the eighth line of its lock file, where `pg_ctl --wait` reads it too.
    fn wait_until_ready(&self, watchdog: &mut Child, mut log: File) {
        let lock = self.directory.join("data/postmaster.pid");
        let started = Instant::now();
        let ready = || fs::read_to_string(&lock).is_ok_and(|text| text.lines().nth(7).map(str::trim) == Some("ready"));
        while !ready() {
            let ended = watchdog.try_wait().expect("the watchdog is our child").is_some();
            if ended || started.elapsed() > START_DEADLINE {
                // Through the open handle, since an ended watchdog has removed the file.
                let mut text = String::new();
                log.seek(SeekFrom::Start(0)).and_then(|_| log.read_to_string(&mut text)).ok();
                panic!("PostgreSQL did not come up within {START_DEADLINE:?}; its log:\n{text}");
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Starts the watchdog and, under it, the server.
fn watch(server: &Command, directory: &Path, log: &File) -> Child {
    let log = || log.try_clone().expect("a file handle can be duplicated");
    let mut watchdog = Command::new("sh");
    watchdog.args(["-c", WATCHDOG, "pinhole-postgres-watchdog"]).arg(directory);
    watchdog.arg(server.get_program()).args(server.get_args());
    watchdog.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    // No port, and no durability: the data dies with the process anyway.
    for setting in [
        "listen_addresses=",
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "autovacuum=off",
        "shared_buffers=16MB",
    ] {
        watchdog.args(["-c", setting]);
    }
    // A group of its own, so that what ends the test's group (a terminal, a runner's time limit) spares the clean-up;
    // and its own output, since a runner waits for everybody who holds the test's.
    watchdog.process_group(0).current_dir("/").stdin(Stdio::piped()).stdout(log()).stderr(log());
    watchdog.spawn().unwrap_or_else(|e| panic!("cannot run {watchdog:?}: {e}"))
}

/// Where the server's binaries are: on PATH, else where Debian keeps them, the newest version first.
fn find_binaries() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut versions: Vec<PathBuf> =
        fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    let debian = versions.into_iter().rev().map(|version| version.join("bin"));
    std::env::split_paths(&path)
        .chain(debian)
        .find(|directory| ["initdb", "postgres", "psql"].iter().all(|name| directory.join(name).is_file()))
        .unwrap_or_else(|| {
            panic!("no PostgreSQL server on PATH or in /usr/lib/postgresql; install it: apt-get install postgresql")
        })
}

/// A cluster fresh from `initdb`, made once per version and user, to be copied.
fn template(binaries: &Path, owner: &Owner) -> PathBuf {
    let cache = cache_directory();
    let version = run(Command::new(binaries.join("initdb")).arg("--version"));
    let version: String =
        version.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let template = cache.join(format!("{}-{}", version.trim_matches('-'), owner.uid));
    // Two processes may come here at the same time; the second finds the first one's work.
    let lock = File::create(cache.join("lock")).expect("the target directory is writable");
    lock.lock().expect("the file system supports locks");
    if !template.exists() {
        let unfinished = template.with_extension("unfinished");
        fs::remove_dir_all(&unfinished).ok();
        // The server's user may be unable to enter the target directory, so the work is done elsewhere.
        let scratch = TempDir::with_prefix("pinhole-initdb-").expect("the temporary directory is writable");
        owner.give(scratch.path());
        let data = scratch.path().join("data");
        // Names sort by bytes, as in SQLite. Small log segments make a small copy.
        let mut initdb = owner.command(&binaries.join("initdb"));
        initdb.args(["--username", USER, "--auth=trust", "--encoding=UTF8", "--locale=C"]);
        run(initdb.args(["--no-sync", "--wal-segsize=1", "-D"]).arg(&data));
        run(Command::new("cp").arg("-a").arg(&data).arg(&unfinished));
        fs::rename(&unfinished, &template).expect("a directory can be renamed in place");
    }
    template
}

/// A directory under the target directory of the running test, which Cargo marks with a tag file.
fn cache_directory() -> PathBuf {
    let executable = std::env::current_exe().expect("the system tells which program runs");
    let target = executable.ancestors().find(|path| path.join("CACHEDIR.TAG").is_file());
    let cache = target.map_or_else(std::env::temp_dir, Path::to_path_buf).join("pinhole-testkit");
    fs::create_dir_all(&cache).unwrap_or_else(|e| panic!("cannot create {}: {e}", cache.display()));
    cache
}

/// Who runs the server: ourselves, or the user `postgres` when we are root, whom PostgreSQL refuses.
#[derive(Debug)]
struct Owner {
    uid: u32,
    gid: u32,
    switch: bool,
}

impl Owner {
    fn of_servers() -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if uid != 0 {
            return Self { uid, gid, switch: false };
        }
        let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd is readable");
        let ids = users.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next() == Some("postgres")).then(|| {
                let mut number = |skip| fields.nth(skip)?.parse::<u32>().ok();
                Some((number(1)?, number(0)?))
            })?
        });
        match ids {
            Some((uid, gid)) => Self { uid, gid, switch: true },
            _ => panic!("PostgreSQL refuses to run as root and there is no user postgres; apt-get install postgresql"),
        }
    }

    /// A command that runs `program` as this user.
    fn command(&self, program: &Path) -> Command {
        if !self.switch {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={}", self.uid)).arg(format!("--regid={}", self.gid)).arg("--clear-groups");
        command.arg(program);
        command
    }

    /// Makes a directory this user's and nobody else's.
    fn give(&self, directory: &Path) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).expect("a new directory is ours");
        std::os::unix::fs::chown(directory, Some(self.uid), Some(self.gid))
            .unwrap_or_else(|e| panic!("cannot give {} to user {}: {e}", directory.display(), self.uid));
    }
}

/// Runs a command to its end and returns what it printed; panics with its output when it fails.
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).current_dir("/").output();
    let output = output.unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    assert!(output.status.success(), "{}", failure(command, &output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn failure(command: &Command, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    format!("{command:?} failed ({}):\n{text}", output.status)
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use super::*;
    use crate::{Database, wait_until};

    fn psql(url: &str, statement: &str) -> (ExitStatus, String) {
        let mut psql = Command::new(find_binaries().join("psql"));
        let output = psql.args(["--no-psqlrc", "-tAc", statement, url]).output().unwrap();
        (output.status, String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    #[test]
    fn databases_are_separate_and_dropped() {
        let (one, two) = (Database::postgres(), Database::postgres());
        assert!(psql(one.url(), "create table t (n int)").0.success());
        assert_eq!(psql(two.url(), "select to_regclass('t') is null").1, "t");
        let gone = one.url().to_owned();
        drop(one);
        assert!(!psql(&gone, "select 1").0.success());
        assert_eq!(psql(two.url(), "show fsync").1, "off");
    }

    /// The test runs itself in a child process that is killed in the middle.
    #[tokio::test]
    async fn the_cluster_ends_with_a_process_that_is_killed() {
        const CHILD: &str = "PINHOLE_TESTKIT_CHILD";
        if let Some(report) = std::env::var_os(CHILD) {
            let database = Database::postgres();
            fs::write(report, database.url()).unwrap();
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
        let scratch = TempDir::new().unwrap();
        let report = scratch.path().join("url");
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "postgres::tests::the_cluster_ends_with_a_process_that_is_killed"]);
        let status = child.env(CHILD, &report).stdout(Stdio::null()).status().unwrap();
        assert!(!status.success());
        let url = fs::read_to_string(&report).unwrap();
        let directory = PathBuf::from(url.split_once("?host=").unwrap().1);
        wait_until(Duration::from_secs(30), "the cluster's directory to be removed", async || !directory.exists())
            .await;
        assert!(!psql(&url, "select 1").0.success());
    }
}
