//! Cases with their queues, episodes and findings.

use pinhole_core::{CaseDisposition, CaseState};
use pinhole_store::{Case, CaseFilter, CaseQueue, Episode, Finding};
use pinhole_testkit::Engine;

use crate::{
    rows::{AWKWARD, Ground, sha256, slug},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    a_case_changes_by_version
    one_signature_has_one_case_that_goes_on
    cases_are_listed_by_place_state_and_queue
    a_queue_changes_by_version
    episodes_and_findings_are_counted
}

fn case(fixture: &Fixture, ground: &Ground, signature: &str) -> Case {
    Case {
        id: id!(fixture, CaseId),
        project_id: ground.project.id,
        environment_id: ground.environment.id,
        queue: slug("triage"),
        signature: sha256(signature),
        summary: "it's \"gone\", $1".parse().unwrap(),
        state: CaseState::Open,
        version: 1,
        claimed_by: None,
        disposition: None,
        duplicate_of: None,
        reason: None,
        disposed_by: None,
        opened_by: ground.principal.id,
        opened_at: at(1),
        updated_at: at(2),
    }
}

/// The same at its end.
fn ended(case: &Case, duplicate_of: &Case) -> Case {
    Case {
        state: CaseState::Disposed,
        version: case.version + 1,
        claimed_by: Some(case.opened_by),
        disposition: Some(CaseDisposition::Duplicate),
        duplicate_of: Some(duplicate_of.id),
        reason: Some(AWKWARD.parse().unwrap()),
        disposed_by: Some(case.opened_by),
        updated_at: at(9),
        ..case.clone()
    }
}

async fn a_case_changes_by_version(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (first, other) = (case(&fixture, &ground, "a"), case(&fixture, &ground, "b"));
    let mut tx = fixture.write().await;
    for case in [&first, &other] {
        tx.insert_case(case).await.unwrap();
        assert_same(tx.case(case.id).await.unwrap(), Some(case.clone()));
    }
    let after = ended(&first, &other);
    assert!(!tx.save_case(2, &after).await.unwrap());
    assert!(tx.save_case(1, &after).await.unwrap());
    assert!(!tx.save_case(1, &after).await.unwrap());
    assert_same(tx.case(first.id).await.unwrap(), Some(after));
    assert_same(tx.case(other.id).await.unwrap(), Some(other));
    assert!(tx.case(id!(fixture, CaseId)).await.unwrap().is_none());
}

async fn one_signature_has_one_case_that_goes_on(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (first, second) = (case(&fixture, &ground, "a"), case(&fixture, &ground, "a"));
    let environment = ground.environment.id;
    let mut tx = fixture.write().await;
    assert!(tx.undisposed_case(environment, first.signature).await.unwrap().is_none());
    tx.insert_case(&first).await.unwrap();
    assert_same(tx.undisposed_case(environment, first.signature).await.unwrap(), Some(first.clone()));
    assert!(tx.undisposed_case(environment, sha256("b")).await.unwrap().is_none());
    assert!(tx.undisposed_case(id!(fixture, EnvironmentId), first.signature).await.unwrap().is_none());
    assert!(tx.save_case(1, &ended(&first, &first)).await.unwrap());
    assert!(tx.undisposed_case(environment, first.signature).await.unwrap().is_none());
    tx.insert_case(&second).await.unwrap();
    assert_same(tx.undisposed_case(environment, first.signature).await.unwrap(), Some(second));
    assert_exists(tx.insert_case(&case(&fixture, &ground, "a")).await);
}

