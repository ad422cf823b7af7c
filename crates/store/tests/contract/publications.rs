//! Publications, how they are found by branch, and their attempts.

use std::time::Duration;

use pinhole_core::{PublicationId, PublicationState, Timestamp};
use pinhole_store::{Publication, PublicationAttempt, PublicationObservation, Remote};
use pinhole_testkit::Engine;
use serde_json::{Value as Json, json};

use crate::{
    rows::{AWKWARD, Ground, line, slug},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    a_revision_has_one_publication_to_a_branch
    a_save_needs_the_publication_as_it_was_read
    another_catalog_on_the_branch_is_found_until_it_gave_up
    what_was_published_to_a_branch_is_listed_in_order
    an_earlier_publication_that_may_be_on_the_branch_is_found
    queued_publications_of_a_branch_are_listed
    due_publications_are_the_unfinished_ones_whose_time_has_come
    attempts_are_kept_apart
    observations_are_kept_in_order
    what_the_newest_look_missed_is_found_by_branch
}

pub(crate) struct Branch {
    pub(crate) fixture: Fixture,
    pub(crate) ground: Ground,
    remote: Remote,
}

impl Branch {
    pub(crate) async fn new(engine: Engine) -> Self {
        let fixture = Fixture::new(engine).await;
        let ground = fixture.ground().await;
        let remote = Remote {
            id: id!(fixture, RemoteId),
            slug: slug("origin"),
            url: "file:///srv/catalog.git".into(),
            branches: vec!["*".into()],
            host_key: None,
            certificate_authorities: None,
            credential: None,
            version: 1,
            is_configured: true,
            created_at: at(0),
        };
        let mut tx = fixture.write().await;
        tx.put_remote(&remote).await.unwrap();
        tx.commit().await.unwrap();
        Self { fixture, ground, remote }
    }

    /// A queued publication to `main` that is not due for ever.
    pub(crate) fn publication(&self, revision: u32) -> Publication {
        Publication {
            id: id!(self.fixture, PublicationId),
            project_id: self.ground.project.id,
            line: line("main"),
            revision,
            remote_id: self.remote.id,
            branch: line("main"),
            state: PublicationState::Queued,
            version: 1,
            attempt: 1,
            claim_token: None,
            due_at: Timestamp::from_micros(i64::MAX),
            tries: 0,
            detail: None,
            receipt: None,
            log_attempt: None,
            created_by: self.ground.principal.id,
            created_at: at(0),
            finished_at: None,
        }
    }
}

pub(crate) fn attempt(publication: &Publication, expected_head: Json) -> PublicationAttempt {
    PublicationAttempt {
        publication_id: publication.id,
        attempt: publication.attempt,
        expected_head,
        remote_url: Some(AWKWARD.into()),
        base_commit: None,
        commit_id: None,
        commit_signature: None,
        outcome: None,
        detail: None,
        started_at: at(1),
        ended_at: None,
    }
}

pub(crate) fn ids(publications: &[Publication]) -> Vec<PublicationId> {
    publications.iter().map(|publication| publication.id).collect()
}

async fn a_revision_has_one_publication_to_a_branch(engine: Engine) {
    let branch = Branch::new(engine).await;
    let publication = branch.publication(1);
    let to_other_branch = Publication { branch: line("release"), ..branch.publication(1) };
    let of_other_line = Publication { line: line("release"), ..branch.publication(1) };
    let mut tx = branch.fixture.write().await;
    for publication in [&publication, &to_other_branch, &of_other_line, &branch.publication(2)] {
        tx.insert_publication(publication).await.unwrap();
        let Publication { id, project_id, line, revision, remote_id, branch, .. } = publication;
        assert_same(tx.publication(*id).await.unwrap(), Some(publication.clone()));
        let found = tx.publication_of(*project_id, line, *revision, *remote_id, branch).await.unwrap();
        assert_same(found, Some(publication.clone()));
    }
    let unknown = id!(branch.fixture, PublicationId);
    assert!(tx.publication(unknown).await.unwrap().is_none());
    let (project, remote, main) = (branch.ground.project.id, branch.remote.id, line("main"));
    assert!(tx.publication_of(project, &main, 3, remote, &main).await.unwrap().is_none());
    assert!(tx.publication_of(project, &main, 1, id!(branch.fixture, RemoteId), &main).await.unwrap().is_none());
    assert_exists(tx.insert_publication(&branch.publication(1)).await);
}

