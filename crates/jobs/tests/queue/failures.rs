//! What must not stop a runner: handlers that fail, rows that make no sense, rows that vanish.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::support::{DEADLINE, Fixture, Running, on_both_engines};
use apalis::prelude::TaskBuilder;
use pinhole_core::Error;
use pinhole_store::Connection;
use pinhole_testkit::{Engine, wait_until};
use tokio::sync::{Semaphore, mpsc};

on_both_engines! {
    failing_and_panicking_handlers_do_not_stop_the_loop
    payloads_that_cannot_be_read_do_not_stop_the_loop
    vanishing_rows_do_not_stop_the_loop
    a_worker_that_is_replaced_disturbs_no_handler
    a_job_of_a_dead_runner_is_delivered_again
}

async fn failing_and_panicking_handlers_do_not_stop_the_loop(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let handled = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&handled);
    let runner = Running::start(&fixture.store, fixture.settings(), move |number| {
        seen.lock().unwrap().push(number);
        assert_ne!(number, 0, "a panic before the future is made");
        async move {
            tokio::task::yield_now().await;
            assert_ne!(number, 1, "a panic within the future");
            if number == 2 { Err(Error::internal("the handler failed")) } else { Ok(()) }
        }
    });
    fixture.push(0..3).await;
    fixture.wait_for_rows("Killed", 3).await;
    fixture.push([3]).await;
    fixture.wait_for_rows("Done", 1).await;
    runner.finish().await;
    let mut handled = handled.lock().unwrap().clone();
    handled.sort_unstable();
    assert_eq!(handled, [0, 1, 2, 3], "a job that failed is not delivered again");
}

async fn payloads_that_cannot_be_read_do_not_stop_the_loop(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.store.begin_write().await.unwrap();
    let wrong: [&[u8]; 5] = [b"", b"\xff\x00\xfe", b"{\"cell\":", b"{\"cell\":\"run_7\"}", b"[[[[[[[["];
    for payload in wrong {
        // As many attempts as apalis gives by itself, to see that they are not used.
        let task = TaskBuilder::new(payload.to_vec()).max_attempts(25).build();
        match tx.connection() {
            Connection::Sqlite(connection) => {
                apalis_sqlite::queries::push_tasks(connection, "capture", &[task]).await.unwrap();
            }
            Connection::Postgres(connection) => {
                apalis_postgres::queries::push_tasks(connection, "capture", vec![task]).await.unwrap();
            }
        }
    }
    tx.commit().await.unwrap();
    let (sender, mut received) = mpsc::unbounded_channel();
    let runner = Running::start(&fixture.store, fixture.settings(), move |number| {
        sender.send(number).unwrap();
        std::future::ready(Ok(()))
    });
    fixture.wait_for_rows("Killed", 5).await;
    fixture.push([7]).await;
    fixture.wait_for_rows("Done", 1).await;
    runner.finish().await;
    assert_eq!(received.recv().await, Some(7));
    assert_eq!(received.recv().await, None);
    assert_eq!(fixture.number("SELECT count(*) FROM {jobs} WHERE attempts <= 1").await, 6);
}

/// Whatever was lost is enqueued again, as the sweep over the domain rows does.
async fn vanishing_rows_do_not_stop_the_loop(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let handled = Arc::new(Mutex::new(vec![false; 60]));
    let seen = Arc::clone(&handled);
    let settings = pinhole_jobs::RunnerSettings { poll: Duration::from_millis(10), ..fixture.settings_for(3) };
    let runner = Running::start(&fixture.store, settings, move |number| {
        seen.lock().unwrap()[usize::try_from(number).unwrap()] = true;
        std::future::ready(Ok(()))
    });
    let mut round = 0_u32;
    wait_until(DEADLINE, "every job to be handled", async || {
        let left: Vec<_> =
            handled.lock().unwrap().iter().zip(0..).filter(|(done, _)| !**done).map(|(_, n)| n).collect();
        fixture.push(left.iter().copied().take(7)).await;
        round += 1;
        // Now and then the worker's own row goes too; a reference in the way is one more kind of trouble.
        let _ = fixture.execute("DELETE FROM {jobs} WHERE id LIKE '%1' OR id LIKE '%A' OR id LIKE '%7'").await;
        if [3, 20, 40].contains(&round) {
            let _ = fixture.execute("DELETE FROM {jobs}; DELETE FROM {workers}").await;
        }
        left.is_empty()
    })
    .await;
    runner.finish().await;
}

async fn a_worker_that_is_replaced_disturbs_no_handler(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (gate, (said, mut received)) = (Arc::new(Semaphore::new(0)), mpsc::unbounded_channel());
    let opened = Arc::clone(&gate);
    let runner = Running::start(&fixture.store, fixture.settings(), move |number| {
        let (gate, said) = (Arc::clone(&gate), said.clone());
        async move {
            said.send(("begun", number)).unwrap();
            gate.acquire().await.unwrap().forget();
            said.send(("ended", number)).unwrap();
            Ok(())
        }
    });
    fixture.push([1]).await;
    assert_eq!(received.recv().await, Some(("begun", 1)));
    fixture.execute("DELETE FROM {jobs}; DELETE FROM {workers}").await.unwrap();
    wait_until(DEADLINE, "another worker", async || fixture.number("SELECT count(*) FROM {workers}").await == 1).await;
    // The one slot is still taken, whichever worker asks.
    fixture.push([2]).await;
    fixture.wait_for_rows("Pending", 1).await;
    assert!(received.try_recv().is_err());
    opened.add_permits(1);
    assert_eq!(received.recv().await, Some(("ended", 1)));
    assert_eq!(received.recv().await, Some(("begun", 2)));
    opened.add_permits(1);
    fixture.wait_for_rows("Done", 1).await;
    runner.finish().await;
}

async fn a_job_of_a_dead_runner_is_delivered_again(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (said, mut received) = mpsc::unbounded_channel();
    let dying = Running::start(&fixture.store, fixture.settings(), move |number| {
        said.send(number).unwrap();
        std::future::pending()
    });
    fixture.push([1]).await;
    assert_eq!(received.recv().await, Some(1));
    dying.task.abort();
    assert_eq!(received.recv().await, None, "its handler goes with it");
    let long_ago = match engine {
        Engine::Sqlite => "strftime('%s', 'now') - 60",
        Engine::Postgres => "now() - interval '60 seconds'",
    };
    fixture.execute(&format!("UPDATE {{workers}} SET last_seen = {long_ago}")).await.unwrap();
    let heir = Running::start(&fixture.store, fixture.settings(), |_| std::future::ready(Ok(())));
    fixture.wait_for_rows("Done", 1).await;
    heir.finish().await;
}