async fn cases_are_listed_by_place_state_and_queue(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let live = fixture.environment(&ground.project, "live");
    let first = case(&fixture, &ground, "a");
    let second = Case { environment_id: live.id, queue: slug("night"), ..case(&fixture, &ground, "b") };
    let third = Case { state: CaseState::Claimed, ..case(&fixture, &ground, "c") };
    let mut tx = fixture.write().await;
    tx.insert_environment(&live).await.unwrap();
    for case in [&first, &second, &third] {
        tx.insert_case(case).await.unwrap();
    }
    let all = CaseFilter { project: ground.project.id, environments: None, state: None, queue: None, after: None };
    let night = slug("night");
    let places = [live.id];
    for (filter, limit, expected) in [
        (all, 10, vec![first.id, second.id, third.id]),
        (all, 2, vec![first.id, second.id]),
        (CaseFilter { after: Some(first.id), ..all }, 10, vec![second.id, third.id]),
        (CaseFilter { environments: Some(&places), ..all }, 10, vec![second.id]),
        (CaseFilter { environments: Some(&[]), ..all }, 10, vec![]),
        (CaseFilter { state: Some(CaseState::Claimed), ..all }, 10, vec![third.id]),
        (CaseFilter { queue: Some(&night), ..all }, 10, vec![second.id]),
        (CaseFilter { queue: Some(&night), state: Some(CaseState::Claimed), ..all }, 10, vec![]),
        (CaseFilter { project: id!(fixture, ProjectId), ..all }, 10, vec![]),
    ] {
        let found = tx.list_cases(filter, limit).await.unwrap();
        assert_eq!(found.iter().map(|case| case.id).collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

async fn a_queue_changes_by_version(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (environment_id, name) = (ground.environment.id, slug("triage"));
    let queue = |waiting, claimed, version| CaseQueue { environment_id, name: name.clone(), waiting, claimed, version };
    let mut tx = fixture.write().await;
    assert!(tx.case_queue(environment_id, &name).await.unwrap().is_none());
    assert!(tx.save_case_queue(&queue(1, 0, 1)).await.unwrap());
    assert!(!tx.save_case_queue(&queue(5, 5, 1)).await.unwrap(), "another was first");
    assert!(!tx.save_case_queue(&queue(5, 5, 3)).await.unwrap(), "of a version that is not there");
    assert_same(tx.case_queue(environment_id, &name).await.unwrap(), Some(queue(1, 0, 1)));
    assert!(tx.save_case_queue(&queue(0, 1, 2)).await.unwrap());
    assert_same(tx.case_queue(environment_id, &name).await.unwrap(), Some(queue(0, 1, 2)));
}

async fn episodes_and_findings_are_counted(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (one, two) = (fixture.captured(&ground).await.run, fixture.captured(&ground).await.run);
    let case = case(&fixture, &ground, "a");
    let mut tx = fixture.write().await;
    tx.insert_case(&case).await.unwrap();
    assert_eq!(tx.count_of_case(case.id).await.unwrap(), (0, 0));
    let episode = |run_id| Episode {
        id: id!(fixture, EpisodeId),
        case_id: case.id,
        run_id,
        added_by: ground.principal.id,
        added_at: at(3),
    };
    let (first, second) = (episode(one.id), episode(two.id));
    assert!(tx.episode_of(case.id, one.id).await.unwrap().is_none());
    tx.insert_episode(&first).await.unwrap();
    tx.insert_episode(&second).await.unwrap();
    assert_same(tx.episode_of(case.id, one.id).await.unwrap(), Some(first.clone()));
    assert_same(tx.episodes_of(case.id, 10).await.unwrap(), vec![second.clone(), first]);
    assert_same(tx.episodes_of(case.id, 1).await.unwrap(), vec![second]);
    let finding = |text: &str| Finding {
        id: id!(fixture, FindingId),
        case_id: case.id,
        author: ground.principal.id,
        body: text.parse().unwrap(),
        created_at: at(4),
    };
    let (early, late) = (finding(AWKWARD), finding("second"));
    tx.insert_finding(&early).await.unwrap();
    tx.insert_finding(&late).await.unwrap();
    assert_same(tx.findings_of(case.id, None, 10).await.unwrap(), vec![early.clone(), late.clone()]);
    assert_same(tx.findings_of(case.id, None, 1).await.unwrap(), vec![early.clone()]);
    assert_same(tx.findings_of(case.id, Some(early.id), 10).await.unwrap(), vec![late]);
    assert_eq!(tx.count_of_case(case.id).await.unwrap(), (2, 2));
    assert_exists(tx.insert_episode(&episode(two.id)).await);
}
