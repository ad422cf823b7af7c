//! Workers that are killed at the worst moments, and one that sleeps past its lease.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use pinhole_testkit::{Engine, wait_until};
use rustix::process::Signal;

use super::{PAGE, PATIENCE, Stage, all_ended, attempts, send, text, worker_of};
use crate::harness::{Setup, descendants, has_ended};

/// Within this time of its worker's death a cell is taken again: a lease, a sweep, and room for a busy machine.
const TAKEN_AGAIN: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_worker_killed_when_it_has_claimed_is_followed_by_another() {
    killed("claimed", Engine::Sqlite).await;
}

#[tokio::test]
async fn a_worker_killed_when_it_has_staged_is_followed_by_another() {
    killed("staged", Engine::Sqlite).await;
}

#[tokio::test]
async fn a_worker_killed_before_it_submits_is_followed_by_another() {
    killed("before_submit", Engine::Sqlite).await;
}

#[tokio::test]
async fn a_worker_killed_before_it_submits_is_followed_by_another_on_postgres() {
    killed("before_submit", Engine::Postgres).await;
}

async fn killed(point: &str, engine: Engine) {
    let env = vec![("PINHOLE_CRASH_AT".to_owned(), point.to_owned())];
    let mut stage = Stage::set(Setup { engine, env, ..Setup::default() }).await;
    let worker = stage.server.workers()[0];
    let run = stage.start("first").await;
    let mut browser = BTreeSet::new();
    wait_until(PATIENCE, "the worker kills itself", async || {
        browser.extend(descendants(worker));
        has_ended(worker)
    })
    .await;
    let died = Instant::now();
    assert_eq!(browser.is_empty(), point == "claimed", "{browser:?}");

    let directory = format!("pinhole-browser-{worker}-");
    wait_until(TAKEN_AGAIN, "another worker clears away what the killed one left", async || {
        let directories = stage.server.browser_directories();
        let left = directories.iter().any(|path| path.to_string_lossy().contains(&directory));
        let started = stage.server.workers().iter().any(|pid| *pid != worker);
        started && !left && all_ended(&browser)
    })
    .await;
    let rest = TAKEN_AGAIN.saturating_sub(died.elapsed());
    wait_until(rest, "another worker takes the cell", async || attempts(&stage.project.look(&run).await).len() == 2)
        .await;

    let run = stage.ends_right(&run, &["lost", "submitted"]).await;
    let [first, second] = attempts(&run) else { panic!("{run:#}") };
    assert_eq!(text(&first["failure"]["reason"]), "worker_lost", "{run:#}");
    assert_eq!(worker_of(first), worker);
    assert_ne!(worker_of(second), worker);
}

/// Another worker finishes the cell in the meantime. What the first one still wants to write is refused, and it knows.
#[tokio::test]
async fn a_worker_that_slept_past_its_lease_changes_nothing() {
    let mut stage = Stage::set(Setup { capture_processes: 2, ..Setup::default() }).await;
    let (run, browser) = stage.hang("first").await;
    let sleeper = worker_of(&attempts(&stage.project.look(&run).await)[0]);
    put_to_sleep(sleeper).await;
    stage.site.reset(PAGE);
    let ended = stage.ends_right(&run, &["lost", "submitted"]).await;
    assert_ne!(worker_of(&attempts(&ended)[1]), sleeper);
    let before = stage.everything(&run).await;
    assert!(!has_ended(browser), "the sleeper's browser waits with it");

    send(sleeper, Signal::CONT);
    wait_until(PATIENCE, "the worker drops its work and its browser", async || has_ended(browser)).await;
    // With the other worker asleep, it is this one that does the next run, so that it has got over the last.
    let other = stage.server.workers().into_iter().find(|pid| *pid != sleeper).unwrap();
    put_to_sleep(other).await;
    let next = stage.start("second").await;
    let next = stage.ends_right(&next, &["submitted"]).await;
    assert_eq!(worker_of(&attempts(&next)[0]), sleeper);
    send(other, Signal::CONT);
    assert_eq!(stage.everything(&run).await, before);
}

/// Stops a process, but not while it holds a lock on the database's files: SQLite has one writer at a time, and one
/// that sleeps in the middle would hold up everybody.
async fn put_to_sleep(pid: u32) {
    wait_until(PATIENCE, "the worker is stopped outside of a transaction", async || {
        send(pid, Signal::STOP);
        wait_until(PATIENCE, "every thread of the worker stands still", async || is_stopped(pid)).await;
        let locked = holds_a_lock(pid);
        if locked {
            send(pid, Signal::CONT);
        }
        !locked
    })
    .await;
}

fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let stats: Vec<_> = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok()).collect();
    stats.iter().all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
}

/// Whether a process holds a lock for writing, as proc_locks(5) lists them: kind, mode, access, process, file, range.
fn holds_a_lock(pid: u32) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(3) == Some(&"WRITE") && words.get(4) == Some(&pid.to_string().as_str())
    })
}
