//! Lists: in order, by pages, and only what the caller may see.

use pinhole_core::{ApprovalKind, ApprovalState, EntryState, EnvironmentId};
use pinhole_store::{Approval, ApprovalFilter, Entry, EntryFilter, Scenario};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    catalog::Line,
    publications::{Branch, attempt, ids},
    rows::{first_revisions, key, line, slug},
    support::{Fixture, at, id, on_both_engines},
};

on_both_engines! {
    scenarios_come_by_slug_with_the_titles_of_their_heads
    a_scenario_is_archived_once
    approvals_are_listed_as_they_stand_now
    approvals_are_listed_where_all_items_are_visible
    entries_are_listed_by_what_is_asked_for
    entries_of_a_revision_are_those_that_are_visible
    revisions_come_newest_first
    publications_come_newest_first
    the_newest_attempts_come_in_order
}

async fn scenarios_come_by_slug_with_the_titles_of_their_heads(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (_, mut revision) = first_revisions(&ground);
    let mut tx = fixture.write().await;
    tx.insert_scenario_revision(&revision).await.unwrap();
    let expected = ["basket", "checkout", "payment"];
    for name in ["payment", "basket"] {
        let scenario = fixture.scenario(&ground.project, name);
        tx.insert_scenario(&scenario).await.unwrap();
        (revision.scenario_id, revision.title) = (scenario.id, name.parse().unwrap());
        tx.insert_scenario_revision(&revision).await.unwrap();
    }
    let project = ground.project.id;
    let names = |found: Vec<(Scenario, pinhole_core::Title)>| -> Vec<String> {
        found.into_iter().map(|(scenario, _)| scenario.slug.to_string()).collect()
    };
    assert_eq!(names(tx.list_scenarios(project, None, 10).await.unwrap()), expected);
    assert_eq!(names(tx.list_scenarios(project, None, 2).await.unwrap()), expected[..2]);
    let rest = tx.list_scenarios(project, Some(&slug("basket")), 10).await.unwrap();
    let titles: Vec<_> = rest.iter().map(|(_, title)| title.as_str()).collect();
    assert_eq!(titles, ["Zo\u{eb}'s \"checkout\"", "payment"]);
    assert!(tx.list_scenarios(id!(fixture, ProjectId), None, 10).await.unwrap().is_empty());
}

async fn a_scenario_is_archived_once(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let scenario = ground.scenario.id;
    let mut tx = fixture.write().await;
    assert!(!tx.archive_scenario(scenario, 2).await.unwrap());
    assert!(!tx.archive_scenario(id!(fixture, ScenarioId), 1).await.unwrap());
    assert!(tx.archive_scenario(scenario, 1).await.unwrap());
    assert!(!tx.archive_scenario(scenario, 2).await.unwrap());
    let found = tx.scenario(scenario).await.unwrap().unwrap();
    assert_eq!((found.version, found.archived_at), (2, Some(tx.now())));
}

async fn approvals_are_listed_as_they_stand_now(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let receipt = fixture.captured(&ground).await.receipt;
    let candidates = ["a", "b"].map(|name| fixture.candidate(&ground, &receipt, key("main", name)));
    let mut tx = fixture.write().await;
    let later = tx.now().plus(std::time::Duration::from_secs(60));
    let open = Approval { expires_at: later, ..fixture.approval(&ground, &line("main"), &[]) };
    let mut retiring = Approval { expires_at: later, ..fixture.approval(&ground, &line("main"), &[]) };
    (retiring.intent.kind, retiring.state) = (ApprovalKind::Retire, ApprovalState::Approved);
    let late = fixture.approval(&ground, &line("main"), &candidates.each_ref());
    let denied = Approval { state: ApprovalState::Denied, ..late.clone() };
    let denied = Approval { id: id!(fixture, ApprovalId), ..denied };
    for candidate in &candidates {
        tx.insert_candidate(candidate).await.unwrap();
    }
    for approval in [&open, &retiring, &late, &denied] {
        tx.insert_approval(approval, &[ground.environment.id; 2]).await.unwrap();
    }
    let mut filter = ApprovalFilter { project: ground.project.id, visible: None, state: None, before: None };
    let found = tx.list_approvals(&filter, 10).await.unwrap();
    let seen: Vec<_> = found.iter().map(|found| (found.id, found.kind, found.state, found.items)).collect();
    let baseline = ApprovalKind::Baseline;
    assert_eq!(
        seen,
        [
            (denied.id, baseline, ApprovalState::Denied, 2),
            (late.id, baseline, ApprovalState::Expired, 2),
            (retiring.id, ApprovalKind::Retire, ApprovalState::Approved, 0),
            (open.id, baseline, ApprovalState::Pending, 0),
        ]
    );
    assert_eq!(found[0].release_label, denied.intent.release_label);
    assert_eq!((found[0].intent_sha256, found[0].version), (denied.intent_sha256, 1));
    for (state, expected) in [(ApprovalState::Pending, open.id), (ApprovalState::Expired, late.id)] {
        filter.state = Some(state);
        let found = tx.list_approvals(&filter, 10).await.unwrap();
        assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [expected], "{state}");
    }
    (filter.state, filter.before) = (None, Some(late.id));
    let found = tx.list_approvals(&filter, 1).await.unwrap();
    assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [retiring.id]);
    filter.project = id!(fixture, ProjectId);
    assert!(tx.list_approvals(&filter, 10).await.unwrap().is_empty());
}