async fn a_save_needs_the_publication_as_it_was_read(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (queued, other) = (branch.publication(1), branch.publication(2));
    let token = id!(branch.fixture, ClaimToken);
    let claimed = Publication {
        state: PublicationState::Committing,
        version: 2,
        claim_token: Some(token),
        due_at: at(100),
        tries: 1,
        ..queued.clone()
    };
    let published = Publication {
        state: PublicationState::Published,
        version: 3,
        attempt: 2,
        claim_token: None,
        due_at: at(200),
        tries: 0,
        detail: Some(AWKWARD.into()),
        receipt: Some("{\"receipt\":1}".into()),
        log_attempt: Some(1),
        finished_at: Some(at(150)),
        ..queued.clone()
    };
    let mut tx = branch.fixture.write().await;
    tx.insert_publication(&queued).await.unwrap();
    tx.insert_publication(&other).await.unwrap();
    assert!(!tx.save_publication(&branch.publication(1), &claimed).await.unwrap());
    assert!(tx.save_publication(&queued, &claimed).await.unwrap());
    assert_same(tx.publication(queued.id).await.unwrap(), Some(claimed.clone()));
    let stale = [
        queued.clone(),
        Publication { claim_token: Some(id!(branch.fixture, ClaimToken)), ..claimed.clone() },
        Publication { claim_token: None, ..claimed.clone() },
        Publication { state: PublicationState::Pushing, ..claimed.clone() },
        Publication { attempt: 2, ..claimed.clone() },
        Publication { due_at: at(101), ..claimed.clone() },
    ];
    for before in &stale {
        assert!(!tx.save_publication(before, &published).await.unwrap(), "{before:?}");
    }
    assert_same(tx.publication(queued.id).await.unwrap(), Some(claimed.clone()));
    assert!(tx.save_publication(&claimed, &published).await.unwrap());
    assert_same(tx.publication(queued.id).await.unwrap(), Some(published));
    assert_same(tx.publication(other.id).await.unwrap(), Some(other));
}

async fn another_catalog_on_the_branch_is_found_until_it_gave_up(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (project, remote, main) = (branch.ground.project.id, branch.remote.id, line("main"));
    let elsewhere = Publication { branch: line("release"), line: line("other"), ..branch.publication(1) };
    let mut tx = branch.fixture.write().await;
    // Its own publications and those to other branches are no hindrance.
    tx.insert_publication(&branch.publication(1)).await.unwrap();
    tx.insert_publication(&elsewhere).await.unwrap();
    assert!(tx.other_catalog_on_branch(remote, &main, project, &main).await.unwrap().is_none());
    for (revision, state) in (1..).zip(PublicationState::ALL.iter().copied()) {
        let other = Publication { state, line: line("other"), ..branch.publication(revision) };
        tx.insert_publication(&other).await.unwrap();
        let found = tx.other_catalog_on_branch(remote, &main, project, &main).await.unwrap();
        let gave_up =
            matches!(state, PublicationState::Conflict | PublicationState::Rejected | PublicationState::Failed);
        assert_same(found.map(|found| found.id), (!gave_up).then_some(other.id));
        // Out of the way of the next one.
        let done = Publication { state: PublicationState::Failed, ..other.clone() };
        assert!(tx.save_publication(&other, &done).await.unwrap());
    }
    let other_project = branch.fixture.project(branch.ground.principal.id, "other");
    tx.insert_project(&other_project).await.unwrap();
    let same_line = Publication { project_id: other_project.id, ..branch.publication(1) };
    tx.insert_publication(&same_line).await.unwrap();
    let found = tx.other_catalog_on_branch(remote, &main, project, &main).await.unwrap();
    assert_same(found.map(|found| found.id), Some(same_line.id));
}

async fn what_was_published_to_a_branch_is_listed_in_order(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (remote, main) = (branch.remote.id, line("main"));
    let mut tx = branch.fixture.write().await;
    let mut published = Vec::new();
    for (revision, state, micros) in [
        (3, PublicationState::Published, 30),
        (1, PublicationState::Published, 10),
        (2, PublicationState::Published, 20),
        (4, PublicationState::Failed, 5),
    ] {
        let queued = branch.publication(revision);
        tx.insert_publication(&queued).await.unwrap();
        let ended = Publication { state, finished_at: Some(at(micros)), ..queued.clone() };
        assert!(tx.save_publication(&queued, &ended).await.unwrap());
        published.push(ended.id);
    }
    let (third, first, second) = (published[0], published[1], published[2]);
    for (until, expected) in [(9, vec![]), (20, vec![first, second]), (99, vec![first, second, third])] {
        assert_eq!(ids(&tx.published_to_branch(remote, &main, at(until)).await.unwrap()), expected);
    }
    assert!(tx.published_to_branch(remote, &line("release"), at(99)).await.unwrap().is_empty());
    let unknown = id!(branch.fixture, RemoteId);
    assert!(tx.published_to_branch(unknown, &main, at(99)).await.unwrap().is_empty());
}

