//! Many publications, one after the other, while workers are killed at any moment, the network to the remote breaks and
//! comes back, and a person pushes in between. At most one commit for each publication, nobody's commit lost, nothing
//! called published that the branch does not hold, and nearly everything published in the end.
//!
//! `PINHOLE_SEED` repeats the choices of a run; which moment of a worker they meet is chance.

use std::{
    io::{self, Read as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use pinhole_app::Settings;
use pinhole_core::PublicationId;
use pinhole_receipt::{read_tree, verify_catalog};
use pinhole_runtime::{Config, Installation, sweeper};
use pinhole_testkit::{Engine, wait_for, wait_until};
use pinhole_worker_publication::run;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    chance::{Random, seed},
    support::{Apache, Pace, Relay},
    tampering::commits_valid,
    world::{World, worker_settings},
};

on_both_engines! {
    at_most_one_commit_whatever_happens
}

/// Where the worker's process finds its data directory and its database.
const DATA_DIR: &str = "PINHOLE_LOOP_DATA_DIR";
const DATABASE: &str = "PINHOLE_LOOP_DATABASE";
/// How long a publication may take to end, with all that happens to it.
const PATIENCE: Duration = Duration::from_secs(300);

/// Publications on each engine.
fn publications() -> u32 {
    if std::env::var_os("PINHOLE_FULL").is_some() { 250 } else { 15 }
}

pub(crate) fn settings() -> Settings {
    let (lease, back_off) = (Duration::from_secs(2), Duration::from_millis(250));
    Settings { lease, back_off, min_free_percent: 0.0, ..Settings::default() }
}

async fn at_most_one_commit_whatever_happens(engine: Engine) {
    let seed = seed();
    let choices = Random::new(seed);
    let world = World::with(engine, settings()).await;
    let apache = Apache::start(world.folder.path()).await;
    let relay = Arc::new(Relay::start(apache.address(), Pace::Free).await);
    world.served_at(&Apache::url_at(relay.address), &apache.access()).await;

    let trouble = Trouble::start(&world, &relay, seed);
    let mut story = Story::default();
    for revision in 1..=publications() {
        world.revision(revision).await;
        // Before the first publication there is nothing to commit on.
        if choices.one_in(5) && revision > 1 {
            story.foreign.push(world.foreign_commit_at_last(&format!("notes-{revision}.txt")).await);
        }
        let id = world.ask(revision, json!({ "commit": world.head() })).await;
        if choices.one_in(5) {
            // While it is under way.
            story.foreign.push(world.foreign_commit_at_last(&format!("late-{revision}.txt")).await);
        }
        let view = world.settled(id, revision, &mut story).await;
        story.ended.push((id, view));
    }
    let (kills, cuts) = trouble.stop().await;
    story.check(&world);
    let Story { conflicts, foreign, .. } = story;
    eprintln!(
        "{} publications, {kills} kills, {cuts} cuts, {conflicts} conflicts, {} foreign commits",
        publications(),
        foreign.len()
    );
    assert!(kills > 0 && cuts > 0, "nothing happened to them");
}

/// What has come of it so far.
#[derive(Default)]
struct Story {
    ended: Vec<(PublicationId, Value)>,
    foreign: Vec<String>,
    conflicts: u32,
}

impl Story {
    fn check(&self, world: &World) {
        let commits = world.commits_with_publications();
        let on_branch = |commit: &str| commits.iter().any(|(id, _)| id == commit);
        for foreign in &self.foreign {
            assert!(on_branch(foreign), "a person's commit {foreign} is lost");
        }
        let mut published = 0;
        for (id, view) in &self.ended {
            let made = commits.iter().filter(|(_, publication)| *publication == id.to_string()).count();
            assert!(made <= 1, "{id} has {made} commits: {view}");
            if view["state"] == "published" {
                let commit = view["attempts"].as_array().unwrap().last().unwrap()["commit"].as_str().unwrap();
                assert!(made == 1 && on_branch(commit), "{view}");
                published += 1;
            } else {
                assert!(view["detail"].as_str().is_some_and(|why| !why.is_empty()), "it is not explained: {view}");
                eprintln!("{id}: {} because {}", view["state"], view["detail"]);
            }
        }
        assert!(published * 100 >= self.ended.len() * 99, "only {published} of {} are published", self.ended.len());
        let report = verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys);
        assert_eq!(report.unwrap().revision, publications());
        assert!(commits_valid(world).unwrap().publications >= published);
    }
}