async fn approvals_are_listed_where_all_items_are_visible(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let receipt = fixture.captured(&ground).await.receipt;
    let live = fixture.environment(&ground.project, "live");
    let candidates = ["a", "b"].map(|name| fixture.candidate(&ground, &receipt, key("main", name)));
    let approval = fixture.approval(&ground, &line("main"), &candidates.each_ref());
    let (staging, live_id) = (ground.environment.id, live.id);
    let mut tx = fixture.write().await;
    tx.insert_environment(&live).await.unwrap();
    for candidate in &candidates {
        tx.insert_candidate(candidate).await.unwrap();
    }
    tx.insert_approval(&approval, &[live_id, staging]).await.unwrap();
    let mut both = [staging, live_id];
    both.sort_unstable();
    assert_eq!(tx.environments_of_approval(approval.id).await.unwrap(), both);
    assert!(tx.environments_of_approval(id!(fixture, ApprovalId)).await.unwrap().is_empty());
    let cases: [(Option<&[EnvironmentId]>, usize); 5] =
        [(None, 1), (Some(&[live_id, staging]), 1), (Some(&[staging]), 0), (Some(&[live_id]), 0), (Some(&[]), 0)];
    for (visible, expected) in cases {
        let filter = ApprovalFilter { project: ground.project.id, visible, state: None, before: None };
        assert_eq!(tx.list_approvals(&filter, 10).await.unwrap().len(), expected, "{visible:?}");
    }
}

async fn entries_are_listed_by_what_is_asked_for(engine: Engine) {
    let main = Line::new(engine).await;
    let (fixture, project) = (&main.fixture, main.ground.project.id);
    let (live, staging) = (fixture.environment(&main.ground.project, "live"), main.ground.environment.id);
    let cart = main.entry(key("main", "cart"), 1);
    let retired =
        Entry { state: EntryState::Retired, until_revision: Some(2), ..main.entry(key("main", "payment"), 1) };
    let other = main.entry(key("release/2-1", "cart"), 1);
    let lived = Entry { environment_id: live.id, ..main.entry(key("main", "done"), 2) };
    let mut tx = fixture.write().await;
    tx.insert_environment(&live).await.unwrap();
    for entry in [&cart, &retired, &other, &lived] {
        tx.insert_entry(entry).await.unwrap();
    }
    let all = EntryFilter { project, visible: None, line: None, environment: None, state: None, before: None };
    let (release, only_live, only_staging) = (line("release/2-1"), [live.id], [staging]);
    let cases = [
        (all, 10, vec![&lived, &other, &retired, &cart]),
        (all, 1, vec![&lived]),
        (EntryFilter { before: Some(other.id), ..all }, 1, vec![&retired]),
        (EntryFilter { line: Some(&release), ..all }, 10, vec![&other]),
        (EntryFilter { environment: Some(live.id), ..all }, 10, vec![&lived]),
        (EntryFilter { state: Some(EntryState::Retired), ..all }, 10, vec![&retired]),
        (EntryFilter { visible: Some(&only_live), ..all }, 10, vec![&lived]),
        (EntryFilter { visible: Some(&only_staging), environment: Some(live.id), ..all }, 10, vec![]),
        (EntryFilter { visible: Some(&[]), ..all }, 10, vec![]),
        (EntryFilter { project: id!(fixture, ProjectId), ..all }, 10, vec![]),
    ];
    for (filter, limit, expected) in cases {
        let found: Vec<_> = tx.list_entries(&filter, limit).await.unwrap().iter().map(|entry| entry.id).collect();
        assert_eq!(found, expected.iter().map(|entry| entry.id).collect::<Vec<_>>(), "{filter:?}");
    }
}