async fn an_earlier_publication_that_may_be_on_the_branch_is_found(engine: Engine) {
    let branch = Branch::new(engine).await;
    let later = branch.publication(99);
    let mut tx = branch.fixture.write().await;
    for (revision, state) in (1..).zip(PublicationState::ALL.iter().copied()) {
        let publication = Publication { state, attempt: 2, ..branch.publication(revision) };
        tx.insert_publication(&publication).await.unwrap();
        for number in [1, 2] {
            let mut attempt = attempt(&publication, Json::Null);
            attempt.attempt = number;
            tx.insert_publication_attempt(&attempt).await.unwrap();
        }
        assert!(tx.unsure_publication_before(&later).await.unwrap().is_none(), "no attempt has made a commit");
        // One attempt with a commit is enough, also when another came after it.
        let mut made = attempt(&publication, Json::Null);
        (made.attempt, made.commit_id) = (1, Some("abc".into()));
        tx.save_publication_attempt(&made).await.unwrap();
        let unsure = matches!(
            state,
            PublicationState::Queued
                | PublicationState::Committing
                | PublicationState::Pushing
                | PublicationState::Verifying
        );
        let found = tx.unsure_publication_before(&later).await.unwrap();
        assert_same(found, unsure.then_some(publication.clone()));
        for other in [
            publication.clone(),
            Publication { branch: line("release"), ..later.clone() },
            Publication { line: line("release"), ..later.clone() },
            Publication { remote_id: id!(branch.fixture, RemoteId), ..later.clone() },
            Publication { project_id: id!(branch.fixture, ProjectId), ..later.clone() },
        ] {
            assert!(tx.unsure_publication_before(&other).await.unwrap().is_none(), "{other:?}");
        }
        // Out of the way of the next one.
        let done = Publication { state: PublicationState::Failed, ..publication.clone() };
        assert!(tx.save_publication(&publication, &done).await.unwrap());
    }
}

async fn queued_publications_of_a_branch_are_listed(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (remote, main) = (branch.remote.id, line("main"));
    let mut tx = branch.fixture.write().await;
    let mut queued = Vec::new();
    for (revision, state) in
        [(2, PublicationState::Queued), (1, PublicationState::Queued), (3, PublicationState::Committing)]
    {
        let publication = Publication { state, ..branch.publication(revision) };
        tx.insert_publication(&publication).await.unwrap();
        queued.push(publication.id);
    }
    let elsewhere = Publication { branch: line("release"), ..branch.publication(4) };
    tx.insert_publication(&elsewhere).await.unwrap();
    assert_eq!(ids(&tx.queued_publications(remote, &main).await.unwrap()), [queued[1], queued[0]]);
    assert_eq!(ids(&tx.queued_publications(remote, &line("release")).await.unwrap()), [elsewhere.id]);
    let unknown = id!(branch.fixture, RemoteId);
    assert!(tx.queued_publications(unknown, &main).await.unwrap().is_empty());
    for revision in 10..110 {
        tx.insert_publication(&branch.publication(revision)).await.unwrap();
    }
    assert_eq!(tx.queued_publications(remote, &main).await.unwrap().len(), 100);
}

async fn due_publications_are_the_unfinished_ones_whose_time_has_come(engine: Engine) {
    let branch = Branch::new(engine).await;
    let mut tx = branch.fixture.write().await;
    let now = tx.now();
    tx.insert_publication(&branch.publication(1)).await.unwrap();
    let edge = Publication { due_at: now, ..branch.publication(2) };
    tx.insert_publication(&edge).await.unwrap();
    assert!(tx.due_publications().await.unwrap().is_empty());
    let mut expected = Vec::new();
    for (revision, state) in (3..).zip(PublicationState::ALL.iter().copied()) {
        let due_at = Timestamp::from_micros(now.as_micros() - i64::from(revision));
        let publication = Publication { state, due_at, ..branch.publication(revision) };
        tx.insert_publication(&publication).await.unwrap();
        let unfinished = matches!(
            state,
            PublicationState::Queued
                | PublicationState::Committing
                | PublicationState::Pushing
                | PublicationState::Verifying
        );
        if unfinished {
            expected.insert(0, publication);
        }
    }
    assert_same(tx.due_publications().await.unwrap(), expected);
    for revision in 1000..1100 {
        let due_at = Timestamp::from_micros(now.as_micros() - 1);
        tx.insert_publication(&Publication { due_at, ..branch.publication(revision) }).await.unwrap();
    }
    assert_eq!(tx.due_publications().await.unwrap().len(), 100);
}

