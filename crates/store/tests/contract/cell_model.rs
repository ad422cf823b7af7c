//! Random sequences of what workers, sweeper and registrar do with a cell, beside a model of what may come of it.

use std::time::Duration;

use pinhole_core::{CellId, ClaimToken, RunState, Timestamp};
use pinhole_store::{Cell, Tx};
use pinhole_testkit::Engine;
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestCaseError, TestRunner},
};

use crate::{
    cells::submission,
    support::{Fixture, id},
};

/// Sequences on each engine.
const CASES: u32 = 64;
/// The workers that contend for the cell; each keeps the token of its last claim, as a stopped one would.
const WORKERS: usize = 3;
const HOUR: Duration = Duration::from_secs(3600);

/// One thing that happens. A `bool` says whether the lease or the waiting lies in the future.
#[derive(Clone, Copy, Debug)]
enum Step {
    Claim {
        worker: usize,
        lasts: bool,
    },
    Renew {
        worker: usize,
        lasts: bool,
    },
    Submit {
        worker: usize,
    },
    Requeue {
        worker: usize,
        waits: bool,
    },
    /// The registrar, which goes by the attempt that it read.
    Finish {
        attempts_ago: u32,
        from: RunState,
        to: RunState,
    },
    Expire,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Queued { ready: bool },
    Running { token: ClaimToken, lasts: bool },
    Registering { token: ClaimToken },
    Ended(RunState),
}

struct Model {
    state: State,
    attempt: u32,
    /// The token of each worker's last claim.
    tokens: [ClaimToken; WORKERS],
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let worker = || 0..WORKERS;
    let step = prop_oneof![
        4 => (worker(), any::<bool>()).prop_map(|(worker, lasts)| Step::Claim { worker, lasts }),
        2 => (worker(), any::<bool>()).prop_map(|(worker, lasts)| Step::Renew { worker, lasts }),
        3 => worker().prop_map(|worker| Step::Submit { worker }),
        3 => (worker(), prop::bool::weighted(0.2)).prop_map(|(worker, waits)| Step::Requeue { worker, waits }),
        2 => (
            0_u32..2,
            select(vec![RunState::Queued, RunState::Running, RunState::Registering]),
            select(vec![RunState::Completed, RunState::Failed, RunState::Cancelled]),
        )
            .prop_map(|(attempts_ago, from, to)| Step::Finish { attempts_ago, from, to }),
        1 => Just(Step::Expire),
    ];
    vec(step, 1..40)
}

impl Model {
    /// What the store should answer to a step, and moves on.
    fn take(&mut self, step: Step, fresh: ClaimToken) -> bool {
        let token = |worker: usize| self.tokens[worker];
        match (step, self.state.clone()) {
            (Step::Claim { worker, lasts }, State::Queued { ready: true }) => {
                self.tokens[worker] = fresh;
                self.attempt += 1;
                self.state = State::Running { token: fresh, lasts };
            }
            (Step::Renew { worker, lasts }, State::Running { token: held, lasts: true }) if token(worker) == held => {
                self.state = State::Running { token: held, lasts };
            }
            (Step::Submit { worker }, State::Running { token: held, lasts: true }) if token(worker) == held => {
                self.state = State::Registering { token: held };
            }
            (
                Step::Requeue { worker, waits },
                State::Running { token: held, .. } | State::Registering { token: held },
            ) if token(worker) == held => {
                self.state = State::Queued { ready: !waits };
            }
            (Step::Finish { attempts_ago: 0, from, to }, state) if state.name() == from => {
                self.state = State::Ended(to);
            }
            (Step::Expire, state) => {
                if let State::Running { token, .. } = state {
                    self.state = State::Running { token, lasts: false };
                }
            }
            _ => return false,
        }
        true
    }
}

impl State {
    fn name(&self) -> RunState {
        match self {
            Self::Queued { .. } => RunState::Queued,
            Self::Running { .. } => RunState::Running,
            Self::Registering { .. } => RunState::Registering,
            Self::Ended(state) => *state,
        }
    }

    fn holder(&self) -> Option<ClaimToken> {
        match self {
            Self::Running { token, .. } | Self::Registering { token } => Some(*token),
            Self::Queued { .. } | Self::Ended(_) => None,
        }
    }
}

