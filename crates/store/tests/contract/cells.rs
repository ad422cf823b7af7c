//! Cells up to their submission: the lease that every write of a worker names, and the attempts.

use std::time::Duration;

use pinhole_core::{CellFailure, ClaimToken, FailedAssertion, RunState, Submission, Timestamp};
use pinhole_store::{Cell, Tx};
use pinhole_testkit::{Engine, worker};

use crate::{
    rows::{AWKWARD, failure},
    support::{Fixture, assert_exists, assert_same, id, on_both_engines},
};

on_both_engines! {
    a_cell_is_read_as_it_was_written
    a_claim_begins_a_lease_and_an_attempt
    a_cell_is_not_to_be_had_before_its_time
    one_of_two_workers_gets_a_cell
    a_lease_is_renewed_by_its_holder_only
    a_submission_needs_the_lease
    a_lease_that_ran_out_lets_nothing_through
    a_cell_that_was_taken_back_is_claimed_again
}

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn earlier(now: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(now.as_micros() - micros)
}

pub(crate) fn submission(failure: Option<CellFailure>) -> Submission {
    let failed_assertions = vec![FailedAssertion { step: 2, message: AWKWARD.into() }];
    Submission { failed_assertions, failure, ..worker::submission(Vec::new()) }
}

/// A queued cell in the database and a transaction to work in.
pub(crate) async fn queued(fixture: &Fixture) -> (Cell, Tx) {
    let ground = fixture.ground().await;
    let run = fixture.run(&ground);
    let cell = fixture.cell(run.id, 0);
    let mut tx = fixture.write().await;
    tx.insert_run(&run).await.unwrap();
    tx.insert_cell(&cell).await.unwrap();
    tx.commit().await.unwrap();
    (cell, fixture.write().await)
}

/// Claims a cell for an hour and returns it with the token.
pub(crate) async fn claim(fixture: &Fixture, tx: &mut Tx, cell: &Cell) -> (Cell, ClaimToken) {
    let token = id!(fixture, ClaimToken);
    let lease = tx.now().plus(HOUR);
    let claimed = tx.claim_cell(cell.id, token, "worker-1", lease).await.unwrap().unwrap();
    (claimed, token)
}

pub(crate) async fn read(tx: &mut Tx, cell: &Cell) -> Cell {
    tx.cell(cell.id).await.unwrap().unwrap()
}

async fn a_cell_is_read_as_it_was_written(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    assert_same(read(&mut tx, &cell).await, cell.clone());
    assert!(tx.cell(id!(fixture, CellId)).await.unwrap().is_none());
    let (third, second) = (fixture.cell(cell.run_id, 2), fixture.cell(cell.run_id, 1));
    tx.insert_cell(&third).await.unwrap();
    tx.insert_cell(&second).await.unwrap();
    assert_same(tx.cells_of(cell.run_id).await.unwrap(), vec![cell.clone(), second, third]);
    assert!(tx.cells_of(id!(fixture, RunId)).await.unwrap().is_empty());
    assert_exists(tx.insert_cell(&fixture.cell(cell.run_id, 0)).await);
}

async fn a_claim_begins_a_lease_and_an_attempt(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    assert!(tx.attempts_of(cell.id).await.unwrap().is_empty());
    let (token, lease) = (id!(fixture, ClaimToken), tx.now().plus(HOUR));
    let claimed = tx.claim_cell(cell.id, token, AWKWARD, lease).await.unwrap().unwrap();
    let expected =
        Cell { state: RunState::Running, attempt: 1, claim_token: Some(token), due_at: lease, ..cell.clone() };
    assert_same(claimed, expected.clone());
    assert_same(read(&mut tx, &cell).await, expected);
    let attempts = tx.attempts_of(cell.id).await.unwrap();
    assert_eq!(attempts.len(), 1);
    let attempt = &attempts[0];
    assert_eq!((attempt.attempt, attempt.worker.as_str(), attempt.started_at), (1, AWKWARD, tx.now()));
    assert_eq!((attempt.ended_at, &attempt.outcome, &attempt.failure), (None, &None, &None));

    let again = tx.claim_cell(cell.id, id!(fixture, ClaimToken), "worker-2", lease).await.unwrap();
    assert!(again.is_none());
    let unknown = tx.claim_cell(id!(fixture, CellId), token, "worker-2", lease).await.unwrap();
    assert!(unknown.is_none());
    assert_eq!(tx.attempts_of(cell.id).await.unwrap().len(), 1);
}

