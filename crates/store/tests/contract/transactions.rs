//! Opening and closing, what a transaction sees and leaves behind, and which failures a second run may not meet.

use std::{
    collections::BTreeSet,
    future::{Future as _, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pinhole_core::{Clock as _, Code, PrincipalClass, Result, Role, Subject, SystemClock, Timestamp};
use pinhole_store::{Connection, Grant, Pools, Store, database_error};
use pinhole_testkit::{Database, Engine};
use tokio::sync::oneshot;

use crate::{
    rows::Ground,
    support::{Fixture, assert_exists, assert_same, id, on_both_engines},
};

on_both_engines! {
    a_database_is_opened_and_closed
    what_was_committed_stays
    a_transaction_without_commit_changes_nothing
    a_reader_sees_one_snapshot
    a_reader_cannot_write
    a_row_must_name_rows_that_exist
    two_writers_both_succeed
    the_same_row_from_two_writers_exists
    writers_that_look_first_see_each_other
    the_connection_is_that_of_the_transaction
    who_goes_away_while_a_transaction_begins_leaves_none_behind
}

async fn a_database_is_opened_and_closed(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let store = fixture.store.clone();
    match store.pools() {
        Pools::Sqlite(_) => assert_eq!(engine, Engine::Sqlite),
        Pools::Postgres(_) => assert_eq!(engine, Engine::Postgres),
    }
    store.close().await;
    for tx in [store.begin_write().await, store.begin_read().await] {
        let error = tx.err().expect("the store is closed");
        assert_eq!((error.code(), error.reason()), (Code::ProviderUnavailable, Some("database")), "{error:?}");
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    for (url, code) in [
        ("mysql://localhost/x", Code::InvalidArguments),
        ("", Code::InvalidArguments),
        ("postgres://localhost:port/x", Code::InvalidArguments),
        ("sqlite:/nonexistent/directory/x.sqlite", Code::ProviderUnavailable),
        ("postgres://x@localhost/x?host=/nonexistent", Code::ProviderUnavailable),
    ] {
        let error = Store::open(url, Arc::new(SystemClock)).await.err().expect("nothing is there");
        assert_eq!(error.code(), code, "{url}: {error:?}");
    }
}

async fn what_was_committed_stays(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ada = fixture.principal(PrincipalClass::User, "ada");
    let mut tx = fixture.write().await;
    tx.insert_principal(&ada).await.unwrap();
    tx.commit().await.unwrap();
    fixture.store.close().await;
    let store = Store::open(fixture.url(), Arc::new(SystemClock)).await.unwrap();
    let mut tx = store.begin_read().await.unwrap();
    assert_same(tx.principal(ada.id).await.unwrap(), Some(ada));
}

async fn a_transaction_without_commit_changes_nothing(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let run = fixture.run(&ground);
    let mut tx = fixture.write().await;
    tx.insert_run(&run).await.unwrap();
    tx.advance_environment(ground.environment.id, 1).await.unwrap();
    drop(tx);
    let mut tx = fixture.write().await;
    assert!(tx.run(run.id).await.unwrap().is_none());
    assert_same(tx.environment(ground.environment.id).await.unwrap(), Some(ground.environment.clone()));
    // Nor does one that failed half-way.
    tx.insert_run(&run).await.unwrap();
    assert_exists(tx.insert_run(&run).await);
    drop(tx);
    let mut tx = fixture.read().await;
    assert!(tx.run(run.id).await.unwrap().is_none());
}

async fn a_reader_sees_one_snapshot(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (ada, bob) = (fixture.principal(PrincipalClass::User, "ada"), fixture.principal(PrincipalClass::User, "bob"));
    let mut read_tx = fixture.read().await;
    assert!(read_tx.principal(ada.id).await.unwrap().is_none());
    let mut tx = fixture.write().await;
    tx.insert_principal(&ada).await.unwrap();
    tx.insert_principal(&bob).await.unwrap();
    tx.commit().await.unwrap();
    // The writer neither waited for the reader nor shows in it.
    assert!(read_tx.principal(bob.id).await.unwrap().is_none());
    drop(read_tx);
    let mut tx = fixture.read().await;
    assert_same(tx.principal(bob.id).await.unwrap(), Some(bob));
}

async fn a_reader_cannot_write(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ada = fixture.principal(PrincipalClass::User, "ada");
    let mut tx = fixture.read().await;
    let error = tx.insert_principal(&ada).await.expect_err("it only reads");
    assert_eq!(error.code(), Code::Internal, "{error:?}");
    drop(tx);
    let mut tx = fixture.read().await;
    assert!(tx.principal(ada.id).await.unwrap().is_none());
}

async fn a_row_must_name_rows_that_exist(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    let orphan = fixture.cell(id!(fixture, RunId), 0);
    let error = tx.insert_cell(&orphan).await.expect_err("its run does not exist");
    assert_eq!((error.code(), error.is_transient()), (Code::Internal, false), "{error:?}");
    drop(tx);
    let mut tx = fixture.write().await;
    tx.insert_run(&fixture.run(&ground)).await.unwrap();
}

/// On SQLite the second waits for its turn; on PostgreSQL they touch different rows and need not wait.
async fn two_writers_both_succeed(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (ada, bob) = (fixture.principal(PrincipalClass::User, "ada"), fixture.principal(PrincipalClass::User, "bob"));
    let mut tx = fixture.write().await;
    let (store, second) = (fixture.store.clone(), bob.clone());
    let (asked, is_asked) = oneshot::channel();
    let (begun, mut is_begun) = oneshot::channel();
    let waiting = tokio::spawn(async move {
        asked.send(()).unwrap();
        let mut tx = store.begin_write().await?;
        begun.send(()).unwrap();
        tx.insert_principal(&second).await?;
        tx.commit().await
    });
    is_asked.await.unwrap();
    tx.insert_principal(&ada).await.unwrap();
    if engine == Engine::Sqlite {
        is_begun.try_recv().expect_err("there is one writer at a time");
    }
    tx.commit().await.unwrap();
    waiting.await.unwrap().unwrap();
    let mut tx = fixture.read().await;
    assert_same(tx.principal(ada.id).await.unwrap(), Some(ada));
    assert_same(tx.principal(bob.id).await.unwrap(), Some(bob));
}

/// Whoever is second is told that the row exists, or to run again and is told then.
async fn the_same_row_from_two_writers_exists(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let (store, principal) = (fixture.store.clone(), fixture.principal(PrincipalClass::User, "ada"));
            tokio::spawn(async move {
                loop {
                    let mut tx = store.begin_write().await.unwrap();
                    let done = match tx.insert_principal(&principal).await {
                        Ok(()) => tx.commit().await,
                        Err(error) => Err(error),
                    };
                    match done {
                        Err(error) if error.is_transient() => {}
                        done => return done,
                    }
                }
            })
        })
        .collect();
    let mut won = 0;
    for writer in writers {
        match writer.await.unwrap() {
            Ok(()) => won += 1,
            failed => assert_exists(failed),
        }
    }
    assert_eq!(won, 1);
}

/// Each looks whether anybody has a role and takes one if nobody has: as if one had come after the other.
async fn writers_that_look_first_see_each_other(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let writers = [Role::Reviewer, Role::Approver, Role::Publisher].map(|role| {
        let (store, grant) = (fixture.store.clone(), grant(&ground, role));
        tokio::spawn(async move {
            loop {
                match take_if_first(&store, &grant).await {
                    Err(error) if error.is_transient() => {}
                    done => return done.unwrap(),
                }
            }
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
    let mut tx = fixture.read().await;
    assert_eq!(tx.grants_in(ground.principal.id, ground.project.id).await.unwrap().len(), 1);
}

fn grant(ground: &Ground, role: Role) -> Grant {
    Grant {
        subject: Subject::Principal(ground.principal.id),
        project_id: ground.project.id,
        environment_id: None,
        role,
    }
}

async fn take_if_first(store: &Store, grant: &Grant) -> Result<()> {
    let Subject::Principal(person) = grant.subject else { unreachable!() };
    let mut tx = store.begin_write().await?;
    if tx.grants_in(person, grant.project_id).await?.is_empty() {
        tx.insert_grant(grant).await?;
    }
    tx.commit().await
}

/// Two transactions each read what the other writes: PostgreSQL ends one with a failure that a second run does not
/// meet. (On SQLite the second would not have begun.)
#[tokio::test(flavor = "multi_thread")]
async fn a_write_skew_on_postgres_is_transient() {
    let fixture = Fixture::new(Engine::Postgres).await;
    let ground = fixture.ground().await;
    let (person, project) = (ground.principal.id, ground.project.id);
    let (mut tx, mut other_tx) = (fixture.write().await, fixture.write().await);
    assert!(tx.grants_in(person, project).await.unwrap().is_empty());
    assert!(other_tx.grants_in(person, project).await.unwrap().is_empty());
    tx.insert_grant(&grant(&ground, Role::Reviewer)).await.unwrap();
    other_tx.insert_grant(&grant(&ground, Role::Approver)).await.unwrap();
    tx.commit().await.unwrap();
    let error = other_tx.commit().await.expect_err("the two cannot both have been first");
    assert!(error.is_transient(), "{error:?}");
    assert_eq!((error.code(), error.reason()), (Code::ProviderUnavailable, Some("busy")));
    let mut tx = fixture.write().await;
    assert_eq!(tx.grants_in(person, project).await.unwrap(), [grant(&ground, Role::Reviewer)]);
}

async fn the_connection_is_that_of_the_transaction(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ada = fixture.principal(PrincipalClass::User, "ada");
    let mut tx = fixture.write().await;
    tx.insert_principal(&ada).await.unwrap();
    let count = "SELECT count(*) FROM principals";
    let seen: i64 = match tx.connection() {
        Connection::Sqlite(connection) => sqlx::query_scalar(count).fetch_one(connection).await.unwrap(),
        Connection::Postgres(connection) => sqlx::query_scalar(count).fetch_one(connection).await.unwrap(),
    };
    assert_eq!(seen, 1);
    drop(tx);
    assert_eq!(fixture.texts("SELECT name FROM principals").await, Vec::<String>::new());
}

#[tokio::test]
async fn time_on_sqlite_is_that_of_the_clock() {
    let fixture = Fixture::new(Engine::Sqlite).await;
    let tx = fixture.write().await;
    let begun = fixture.clock.now();
    fixture.clock.advance(Duration::from_secs(5));
    assert_eq!(tx.now(), begun);
    drop(tx);
    for tx in [fixture.write().await, fixture.read().await] {
        assert_eq!(tx.now(), fixture.clock.now());
    }
}

#[tokio::test]
async fn time_on_postgres_is_that_of_the_database() {
    let fixture = Fixture::new(Engine::Postgres).await;
    // Far from what the clock of the fixture shows, which stands still.
    let mut last = Timestamp::from_micros(0);
    for tx in [fixture.write().await, fixture.read().await] {
        let host = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap();
        let apart = host.abs_diff(tx.now().as_micros());
        assert!(apart < 60_000_000, "{} and {host} are {apart} µs apart", tx.now());
        assert!(tx.now() > last);
        last = tx.now();
    }
    assert_ne!(last, fixture.clock.now());
    let mut tx = fixture.write().await;
    let now = tx.now();
    let sql = "SELECT (extract(epoch FROM now()) * 1000000)::bigint FROM pg_sleep(0.01)";
    let Connection::Postgres(connection) = tx.connection() else { panic!("another engine was asked for") };
    let database: i64 = sqlx::query_scalar(sql).fetch_one(connection).await.unwrap();
    assert_eq!(now.as_micros(), database);
}

#[tokio::test]
async fn a_busy_sqlite_file_is_transient() {
    let database = Database::sqlite();
    let store = Store::open(database.url(), Arc::new(SystemClock)).await.unwrap();
    store.migrate().await.unwrap();
    let _tx = store.begin_write().await.unwrap();
    // Another process's connection, without the patience of ours.
    let error = impatient_write(database.url()).await.expect_err("the file is locked");
    assert!(error.is_transient(), "{error:?}");
}

async fn impatient_write(url: &str) -> Result<()> {
    use sqlx::{ConnectOptions as _, Executor as _, sqlite::SqliteConnectOptions};
    let options: SqliteConnectOptions = url.parse().map_err(database_error)?;
    let mut connection = options.busy_timeout(Duration::ZERO).connect().await.map_err(database_error)?;
    connection.execute("BEGIN IMMEDIATE").await.map(drop).map_err(database_error)
}

/// Whenever it is: the beginning of a transaction that only reads is given up at each of its steps in turn. On the same
/// connection, what comes next would not be allowed to write, or be lost.
async fn who_goes_away_while_a_transaction_begins_leaves_none_behind(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    for (step, name) in ('a'..='z').enumerate() {
        let mut begin = Box::pin(fixture.store.begin_read());
        let mut polls = 0;
        poll_fn(|context| {
            polls += 1;
            if polls > step { Poll::Ready(()) } else { Pin::new(&mut begin).poll(context).map(drop) }
        })
        .await;
        drop(begin);
        let principal = fixture.principal(PrincipalClass::User, &name.to_string());
        let mut tx = fixture.write().await;
        tx.insert_principal(&principal).await.unwrap();
        tx.commit().await.unwrap();
        // Alone, as the job queue does it, and seen by everybody else at once.
        fixture.execute(&format!("DELETE FROM principals WHERE name = '{name}'")).await;
        assert_eq!(fixture.texts("SELECT name FROM principals").await, [""; 0], "step {step}");
    }
}

#[tokio::test]
async fn a_connection_that_was_given_back_is_used_again() {
    let fixture = Fixture::new(Engine::Postgres).await;
    let mut servers = BTreeSet::new();
    for _ in 0..20 {
        drop(fixture.write().await);
        servers.extend(fixture.texts("SELECT pg_backend_pid()::text").await);
    }
    assert!(servers.len() < 10, "{servers:?}");
}