impl World {
    /// What became of a publication. As its caller would, answers each conflict with the branch's new head.
    async fn settled(&self, id: PublicationId, revision: u32, story: &mut Story) -> Value {
        let conflicts = AtomicU32::new(0);
        let view = wait_for(PATIENCE, "the publication to end", async || {
            let view = self.get(id).await;
            match view["state"].as_str().unwrap() {
                "conflict" => {
                    conflicts.fetch_add(1, Ordering::SeqCst);
                    self.ask_again(id, revision, json!({ "commit": self.head() })).await.unwrap();
                    None
                }
                "published" | "rejected" | "failed" => Some(view),
                _ => None,
            }
        })
        .await;
        story.conflicts += conflicts.into_inner();
        if view["state"] == "published" {
            let commit = view["attempts"].as_array().unwrap().last().unwrap()["commit"].as_str().unwrap();
            assert!(self.commits().iter().any(|on_branch| on_branch == commit), "called published too soon: {view}");
        }
        view
    }

    /// A person does not give up when the branch has moved meanwhile.
    async fn foreign_commit_at_last(&self, path: &str) -> String {
        wait_for(PATIENCE, "a person's push", async || self.try_foreign_commit(path)).await
    }

    /// Commits of the branch with the publication that their trailer names, if one does.
    fn commits_with_publications(&self) -> Vec<(String, String)> {
        let format = "--format=%H %(trailers:key=Publication-Id,valueonly,separator=)";
        let listed = self.git(&self.remote_path(), &["log", format, "catalog"]);
        let parts = listed.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        parts.map(|(commit, publication)| (commit.to_owned(), publication.to_owned())).collect()
    }
}

/// Kills workers and cuts the network until it is stopped.
struct Trouble {
    stop: CancellationToken,
    workers: JoinHandle<u32>,
    network: JoinHandle<u32>,
}

impl Trouble {
    fn start(world: &World, relay: &Arc<Relay>, seed: u64) -> Self {
        let stop = CancellationToken::new();
        let (data_dir, database_url) = (world.path("data"), world.database_url().to_owned());
        let start = move || Worker::start(&data_dir, &database_url);
        let workers = tokio::spawn(kill_workers(start, Random::new(seed ^ 1), stop.clone()));
        let network = tokio::spawn(cut_network(relay.clone(), Random::new(seed ^ 2), stop.clone()));
        Self { stop, workers, network }
    }

    /// How many workers were killed, and how often the network was cut.
    async fn stop(self) -> (u32, u32) {
        self.stop.cancel();
        (self.workers.await.unwrap(), self.network.await.unwrap())
    }
}

/// Starts worker after worker, and kills each after a while.
async fn kill_workers(start: impl Fn() -> Worker, choices: Random, stop: CancellationToken) -> u32 {
    let mut kills = 0;
    loop {
        let mut worker = start();
        let life = Duration::from_millis(choices.below(10_000) as u64);
        if stop.run_until_cancelled(tokio::time::sleep(life)).await.is_none() {
            return kills;
        }
        worker.kill();
        kills += 1;
    }
}

async fn cut_network(relay: Arc<Relay>, choices: Random, stop: CancellationToken) -> u32 {
    let mut cuts = 0;
    loop {
        let pause = Duration::from_millis(choices.below(8_000) as u64);
        if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return cuts;
        }
        relay.set(Pace::Closed);
        cuts += 1;
        tokio::time::sleep(Duration::from_millis(choices.below(600) as u64)).await;
        relay.set(Pace::Free);
    }
}

/// A process of this program that runs [`work`].
struct Worker(Child);

impl Worker {
    fn start(data_dir: &Path, database_url: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kill_loop::a_worker_ends_with_who_started_it", "--nocapture"]);
        command.env(DATA_DIR, data_dir).env(DATABASE, database_url);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        // It may have ended by itself.
        _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Also the process that works: with [`DATA_DIR`] it is the worker of the test above.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_ends_with_who_started_it() {
    if let (Some(data_dir), Ok(database_url)) = (std::env::var_os(DATA_DIR), std::env::var(DATABASE)) {
        return work(Config { data_dir: data_dir.into(), database_url: Some(database_url), ..Config::default() }).await;
    }
    let world = World::with(Engine::Sqlite, settings()).await;
    let mut worker = Worker::start(&world.path("data"), world.database_url());
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    wait_until(PATIENCE, "the worker to publish", async || world.get(id).await["state"] == "published").await;
    drop(worker.0.stdin.take());
    wait_until(PATIENCE, "the worker to end", async || worker.0.try_wait().unwrap().is_some()).await;
}

async fn work(config: Config) {
    // Nothing comes, and its end is that of who started this.
    std::thread::spawn(|| {
        _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let installation = Installation::open(&config, settings(), false).await.unwrap();
    let settings = worker_settings(&installation);
    let (app, stop) = (installation.app, CancellationToken::new());
    tokio::join!(sweeper(app.clone(), stop.clone()), async { run(app, settings, stop).await.unwrap() });
}