async fn attempts_are_kept_apart(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (first, other) = (branch.publication(1), branch.publication(2));
    let second = Publication { attempt: 2, ..first.clone() };
    let mut expected =
        vec![attempt(&first, json!({ "commit": AWKWARD })), attempt(&second, json!({ "missing": true }))];
    let elsewhere = attempt(&other, json!({}));
    let mut tx = branch.fixture.write().await;
    for publication in [&first, &other] {
        tx.insert_publication(publication).await.unwrap();
        assert!(tx.publication_attempts(publication.id).await.unwrap().is_empty());
    }
    for attempt in [&expected[1], &expected[0], &elsewhere] {
        tx.insert_publication_attempt(attempt).await.unwrap();
    }
    assert_same(tx.publication_attempts(first.id).await.unwrap(), expected.clone());
    expected[0] = PublicationAttempt {
        base_commit: Some("base".into()),
        commit_id: Some("commit".into()),
        commit_signature: Some(AWKWARD.into()),
        outcome: Some("conflict".into()),
        detail: Some(AWKWARD.into()),
        started_at: at(50),
        ended_at: Some(at(50).plus(Duration::from_secs(1))),
        ..expected[0].clone()
    };
    tx.save_publication_attempt(&expected[0]).await.unwrap();
    assert_same(tx.publication_attempts(first.id).await.unwrap(), expected.clone());
    assert_same(tx.publication_attempts(other.id).await.unwrap(), vec![elsewhere]);
    assert_exists(tx.insert_publication_attempt(&expected[1]).await);
}

fn observation(publication: &Publication, number: u32, on_branch: bool) -> PublicationObservation {
    let head = (number > 1).then(|| format!("{AWKWARD}{number}"));
    PublicationObservation { publication_id: publication.id, number, seen_at: at(number.into()), head, on_branch }
}

async fn observations_are_kept_in_order(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (one, other) = (branch.publication(1), branch.publication(2));
    let mut tx = branch.fixture.write().await;
    for publication in [&one, &other] {
        tx.insert_publication(publication).await.unwrap();
        assert!(tx.newest_publication_observations(publication.id, 9).await.unwrap().is_empty());
    }
    let seen = [observation(&one, 1, false), observation(&one, 2, true), observation(&one, 3, false)];
    for observation in [&seen[2], &seen[0], &seen[1], &observation(&other, 1, false)] {
        tx.insert_publication_observation(observation).await.unwrap();
    }
    assert_same(tx.newest_publication_observations(one.id, 9).await.unwrap(), seen.to_vec());
    assert_same(tx.newest_publication_observations(one.id, 2).await.unwrap(), seen[1..].to_vec());
    assert_exists(tx.insert_publication_observation(&seen[0]).await);
}

async fn what_the_newest_look_missed_is_found_by_branch(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (remote, main) = (branch.remote.id, line("main"));
    let [lost, found, lost_again, never] = [1, 2, 3, 4].map(|revision| branch.publication(revision));
    let elsewhere = Publication { branch: line("release"), ..branch.publication(5) };
    let mut tx = branch.fixture.write().await;
    for (publication, looks) in [
        (&lost, &[false][..]),
        (&found, &[false, true]),
        (&lost_again, &[false, true, false]),
        (&never, &[]),
        (&elsewhere, &[false]),
    ] {
        tx.insert_publication(publication).await.unwrap();
        for (number, on_branch) in (1..).zip(looks) {
            tx.insert_publication_observation(&observation(publication, number, *on_branch)).await.unwrap();
        }
    }
    let mut expected = [lost.id, lost_again.id];
    expected.sort_unstable();
    assert_eq!(tx.publications_missed_on(remote, &main).await.unwrap(), expected);
    assert_eq!(tx.publications_missed_on(remote, &line("release")).await.unwrap(), [elsewhere.id]);
    assert!(tx.publications_missed_on(id!(branch.fixture, RemoteId), &main).await.unwrap().is_empty());
}
