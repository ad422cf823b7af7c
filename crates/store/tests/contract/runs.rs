//! Runs: their pins, how they are listed and found, and how they end.

use pinhole_core::{BaselinePin, EnvironmentId, RunId, RunState, RunVerdict};
use pinhole_store::{Run, Tx};
use pinhole_testkit::Engine;

use crate::{
    rows::{Ground, line, sha256},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    a_run_is_read_as_it_was_written
    runs_are_listed_newest_first
    runs_are_listed_in_the_given_environments_only
    the_newest_completed_run_is_the_one_that_ended_last
    a_run_moves_until_it_ends
}

fn ids(runs: &[Run]) -> Vec<RunId> {
    runs.iter().map(|run| run.id).collect()
}

async fn a_run_is_read_as_it_was_written(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    let baselines = [
        fixture.run(&ground).pins.baseline,
        BaselinePin::Receipts { receipts: vec![id!(fixture, ReceiptId), id!(fixture, ReceiptId)] },
        BaselinePin::Line {
            name: line("release/2-1"),
            revision: u32::MAX,
            digest: sha256("revision"),
            environment: ground.environment.id,
        },
    ];
    for baseline in baselines {
        let mut run = fixture.run(&ground);
        run.pins.baseline = baseline;
        tx.insert_run(&run).await.unwrap();
        assert_same(tx.run(run.id).await.unwrap(), Some(run));
    }
    let ended = Run {
        state: RunState::Completed,
        verdict: Some(RunVerdict::NeedsBaseline),
        finished_at: Some(at(50)),
        ..fixture.run(&ground)
    };
    tx.insert_run(&ended).await.unwrap();
    assert_same(tx.run(ended.id).await.unwrap(), Some(ended.clone()));
    assert!(tx.run(id!(fixture, RunId)).await.unwrap().is_none());
    assert_exists(tx.insert_run(&ended).await);
}

async fn runs_are_listed_newest_first(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    let project = ground.project.id;
    assert!(tx.list_runs(project, None, None, 10).await.unwrap().is_empty());
    let mut expected = Vec::new();
    for _ in 0..5 {
        let run = fixture.run(&ground);
        tx.insert_run(&run).await.unwrap();
        expected.insert(0, run.id);
    }
    assert_eq!(ids(&tx.list_runs(project, None, None, 10).await.unwrap()), expected);
    assert_eq!(ids(&tx.list_runs(project, None, None, 2).await.unwrap()), expected[..2]);
    assert_eq!(ids(&tx.list_runs(project, None, Some(expected[1]), 2).await.unwrap()), expected[2..4]);
    assert!(tx.list_runs(project, None, Some(expected[4]), 2).await.unwrap().is_empty());
    assert!(tx.list_runs(id!(fixture, ProjectId), None, None, 10).await.unwrap().is_empty());
}

async fn runs_are_listed_in_the_given_environments_only(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    let live = fixture.environment(&ground.project, "live");
    tx.insert_environment(&live).await.unwrap();
    let staged = fixture.run(&ground);
    let mut lived = fixture.run(&ground);
    lived.pins.environment = live.id;
    for run in [&staged, &lived] {
        tx.insert_run(run).await.unwrap();
    }
    let (staging, live, unknown) = (ground.environment.id, live.id, id!(fixture, EnvironmentId));
    let cases: [(&[EnvironmentId], &[RunId]); 5] = [
        (&[staging], &[staged.id]),
        (&[unknown, live], &[lived.id]),
        (&[staging, live], &[lived.id, staged.id]),
        (&[unknown], &[]),
        (&[], &[]),
    ];
    for (environments, expected) in cases {
        let found = tx.list_runs(ground.project.id, Some(environments), None, 10).await.unwrap();
        assert_eq!(ids(&found), expected, "{environments:?}");
    }
}

async fn the_newest_completed_run_is_the_one_that_ended_last(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    assert!(newest(&mut tx, &ground).await.is_none());
    let ended = |state, verdict, micros| Run { state, verdict, finished_at: Some(at(micros)), ..fixture.run(&ground) };
    let passed = |micros| ended(RunState::Completed, Some(RunVerdict::Passed), micros);
    let (slow, quick) = (passed(30), passed(20));
    let failed = ended(RunState::Failed, None, 40);
    let empty = ended(RunState::Completed, Some(RunVerdict::NotEvidence), 50);
    let wrong = ended(RunState::Completed, Some(RunVerdict::FailedAssertion), 60);
    for run in [&slow, &quick, &failed, &empty, &wrong, &fixture.run(&ground)] {
        tx.insert_run(run).await.unwrap();
    }
    assert_eq!(newest(&mut tx, &ground).await, Some(slow.id));
    // Of two that ended at one instant it is the younger.
    let tie = passed(30);
    tx.insert_run(&tie).await.unwrap();
    assert_eq!(newest(&mut tx, &ground).await, Some(tie.id));
    let (scenario, environment) = (ground.scenario.id, ground.environment.id);
    assert!(tx.newest_completed_run(id!(fixture, ScenarioId), environment).await.unwrap().is_none());
    assert!(tx.newest_completed_run(scenario, id!(fixture, EnvironmentId)).await.unwrap().is_none());
}

async fn newest(tx: &mut Tx, ground: &Ground) -> Option<RunId> {
    let run = tx.newest_completed_run(ground.scenario.id, ground.environment.id).await.unwrap();
    run.map(|run| run.id)
}

async fn a_run_moves_until_it_ends(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (run, other) = (fixture.run(&ground), fixture.run(&ground));
    let mut tx = fixture.write().await;
    for run in [&run, &other] {
        tx.insert_run(run).await.unwrap();
    }
    // The version counts changes, so that the same state again is none.
    for (state, version) in [(RunState::Running, 2), (RunState::Running, 2), (RunState::Registering, 3)] {
        tx.refresh_run_state(run.id, state).await.unwrap();
        let found = tx.run(run.id).await.unwrap().unwrap();
        assert_eq!((found.state, found.version), (state, version));
    }
    assert!(!tx.finish_run(id!(fixture, RunId), RunState::Failed, None).await.unwrap());
    assert!(tx.finish_run(run.id, RunState::Completed, Some(RunVerdict::Changed)).await.unwrap());
    let ended = Run {
        state: RunState::Completed,
        verdict: Some(RunVerdict::Changed),
        version: 4,
        finished_at: Some(tx.now()),
        ..run.clone()
    };
    assert_same(tx.run(run.id).await.unwrap(), Some(ended.clone()));

    assert!(!tx.finish_run(run.id, RunState::Failed, None).await.unwrap());
    tx.refresh_run_state(run.id, RunState::Running).await.unwrap();
    assert_same(tx.run(run.id).await.unwrap(), Some(ended));
    assert_same(tx.run(other.id).await.unwrap(), Some(other));
}
