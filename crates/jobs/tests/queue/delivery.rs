//! What is queued, when it is delivered, and how a runner stops.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::support::{DEADLINE, Fixture, NEVER, Running, job, on_both_engines};
use pinhole_core::SystemClock;
use pinhole_jobs::{RunnerSettings, enqueue, listen, migrate, sweep_finished};
use pinhole_store::Store;
use pinhole_testkit::{Engine, wait_until};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

on_both_engines! {
    a_job_exists_if_and_when_its_transaction_commits
    a_delayed_job_waits
    a_wake_up_is_answered_at_once
    without_a_wake_up_the_poll_finds_the_job
    jobs_of_another_process_are_noticed
    two_runners_share_a_queue
    no_more_handlers_run_than_allowed
    a_stop_waits_for_the_running_handler
    a_handler_that_does_not_end_is_dropped
    finished_rows_and_silent_workers_are_swept
    migrating_again_changes_nothing
}

/// Another process's view of the database.
async fn other_store(fixture: &Fixture) -> Store {
    Store::open(fixture.database.url(), Arc::new(SystemClock)).await.unwrap()
}

/// A handler that reports each job it gets.
fn reporting() -> (impl Fn(u128) -> std::future::Ready<pinhole_core::Result<()>>, mpsc::UnboundedReceiver<u128>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let handler = move |number| {
        sender.send(number).unwrap();
        std::future::ready(Ok(()))
    };
    (handler, receiver)
}

async fn next(received: &mut mpsc::UnboundedReceiver<u128>) -> u128 {
    tokio::time::timeout(DEADLINE, received.recv()).await.expect("a job arrives").unwrap()
}

async fn a_job_exists_if_and_when_its_transaction_commits(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut given_up = fixture.store.begin_write().await.unwrap();
    enqueue(&mut given_up, &job(1), Duration::ZERO).await.unwrap();
    drop(given_up);
    assert_eq!(fixture.number("SELECT count(*) FROM {jobs}").await, 0);

    fixture.push([2]).await;
    assert_eq!(fixture.number("SELECT count(*) FROM {jobs} WHERE max_attempts = 1").await, 1);
    let (handler, mut received) = reporting();
    let runner = Running::start(&fixture.store, fixture.settings(), handler);
    assert_eq!(next(&mut received).await, 2);
    fixture.wait_for_rows("Done", 1).await;
    runner.finish().await;
    assert!(received.try_recv().is_err());
}

async fn a_delayed_job_waits(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.store.begin_write().await.unwrap();
    enqueue(&mut tx, &job(1), Duration::from_secs(3600)).await.unwrap();
    tx.commit().await.unwrap();
    fixture.push([2]).await;
    let (handler, mut received) = reporting();
    let runner = Running::start(&fixture.store, fixture.settings(), handler);
    assert_eq!(next(&mut received).await, 2);
    fixture.wait_for_rows("Done", 1).await;
    fixture.wait_for_rows("Pending", 1).await;
    let seconds_left = match engine {
        Engine::Sqlite => "SELECT run_at - CAST(strftime('%s', 'now') AS INTEGER) FROM {jobs} WHERE status = 'Pending'",
        Engine::Postgres => "SELECT extract(epoch FROM run_at - now())::bigint FROM {jobs} WHERE status = 'Pending'",
    };
    assert!((3500..=3600).contains(&fixture.number(seconds_left).await));
    runner.finish().await;
}

/// Each wake-up comes while the worker writes down the job before, and so meets its fetches at every stage. One that is
/// lost costs a heartbeat of 5 s, and a few of those miss the deadline.
async fn a_wake_up_is_answered_at_once(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (handler, mut received) = reporting();
    let runner = Running::start(&fixture.store, fixture.settings_for(2), handler);
    let all = async {
        for number in 0..200 {
            fixture.push([number]).await;
            assert_eq!(next(&mut received).await, number);
        }
    };
    tokio::time::timeout(Duration::from_secs(25), all).await.expect("no wake-up is lost");
    runner.finish().await;
}

async fn without_a_wake_up_the_poll_finds_the_job(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (handler, mut received) = reporting();
    let settings = RunnerSettings { poll: Duration::from_millis(20), ..RunnerSettings::default() };
    let runner = Running::start(&fixture.store, settings, handler);
    for number in 0..50 {
        fixture.push([number]).await;
        assert_eq!(next(&mut received).await, number);
    }
    runner.finish().await;
}

/// PostgreSQL tells of them; with SQLite the poll has to find them.
async fn jobs_of_another_process_are_noticed(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (stop, other) = (CancellationToken::new(), other_store(&fixture).await);
    let (listening, wake, stopped) = (fixture.store.clone(), fixture.wake.clone(), stop.clone());
    let listener = tokio::spawn(async move { listen(&listening, &wake, stopped).await });
    let (handler, mut received) = reporting();
    let poll = if engine == Engine::Sqlite { Duration::from_millis(20) } else { NEVER };
    let runner = Running::start(&fixture.store, RunnerSettings { poll, ..fixture.settings() }, handler);
    for number in 0..50 {
        let mut tx = other.begin_write().await.unwrap();
        enqueue(&mut tx, &job(number), Duration::ZERO).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(next(&mut received).await, number);
    }
    runner.finish().await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, listener).await.expect("the listener stops").unwrap();
}

