//! Cells from their submission on: registration, their end, and what the sweeper looks for.

use pinhole_core::RunState;
use pinhole_store::Cell;
use pinhole_testkit::Engine;

use crate::{
    cells::{HOUR, claim, earlier, queued, read, submission},
    rows::failure,
    support::{Fixture, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    registration_belongs_to_one_attempt
    a_cell_ends_once_from_the_state_that_was_expected
    due_cells_are_the_unfinished_ones_whose_time_has_come
    postponing_changes_a_cell_that_nothing_else_changed
    an_attempt_ends_once
}

async fn registration_belongs_to_one_attempt(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    let now = tx.now();
    assert!(tx.begin_registration(cell.id, 0, now).await.unwrap().is_none());
    let (_, token) = claim(&fixture, &mut tx, &cell).await;
    assert!(tx.begin_registration(cell.id, 1, now).await.unwrap().is_none());
    assert!(tx.submit_cell(cell.id, token, &submission(None), now).await.unwrap());
    assert!(tx.begin_registration(cell.id, 2, now).await.unwrap().is_none());
    for tries in 1..=2 {
        let due_at = now.plus(HOUR * tries);
        let begun = tx.begin_registration(cell.id, 1, due_at).await.unwrap().unwrap();
        assert_eq!((begun.register_tries, begun.due_at), (tries, due_at));
        assert_eq!(begun.submission, Some(submission(None)));
        assert_same(read(&mut tx, &cell).await, begun);
    }
    // The tries are those of the present submission.
    assert!(tx.requeue_cell(cell.id, token, now, "failed", None).await.unwrap());
    let (_, token) = claim(&fixture, &mut tx, &cell).await;
    assert!(tx.submit_cell(cell.id, token, &submission(None), now).await.unwrap());
    assert_eq!(tx.begin_registration(cell.id, 2, now).await.unwrap().unwrap().register_tries, 1);
}

async fn a_cell_ends_once_from_the_state_that_was_expected(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    let now = tx.now();
    let (claimed, token) = claim(&fixture, &mut tx, &cell).await;
    assert!(tx.submit_cell(cell.id, token, &submission(None), now).await.unwrap());
    let ended = Cell {
        state: RunState::Failed,
        failed_assertions: submission(None).failed_assertions,
        failure: Some(failure()),
        finished_at: Some(now),
        claim_token: None,
        due_at: now,
        ..claimed
    };
    assert!(!tx.finish_cell(&ended, RunState::Running).await.unwrap());
    let another = Cell { attempt: 2, ..ended.clone() };
    assert!(!tx.finish_cell(&another, RunState::Registering).await.unwrap());
    let unknown = Cell { id: id!(fixture, CellId), ..ended.clone() };
    assert!(!tx.finish_cell(&unknown, RunState::Registering).await.unwrap());
    assert!(tx.finish_cell(&ended, RunState::Registering).await.unwrap());
    assert_same(read(&mut tx, &cell).await, ended.clone());

    let again = Cell { state: RunState::Completed, ..ended.clone() };
    assert!(!tx.finish_cell(&again, RunState::Registering).await.unwrap());
    assert!(!tx.requeue_cell(cell.id, token, now, "lost", None).await.unwrap());
    assert!(tx.begin_registration(cell.id, 1, now).await.unwrap().is_none());
    assert!(tx.claim_cell(cell.id, token, "worker", now).await.unwrap().is_none());
    assert_same(read(&mut tx, &cell).await, ended);
}

async fn due_cells_are_the_unfinished_ones_whose_time_has_come(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (first, mut tx) = queued(&fixture).await;
    let now = tx.now();
    assert!(tx.due_cells().await.unwrap().is_empty());
    let mut expected = Vec::new();
    let rows = [
        (RunState::Registering, 30, true),
        (RunState::Running, 20, true),
        (RunState::Queued, 10, true),
        (RunState::Queued, 0, false),
        (RunState::Completed, 40, false),
        (RunState::Failed, 40, false),
        (RunState::PendingApproval, 40, false),
    ];
    for (ordinal, (state, micros, is_due)) in (1..).zip(rows) {
        let cell = Cell { state, due_at: earlier(now, micros), ..fixture.cell(first.run_id, ordinal) };
        tx.insert_cell(&cell).await.unwrap();
        expected.extend(is_due.then_some(cell));
    }
    assert_same(tx.due_cells().await.unwrap(), expected);
    for ordinal in 100..200 {
        let cell = Cell { due_at: earlier(now, 1), ..fixture.cell(first.run_id, ordinal) };
        tx.insert_cell(&cell).await.unwrap();
    }
    assert_eq!(tx.due_cells().await.unwrap().len(), 100);
}

async fn postponing_changes_a_cell_that_nothing_else_changed(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    let later = tx.now().plus(HOUR);
    assert!(tx.postpone_cell(&cell, later).await.unwrap());
    assert_same(read(&mut tx, &cell).await, Cell { due_at: later, ..cell.clone() });
    assert!(!tx.postpone_cell(&cell, at(0)).await.unwrap());
    let seen = read(&mut tx, &cell).await;
    tx.claim_cell(cell.id, id!(fixture, ClaimToken), "worker", seen.due_at).await.unwrap().unwrap();
    assert!(!tx.postpone_cell(&seen, at(0)).await.unwrap());
    assert_eq!(read(&mut tx, &cell).await.due_at, later);
}

async fn an_attempt_ends_once(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (cell, mut tx) = queued(&fixture).await;
    let (_, token) = claim(&fixture, &mut tx, &cell).await;
    tx.end_attempt(cell.id, id!(fixture, ClaimToken), "lost", None).await.unwrap();
    tx.end_attempt(id!(fixture, CellId), token, "lost", None).await.unwrap();
    assert_eq!(tx.attempts_of(cell.id).await.unwrap()[0].outcome, None);
    tx.end_attempt(cell.id, token, "failed", Some(&failure())).await.unwrap();
    tx.end_attempt(cell.id, token, "lost", None).await.unwrap();
    let attempt = tx.attempts_of(cell.id).await.unwrap().remove(0);
    assert_eq!((attempt.outcome.as_deref(), attempt.failure), (Some("failed"), Some(failure())));
    assert_eq!(attempt.ended_at, Some(tx.now()));
}