async fn a_cell_is_not_to_be_had_before_its_time(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (first, mut tx) = queued(&fixture).await;
    let now = tx.now();
    let early = Cell { not_before: now.plus(Duration::from_micros(1)), ..fixture.cell(first.run_id, 1) };
    let on_time = Cell { not_before: now, ..fixture.cell(first.run_id, 2) };
    for (cell, is_to_be_had) in [(early, false), (on_time, true)] {
        tx.insert_cell(&cell).await.unwrap();
        let claimed = tx.claim_cell(cell.id, id!(fixture, ClaimToken), "worker", now.plus(HOUR)).await.unwrap();
        assert_eq!(claimed.is_some(), is_to_be_had);
    }
}

async fn one_of_two_workers_gets_a_cell(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, tx) = queued(&fixture).await;
    drop(tx);
    let worker = |token: ClaimToken| {
        let (store, id) = (fixture.store.clone(), cell.id);
        tokio::spawn(async move {
            // What `app.write` does: the same work again after a transient failure.
            loop {
                let mut tx = store.begin_write().await?;
                let lease = tx.now().plus(HOUR);
                let done = match tx.claim_cell(id, token, "worker", lease).await {
                    Ok(claimed) => tx.commit().await.map(|()| claimed),
                    Err(error) => Err(error),
                };
                match done {
                    Err(error) if error.is_transient() => {}
                    done => return done.map(|claimed| claimed.and_then(|claimed| claimed.claim_token)),
                }
            }
        })
    };
    let workers: Vec<_> = (0..4).map(|_| worker(id!(fixture, ClaimToken))).collect();
    let mut winners = Vec::new();
    for worker in workers {
        winners.extend(worker.await.unwrap().unwrap());
    }
    let mut tx = fixture.read().await;
    let found = read(&mut tx, &cell).await;
    assert_eq!(winners, [found.claim_token.unwrap()]);
    assert_eq!((found.attempt, tx.attempts_of(cell.id).await.unwrap().len()), (1, 1));
}

async fn a_lease_is_renewed_by_its_holder_only(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    let later = tx.now().plus(2 * HOUR);
    // A queued cell has no lease.
    assert!(!tx.renew_cell(cell.id, id!(fixture, ClaimToken), later).await.unwrap());
    let (claimed, token) = claim(&fixture, &mut tx, &cell).await;
    assert!(!tx.renew_cell(cell.id, id!(fixture, ClaimToken), later).await.unwrap());
    assert!(!tx.renew_cell(id!(fixture, CellId), token, later).await.unwrap());
    assert_same(read(&mut tx, &cell).await, claimed.clone());
    assert!(tx.renew_cell(cell.id, token, later).await.unwrap());
    assert_same(read(&mut tx, &cell).await, Cell { due_at: later, ..claimed });
}

async fn a_submission_needs_the_lease(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    let (sent, due_at) = (submission(Some(failure())), tx.now().plus(HOUR));
    assert!(!tx.submit_cell(cell.id, id!(fixture, ClaimToken), &sent, due_at).await.unwrap());
    let (claimed, token) = claim(&fixture, &mut tx, &cell).await;
    assert!(!tx.submit_cell(cell.id, id!(fixture, ClaimToken), &sent, due_at).await.unwrap());
    assert_same(read(&mut tx, &cell).await, claimed.clone());
    assert_eq!(tx.attempts_of(cell.id).await.unwrap()[0].ended_at, None);

    assert!(tx.submit_cell(cell.id, token, &sent, due_at).await.unwrap());
    let expected = Cell { state: RunState::Registering, submission: Some(sent.clone()), due_at, ..claimed.clone() };
    assert_same(read(&mut tx, &cell).await, expected.clone());
    let attempt = tx.attempts_of(cell.id).await.unwrap().remove(0);
    assert_eq!((attempt.ended_at, attempt.outcome.as_deref()), (Some(tx.now()), Some("submitted")));
    assert_eq!(attempt.failure, Some(failure()));

    // The lease ended with the submission.
    assert!(!tx.submit_cell(cell.id, token, &submission(None), due_at).await.unwrap());
    assert!(!tx.renew_cell(cell.id, token, due_at).await.unwrap());
    assert_same(read(&mut tx, &cell).await, expected);
}