async fn two_runners_share_a_queue(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let other = other_store(&fixture).await;
    let (sender, mut received) = mpsc::unbounded_channel();
    let both_work = Arc::new(tokio::sync::Barrier::new(2));
    let runners = [&fixture.store, &other].map(|store| {
        let (sender, both_work) = (sender.clone(), Arc::clone(&both_work));
        Running::start(store, fixture.settings(), move |number| {
            let (sender, both_work) = (sender.clone(), Arc::clone(&both_work));
            async move {
                // The first two jobs end only when each runner has one.
                if number < 2 {
                    both_work.wait().await;
                }
                sender.send(number).unwrap();
                Ok(())
            }
        })
    });
    fixture.push(0..2).await;
    fixture.wait_for_rows("Done", 2).await;
    fixture.push(2..60).await;
    fixture.wait_for_rows("Done", 60).await;
    for runner in runners {
        runner.finish().await;
    }
    drop(sender);
    let mut deliveries = BTreeMap::new();
    while let Ok(number) = received.try_recv() {
        *deliveries.entry(number).or_insert(0) += 1;
    }
    assert_eq!(deliveries, (0..60).map(|number| (number, 1)).collect());
}

async fn no_more_handlers_run_than_allowed(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (gate, (begun, mut received)) = (Arc::new(Semaphore::new(0)), mpsc::unbounded_channel());
    let opened = Arc::clone(&gate);
    let runner = Running::start(&fixture.store, fixture.settings_for(3), move |number| {
        begun.send(number).unwrap();
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok(())
        }
    });
    fixture.push(0..5).await;
    for _ in 0..3 {
        next(&mut received).await;
    }
    fixture.wait_for_rows("Pending", 2).await;
    assert!(received.try_recv().is_err());
    for still_pending in [1, 0] {
        opened.add_permits(1);
        next(&mut received).await;
        fixture.wait_for_rows("Pending", still_pending).await;
    }
    opened.add_permits(3);
    fixture.wait_for_rows("Done", 5).await;
    runner.finish().await;
}

async fn a_stop_waits_for_the_running_handler(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (gate, (begun, mut received)) = (Arc::new(Semaphore::new(0)), mpsc::unbounded_channel());
    let opened = Arc::clone(&gate);
    let runner = Running::start(&fixture.store, fixture.settings(), move |number| {
        begun.send(number).unwrap();
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok(())
        }
    });
    fixture.push([1]).await;
    next(&mut received).await;
    runner.stop.cancel();
    fixture.push([2]).await;
    assert!(!runner.task.is_finished());
    opened.add_permits(2);
    runner.finish().await;
    fixture.wait_for_rows("Done", 1).await;
    fixture.wait_for_rows("Pending", 1).await;
    assert!(received.try_recv().is_err());
}

async fn a_handler_that_does_not_end_is_dropped(engine: Engine) {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let fixture = Fixture::new(engine).await;
    let (begun, mut received) = mpsc::unbounded_channel();
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let settings = RunnerSettings { grace: Duration::from_millis(50), ..fixture.settings() };
    let runner = Running::start(&fixture.store, settings, move |number| {
        let held = Dropped(Arc::clone(&flag));
        begun.send(number).unwrap();
        async move {
            std::future::pending::<()>().await;
            drop(held);
            Ok(())
        }
    });
    fixture.push([1]).await;
    next(&mut received).await;
    runner.finish().await;
    assert!(dropped.load(Ordering::SeqCst));
    fixture.wait_for_rows("Queued", 1).await;
}

async fn finished_rows_and_silent_workers_are_swept(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    fixture.push(0..3).await;
    let (handler, _received) = reporting();
    let runner = Running::start(&fixture.store, fixture.settings(), handler);
    fixture.wait_for_rows("Done", 3).await;
    runner.finish().await;
    fixture.push([3]).await;
    assert_eq!(sweep_finished(&fixture.store).await.unwrap(), 0);

    let long_ago = match engine {
        Engine::Sqlite => "strftime('%s', 'now') - 3700",
        Engine::Postgres => "now() - interval '3700 seconds'",
    };
    let first_two = "id IN (SELECT id FROM {jobs} WHERE status = 'Done' LIMIT 2)";
    fixture.execute(&format!("UPDATE {{jobs}} SET done_at = {long_ago} WHERE {first_two}")).await.unwrap();
    fixture.execute(&format!("UPDATE {{workers}} SET last_seen = {long_ago}")).await.unwrap();
    assert_eq!(sweep_finished(&fixture.store).await.unwrap(), 2, "the third job still refers to the worker");
    fixture.execute(&format!("UPDATE {{jobs}} SET done_at = {long_ago} WHERE status = 'Done'")).await.unwrap();
    assert_eq!(sweep_finished(&fixture.store).await.unwrap(), 2, "the third job and the worker");
    assert_eq!(fixture.number("SELECT count(*) FROM {jobs} WHERE status = 'Pending'").await, 1);
    assert_eq!(fixture.number("SELECT count(*) FROM {workers}").await, 0);
}

async fn migrating_again_changes_nothing(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    fixture.push([1]).await;
    migrate(&fixture.store).await.unwrap();
    fixture.store.migrate().await.unwrap();
    assert_eq!(fixture.number("SELECT count(*) FROM {jobs}").await, 1);
    wait_until(DEADLINE, "syncing to be as the store set it", async || {
        engine == Engine::Postgres || fixture.number("PRAGMA synchronous").await == 2
    })
    .await;
}