async fn entries_of_a_revision_are_those_that_are_visible(engine: Engine) {
    let main = Line::new(engine).await;
    let (fixture, project) = (&main.fixture, main.ground.project.id);
    let live = fixture.environment(&main.ground.project, "live");
    let cart = main.entry(key("main", "cart"), 1);
    let lived = Entry { environment_id: live.id, ..main.entry(key("main", "done"), 1) };
    let mut tx = fixture.write().await;
    tx.insert_environment(&live).await.unwrap();
    tx.insert_entry(&cart).await.unwrap();
    tx.insert_entry(&lived).await.unwrap();
    for (visible, expected) in [(live.id, lived.id), (main.ground.environment.id, cart.id)] {
        let found = tx.entries_at(project, &main.name, 1, Some(&[visible]), None, 10).await.unwrap();
        assert_eq!(found.iter().map(|entry| entry.id).collect::<Vec<_>>(), [expected]);
    }
    assert!(tx.entries_at(project, &main.name, 1, Some(&[]), None, 10).await.unwrap().is_empty());
}

async fn revisions_come_newest_first(engine: Engine) {
    let main = Line::new(engine).await;
    let project = main.ground.project.id;
    let mut tx = main.fixture.write().await;
    for revision in 1..=11 {
        tx.insert_catalog_revision(&main.revision(revision)).await.unwrap();
    }
    for (before, limit, expected) in
        [(None, 3, vec![11, 10, 9]), (Some(10), 2, vec![9, 8]), (Some(2), 5, vec![1]), (Some(1), 5, vec![])]
    {
        let found = tx.list_catalog_revisions(project, &main.name, before, limit).await.unwrap();
        assert_eq!(found.iter().map(|found| found.revision).collect::<Vec<_>>(), expected);
    }
    assert!(tx.list_catalog_revisions(project, &line("other"), None, 5).await.unwrap().is_empty());
}

async fn publications_come_newest_first(engine: Engine) {
    let branch = Branch::new(engine).await;
    let project = branch.ground.project.id;
    let publications = [1, 2, 3].map(|revision| branch.publication(revision));
    let mut tx = branch.fixture.write().await;
    for publication in &publications {
        tx.insert_publication(publication).await.unwrap();
    }
    let [first, second, third] = publications.map(|publication| publication.id);
    assert_eq!(ids(&tx.list_publications(project, None, 10).await.unwrap()), [third, second, first]);
    assert_eq!(ids(&tx.list_publications(project, Some(third), 1).await.unwrap()), [second]);
    assert!(tx.list_publications(id!(branch.fixture, ProjectId), None, 10).await.unwrap().is_empty());
}

async fn the_newest_attempts_come_in_order(engine: Engine) {
    let branch = Branch::new(engine).await;
    let publication = branch.publication(1);
    let mut tx = branch.fixture.write().await;
    tx.insert_publication(&publication).await.unwrap();
    for number in 1..=12 {
        let mut attempt = attempt(&publication, json!({ "commit": null }));
        (attempt.attempt, attempt.started_at) = (number, at(0));
        tx.insert_publication_attempt(&attempt).await.unwrap();
    }
    let found = tx.newest_publication_attempts(publication.id, 3).await.unwrap();
    assert_eq!(found.iter().map(|attempt| attempt.attempt).collect::<Vec<_>>(), [10, 11, 12]);
    assert!(tx.newest_publication_attempts(id!(branch.fixture, PublicationId), 3).await.unwrap().is_empty());
}