async fn a_lease_that_ran_out_lets_nothing_through(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (first, mut tx) = queued(&fixture).await;
    let now = tx.now();
    for (ordinal, lease, holds) in [(1, now, true), (2, earlier(now, 1), false)] {
        let cell = fixture.cell(first.run_id, ordinal);
        tx.insert_cell(&cell).await.unwrap();
        let token = id!(fixture, ClaimToken);
        tx.claim_cell(cell.id, token, "worker", lease).await.unwrap().unwrap();
        // To the very instant of its end, which is renewed to first.
        assert_eq!(tx.renew_cell(cell.id, token, lease).await.unwrap(), holds);
        assert_eq!(tx.submit_cell(cell.id, token, &submission(None), now).await.unwrap(), holds);
    }
    tx.commit().await.unwrap();
    if engine == Engine::Postgres {
        return; // Its clock is its own.
    }
    let mut tx = fixture.write().await;
    let (cell, token) = claim(&fixture, &mut tx, &first).await;
    tx.commit().await.unwrap();
    fixture.clock.set(cell.due_at);
    let mut tx = fixture.write().await;
    assert!(tx.renew_cell(cell.id, token, cell.due_at).await.unwrap());
    tx.commit().await.unwrap();
    fixture.clock.advance(Duration::from_micros(1));
    let mut tx = fixture.write().await;
    assert!(!tx.renew_cell(cell.id, token, cell.due_at.plus(HOUR)).await.unwrap());
    assert!(!tx.submit_cell(cell.id, token, &submission(None), cell.due_at).await.unwrap());
    assert_same(read(&mut tx, &first).await, cell);
}

async fn a_cell_that_was_taken_back_is_claimed_again(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    let now = tx.now();
    assert!(!tx.requeue_cell(cell.id, id!(fixture, ClaimToken), now, "lost", None).await.unwrap());
    let lost = id!(fixture, ClaimToken);
    tx.claim_cell(cell.id, lost, "worker-1", earlier(now, 1)).await.unwrap().unwrap();
    assert!(!tx.requeue_cell(cell.id, id!(fixture, ClaimToken), now, "lost", None).await.unwrap());
    // The sweeper takes it from a holder whose lease is over.
    assert!(tx.requeue_cell(cell.id, lost, now, "lost", Some(&failure())).await.unwrap());
    let requeued = Cell { attempt: 1, due_at: now, not_before: now, ..cell.clone() };
    assert_same(read(&mut tx, &cell).await, requeued);
    assert!(!tx.requeue_cell(cell.id, lost, now, "failed", None).await.unwrap());

    let (second, token) = claim(&fixture, &mut tx, &cell).await;
    assert_eq!(second.attempt, 2);
    assert!(!tx.renew_cell(cell.id, lost, now.plus(HOUR)).await.unwrap());
    assert!(!tx.submit_cell(cell.id, lost, &submission(None), now).await.unwrap());
    assert!(!tx.requeue_cell(cell.id, lost, now, "lost", None).await.unwrap());
    // A submission that was refused goes the same way and is forgotten; its attempt has ended already.
    assert!(tx.submit_cell(cell.id, token, &submission(None), now).await.unwrap());
    assert!(tx.requeue_cell(cell.id, token, now.plus(HOUR), "failed", None).await.unwrap());
    let found = read(&mut tx, &cell).await;
    assert_eq!((found.state, found.submission, found.not_before), (RunState::Queued, None, now.plus(HOUR)));
    let attempts = tx.attempts_of(cell.id).await.unwrap();
    let outcomes: Vec<_> = attempts.iter().map(|attempt| (attempt.attempt, attempt.outcome.as_deref())).collect();
    assert_eq!(outcomes, [(1, Some("lost")), (2, Some("submitted"))]);
    assert_eq!((attempts[0].failure.clone(), attempts[1].failure.clone()), (Some(failure()), None));
}