/// Does a step with the store and returns its answer.
async fn perform(tx: &mut Tx, id: CellId, step: Step, model: &Model, fresh: ClaimToken) -> pinhole_core::Result<bool> {
    let now = tx.now();
    let past = Timestamp::from_micros(now.as_micros() - 1);
    let lease = |lasts| if lasts { now.plus(HOUR) } else { past };
    let cell = tx.cell(id).await?.unwrap();
    match step {
        Step::Claim { lasts, .. } => Ok(tx.claim_cell(id, fresh, "worker", lease(lasts)).await?.is_some()),
        Step::Renew { worker, lasts } => tx.renew_cell(id, model.tokens[worker], lease(lasts)).await,
        Step::Submit { worker } => tx.submit_cell(id, model.tokens[worker], &submission(None), now.plus(HOUR)).await,
        Step::Requeue { worker, waits } => tx.requeue_cell(id, model.tokens[worker], lease(waits), "lost", None).await,
        Step::Finish { attempts_ago, from, to } => {
            // Of an attempt that never was, when the cell has had none.
            let attempt = cell.attempt.wrapping_sub(attempts_ago) & 0xffff;
            let ended = Cell { attempt, state: to, finished_at: Some(now), ..cell };
            tx.finish_cell(&ended, from).await
        }
        // What the end of a lease looks like without a clock to move.
        Step::Expire => tx.postpone_cell(&cell, past).await,
    }
}

/// That the cell and its attempts are what the model says.
async fn check(tx: &mut Tx, id: CellId, model: &Model) -> Result<(), TestCaseError> {
    let cell = tx.cell(id).await.unwrap().unwrap();
    prop_assert_eq!(cell.state, model.state.name());
    prop_assert_eq!(cell.attempt, model.attempt);
    prop_assert_eq!(cell.claim_token, model.state.holder());
    prop_assert_eq!(cell.submission.is_some(), matches!(model.state, State::Registering { .. }));
    prop_assert_eq!(cell.finished_at.is_some(), cell.state.is_terminal());
    let attempts = tx.attempts_of(id).await.unwrap();
    let numbers: Vec<_> = attempts.iter().map(|attempt| attempt.attempt).collect();
    prop_assert_eq!(numbers, (1..=model.attempt).collect::<Vec<_>>());
    // An attempt that goes on is the last one, and somebody holds the cell. (Who finishes a running cell ends its
    // attempt with `end_attempt`.)
    let open: Vec<_> = attempts.iter().filter(|attempt| attempt.ended_at.is_none()).collect();
    if matches!(model.state, State::Running { .. }) {
        prop_assert_eq!(open.len(), 1);
        prop_assert_eq!(open[0].attempt, model.attempt);
    } else if !cell.state.is_terminal() {
        prop_assert!(open.is_empty());
    }
    Ok(())
}

/// Plays one sequence in a transaction of its own, which is not committed.
async fn play(fixture: &Fixture, cell: &Cell, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut tx = fixture.write().await;
    let mut model = Model {
        state: State::Queued { ready: true },
        attempt: 0,
        tokens: [(); WORKERS].map(|()| id!(fixture, ClaimToken)),
    };
    for step in steps {
        let fresh = id!(fixture, ClaimToken);
        let before = (model.attempt, model.state.clone());
        let answer = perform(&mut tx, cell.id, *step, &model, fresh).await.unwrap();
        let expected = model.take(*step, fresh);
        prop_assert_eq!(answer, expected, "{:?} in {:?}", step, before.1);
        check(&mut tx, cell.id, &model).await?;
        // The model itself keeps what is promised.
        prop_assert!(model.attempt >= before.0);
        prop_assert!(!before.1.name().is_terminal() || model.state == before.1);
    }
    Ok(())
}

fn hold_on(engine: Engine) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (fixture, cell) = runtime.block_on(async {
        let fixture = Fixture::new(engine).await;
        let ground = fixture.ground().await;
        let run = fixture.run(&ground);
        let cell = fixture.cell(run.id, 0);
        let mut tx = fixture.write().await;
        tx.insert_run(&run).await.unwrap();
        tx.insert_cell(&cell).await.unwrap();
        tx.commit().await.unwrap();
        (fixture, cell)
    });
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&steps(), |steps| runtime.block_on(play(&fixture, &cell, &steps)));
    result.expect("a cell does what the model does");
}

#[test]
fn a_cell_on_sqlite_keeps_to_the_model() {
    hold_on(Engine::Sqlite);
}

#[test]
fn a_cell_on_postgres_keeps_to_the_model() {
    hold_on(Engine::Postgres);
}
