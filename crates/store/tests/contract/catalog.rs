//! Catalog lines, their revisions, and entries that old revisions show for ever.

use pinhole_core::{ApprovalState, BaselineKey, EntryState, LineName, LogRecordKind, PrincipalClass, Sha256Digest};
use pinhole_store::{Approval, CatalogRevision, Entry, Receipt, Tx, revision_record_id};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    baselines::{decision, review},
    rows::{AWKWARD, Ground, key, line, sha256},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    a_line_advances_from_where_it_is
    lines_come_by_name
    revisions_never_change
    an_entry_is_read_as_it_was_written
    an_old_revision_reads_the_same_for_ever
    an_entry_ends_when_its_last_revision_is_made
    entries_are_paged_by_path
    two_lines_are_compared_by_path
    envelopes_stand_behind_every_entry_once
    decisions_that_ended_an_entry_stand_behind_the_line
}

/// A database in which entries of one receipt and approval may be made.
pub(crate) struct Line {
    pub(crate) fixture: Fixture,
    pub(crate) ground: Ground,
    receipt: Receipt,
    approval: Approval,
    pub(crate) name: LineName,
}

impl Line {
    pub(crate) async fn new(engine: Engine) -> Self {
        let fixture = Fixture::new(engine).await;
        let ground = fixture.ground().await;
        let receipt = fixture.captured(&ground).await.receipt;
        let name = line("main");
        let approval = fixture.approval(&ground, &name, &[]);
        let mut tx = fixture.write().await;
        tx.insert_approval(&approval, &[]).await.unwrap();
        tx.commit().await.unwrap();
        Self { fixture, ground, receipt, approval, name }
    }

    pub(crate) fn entry(&self, key: BaselineKey, since_revision: u32) -> Entry {
        let document = format!("{{\"since\":{since_revision},\"note\":{AWKWARD:?}}}");
        Entry {
            id: id!(self.fixture, BaselineEntryId),
            project_id: self.ground.project.id,
            environment_id: self.ground.environment.id,
            receipt_id: self.receipt.id,
            approval_id: self.approval.id,
            review_id: None,
            sha256: Sha256Digest::of(document.as_bytes()),
            document,
            state: EntryState::Active,
            since_revision,
            until_revision: None,
            created_at: at(0),
            key,
        }
    }

    pub(crate) fn revision(&self, revision: u32) -> CatalogRevision {
        CatalogRevision {
            project_id: self.ground.project.id,
            line: self.name.clone(),
            revision,
            previous_sha256: (revision > 1).then(|| sha256(&format!("revision {}", revision - 1))),
            sha256: sha256(&format!("revision {revision}")),
            manifest_sha256: sha256("manifest"),
            cause: json!({ "approval": self.approval.id, "note": AWKWARD }),
            envelope: AWKWARD.into(),
            created_by: self.ground.principal.id,
            created_at: at(1),
        }
    }

    async fn entries(&self, tx: &mut Tx, revision: u32) -> Vec<Entry> {
        let entries = tx.entries_at(self.ground.project.id, &self.name, revision, None, None, 100).await.unwrap();
        let count = tx.count_entries_at(self.ground.project.id, &self.name, revision).await.unwrap();
        assert_eq!(u32::try_from(entries.len()).unwrap(), count);
        entries
    }
}

/// What an old revision shows of an entry: everything but what became of it later.
fn as_it_stood(entry: &Entry) -> String {
    format!("{:?}", Entry { state: EntryState::Active, until_revision: None, ..entry.clone() })
}

async fn a_line_advances_from_where_it_is(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (project, main, other) = (ground.project.id, line("main"), line("release/2-1"));
    let mut tx = fixture.write().await;
    assert!(tx.catalog_line(project, &main).await.unwrap().is_none());
    // A line that has no revision is at 0 and nowhere else.
    assert!(!tx.advance_catalog_line(project, &main, 3, sha256("four")).await.unwrap());
    assert!(tx.catalog_line(project, &main).await.unwrap().is_none());
    for (expected, digest, moves) in
        [(0, "one", true), (0, "again", false), (2, "three", false), (1, "two", true), (1, "again", false)]
    {
        assert_eq!(tx.advance_catalog_line(project, &main, expected, sha256(digest)).await.unwrap(), moves, "{digest}");
    }
    assert!(tx.advance_catalog_line(project, &other, 0, sha256("other")).await.unwrap());
    let found = tx.catalog_line(project, &main).await.unwrap().unwrap();
    assert_eq!((found.project_id, &found.name), (project, &main));
    assert_eq!((found.head_revision, found.head_sha256), (2, Some(sha256("two"))));
    assert_eq!(tx.catalog_line(project, &other).await.unwrap().unwrap().head_revision, 1);
    assert!(tx.catalog_line(id!(fixture, ProjectId), &main).await.unwrap().is_none());
}

async fn lines_come_by_name(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let project = fixture.ground().await.project.id;
    let mut tx = fixture.write().await;
    assert_eq!(tx.count_catalog_lines(project).await.unwrap(), 0);
    for name in ["release/2", "main", "release/10"] {
        assert!(tx.advance_catalog_line(project, &line(name), 0, sha256(name)).await.unwrap());
    }
    let names = |found: Vec<pinhole_store::CatalogLine>| -> Vec<String> {
        found.into_iter().map(|line| line.name.to_string()).collect()
    };
    let all = tx.list_catalog_lines(project, None, 10).await.unwrap();
    assert_eq!((all[0].created_at, all[0].head_sha256), (tx.now(), Some(sha256("main"))));
    assert_eq!(names(all), ["main", "release/10", "release/2"]);
    assert_eq!(names(tx.list_catalog_lines(project, Some(&line("main")), 1).await.unwrap()), ["release/10"]);
    assert_eq!(tx.count_catalog_lines(project).await.unwrap(), 3);
    let elsewhere = id!(fixture, ProjectId);
    assert_eq!(tx.count_catalog_lines(elsewhere).await.unwrap(), 0);
    assert!(tx.list_catalog_lines(elsewhere, None, 10).await.unwrap().is_empty());
}

async fn revisions_never_change(engine: Engine) {
    let main = Line::new(engine).await;
    let (project, name) = (main.ground.project.id, &main.name);
    let revisions = [1, 2, 3].map(|revision| main.revision(revision));
    let elsewhere = CatalogRevision { line: line("other"), ..main.revision(1) };
    let mut tx = main.fixture.write().await;
    for revision in [&revisions[2], &revisions[0], &revisions[1], &elsewhere] {
        tx.insert_catalog_revision(revision).await.unwrap();
    }
    for revision in &revisions {
        let found = tx.catalog_revision(project, name, revision.revision).await.unwrap();
        assert_same(found, Some(revision.clone()));
    }
    let record_id = revision_record_id(project, name, 2);
    let record = tx.logged_record(LogRecordKind::CatalogRevision, &record_id).await.unwrap();
    assert_eq!(record, Some(main.revision(2).envelope.into_bytes()));
    let found = tx.catalog_revision_by_digest(revisions[0].sha256).await.unwrap();
    assert_eq!(found.map(|found| found.sha256), Some(revisions[0].sha256));
    assert!(tx.catalog_revision_by_digest(sha256("nothing")).await.unwrap().is_none());
    assert!(tx.catalog_revision(project, name, 4).await.unwrap().is_none());
    assert!(tx.catalog_revision(project, &elsewhere.line, 2).await.unwrap().is_none());
    for upto in 0..=3 {
        let found = tx.catalog_revisions_to(project, name, upto).await.unwrap();
        assert_same(found, revisions[..usize::try_from(upto).unwrap()].to_vec());
    }
    assert_exists(tx.insert_catalog_revision(&main.revision(2)).await);
}

async fn an_entry_is_read_as_it_was_written(engine: Engine) {
    let main = Line::new(engine).await;
    let (fixture, project) = (&main.fixture, main.ground.project.id);
    let active = Entry { review_id: Some(id!(fixture, ReviewId)), ..main.entry(key("main", "cart"), 1) };
    let ended = Entry { state: EntryState::Invalidated, until_revision: Some(2), ..main.entry(key("main", "cart"), 1) };
    let elsewhere = main.entry(key("other", "cart"), 1);
    let mut tx = fixture.write().await;
    for entry in [&active, &ended, &elsewhere] {
        tx.insert_entry(entry).await.unwrap();
        assert_same(tx.entry(entry.id).await.unwrap(), Some(entry.clone()));
    }
    assert!(tx.entry(id!(fixture, BaselineEntryId)).await.unwrap().is_none());
    assert_same(tx.active_entry(project, &active.key).await.unwrap(), Some(active.clone()));
    assert_same(tx.active_entry(project, &elsewhere.key).await.unwrap(), Some(elsewhere));
    assert!(tx.active_entry(id!(fixture, ProjectId), &active.key).await.unwrap().is_none());
    assert!(tx.active_entry(project, &key("main", "payment")).await.unwrap().is_none());
    // A key has one active entry.
    assert_exists(tx.insert_entry(&main.entry(active.key, 3)).await);
}

async fn an_entry_ends_when_its_last_revision_is_made(engine: Engine) {
    let main = Line::new(engine).await;
    let (cart, project) = (key("main", "cart"), main.ground.project.id);
    let mut tx = main.fixture.write().await;
    tx.insert_catalog_revision(&CatalogRevision { created_at: at(7), ..main.revision(2) }).await.unwrap();
    tx.insert_entry(&main.entry(cart.clone(), 1)).await.unwrap();
    assert!(!tx.entry_ended_after(project, &cart, at(0)).await.unwrap());
    assert!(tx.end_active_entry(project, &cart, EntryState::Retired, 2).await.unwrap());
    assert!(tx.entry_ended_after(project, &cart, at(6)).await.unwrap());
    assert!(!tx.entry_ended_after(project, &cart, at(7)).await.unwrap());
    for other in [key("main", "payment"), key("other", "cart")] {
        assert!(!tx.entry_ended_after(project, &other, at(0)).await.unwrap());
    }
}

/// Five revisions add, supersede, retire and invalidate entries; each is noted when it is the newest and read again
/// after every later one.
async fn an_old_revision_reads_the_same_for_ever(engine: Engine) {
    let main = Line::new(engine).await;
    let (fixture, project) = (&main.fixture, main.ground.project.id);
    let (cart, payment, done) = (key("main", "cart"), key("main", "payment"), key("main", "done"));
    let (superseded, retired) = (EntryState::Superseded, EntryState::Retired);
    // What each revision ends, and what it begins.
    type Change<'a> = (&'a [(&'a BaselineKey, EntryState)], &'a [&'a BaselineKey]);
    let changes: [Change<'_>; 5] = [
        (&[], &[&cart, &payment]),
        (&[(&cart, superseded)], &[&cart, &done]),
        (&[(&payment, retired)], &[]),
        (&[(&cart, superseded), (&done, EntryState::Invalidated)], &[&cart]),
        (&[(&cart, retired)], &[&payment]),
    ];
    let mut history: Vec<Vec<String>> = vec![Vec::new()];
    let mut made = Vec::new();
    for (revision, (ends, begins)) in (1..).zip(changes) {
        let mut tx = fixture.write().await;
        for (key, state) in ends {
            assert!(tx.end_active_entry(project, key, *state, revision).await.unwrap());
            assert!(!tx.end_active_entry(project, key, *state, revision).await.unwrap());
            assert!(tx.active_entry(project, key).await.unwrap().is_none());
        }
        for key in begins {
            let entry = main.entry((*key).clone(), revision);
            tx.insert_entry(&entry).await.unwrap();
            made.push(entry);
        }
        tx.commit().await.unwrap();
        let mut tx = fixture.read().await;
        history.push(main.entries(&mut tx, revision).await.iter().map(as_it_stood).collect());
        for (earlier, expected) in (0..).zip(&history) {
            let found = main.entries(&mut tx, earlier).await;
            assert_eq!(&found.iter().map(as_it_stood).collect::<Vec<_>>(), expected, "{earlier} seen from {revision}");
            for key in [&cart, &payment, &done] {
                let expected = found.iter().find(|entry| entry.key == *key).cloned();
                assert_same(tx.entry_at(project, key, earlier).await.unwrap(), expected);
            }
        }
        let all = tx.entries_to(project, &main.name, revision).await.unwrap();
        assert_eq!(all.iter().map(as_it_stood).collect::<Vec<_>>(), made.iter().map(as_it_stood).collect::<Vec<_>>(),);
    }
    let sizes: Vec<_> = history.iter().map(Vec::len).collect();
    assert_eq!(sizes, [0, 2, 3, 2, 1, 1]);
    let mut tx = fixture.read().await;
    let ends = tx.entries_to(project, &main.name, 1).await.unwrap();
    let ends: Vec<_> = ends.iter().map(|entry| (entry.state, entry.until_revision)).collect();
    assert_eq!(ends, [(superseded, Some(2)), (retired, Some(3))]);
    assert!(tx.entries_to(project, &line("other"), 5).await.unwrap().is_empty());
}

async fn entries_are_paged_by_path(engine: Engine) {
    let main = Line::new(engine).await;
    let project = main.ground.project.id;
    let mut tx = main.fixture.write().await;
    // Bytes order these, on both engines: `-` comes before digits and these before letters.
    let names = ["a", "a-b", "a1", "ab", "b"];
    for name in names.iter().rev() {
        tx.insert_entry(&main.entry(key("main", name), 1)).await.unwrap();
    }
    tx.insert_entry(&main.entry(key("other", "z"), 1)).await.unwrap();
    let mut expected: Vec<_> = names.iter().map(|name| key("main", name).path()).collect();
    expected.sort_unstable();
    let mut found: Vec<String> = Vec::new();
    loop {
        let after = found.last().map(String::as_str);
        let page = tx.entries_at(project, &main.name, 1, None, after, 2).await.unwrap();
        assert!(page.len() <= 2);
        if page.is_empty() {
            break;
        }
        found.extend(page.iter().map(|entry| entry.key.path()));
    }
    assert_eq!(found, expected);
    assert_eq!(tx.count_entries_at(project, &main.name, 1).await.unwrap(), 5);
    assert_eq!(tx.count_entries_at(project, &main.name, 0).await.unwrap(), 0);
    assert_eq!(tx.count_entries_at(id!(main.fixture, ProjectId), &main.name, 1).await.unwrap(), 0);
}

/// Two lines: what one has and the other has not, has had, or has no longer.
async fn two_lines_are_compared_by_path(engine: Engine) {
    let main = Line::new(engine).await;
    let (fixture, project, other) = (&main.fixture, main.ground.project.id, line("other"));
    let captured = fixture.captured(&main.ground).await.receipt;
    let approval = fixture.approval(&main.ground, &other, &[]);
    let mut tx = fixture.write().await;
    tx.insert_approval(&approval, &[]).await.unwrap();
    // Alike; with another receipt; from another approval; on one line alone.
    for name in ["alike", "captured", "approved", "alone"] {
        tx.insert_entry(&main.entry(key("main", name), 1)).await.unwrap();
    }
    tx.insert_entry(&main.entry(key("other", "alike"), 2)).await.unwrap();
    let elsewhere = Entry { receipt_id: captured.id, ..main.entry(key("other", "captured"), 2) };
    tx.insert_entry(&elsewhere).await.unwrap();
    tx.insert_entry(&Entry { approval_id: approval.id, ..main.entry(key("other", "approved"), 2) }).await.unwrap();
    let path = |name: &str| key("main", name).path();
    let missing = async |tx: &mut Tx, limit| {
        let found = tx.entries_missing_on(project, &main.name, &other, limit).await.unwrap();
        found.iter().map(|entry| entry.key.path()).collect::<Vec<_>>()
    };
    assert_eq!(missing(&mut tx, 9).await, [path("alone"), path("captured")]);
    assert_eq!(missing(&mut tx, 1).await, [path("alone")]);
    for (revision, known) in [(1, vec![]), (2, vec![path("alike")])] {
        assert_eq!(tx.active_paths_known_to(project, &main.name, &other, revision).await.unwrap(), known);
    }
    assert!(tx.is_active_path(project, &main.name, &path("alone")).await.unwrap());
    assert!(!tx.is_active_path(project, &other, &path("alone")).await.unwrap());

    // What ended on the other line is missing there, and was known all the same.
    assert!(tx.end_active_entry(project, &key("other", "alike"), EntryState::Retired, 3).await.unwrap());
    assert!(!tx.is_active_path(project, &other, &path("alike")).await.unwrap());
    assert_eq!(missing(&mut tx, 9).await, [path("alike"), path("alone"), path("captured")]);
    assert_eq!(tx.active_paths_known_to(project, &main.name, &other, 3).await.unwrap(), [path("alike")]);
    // One that another took the place of, at once or later, has not ended.
    assert!(tx.end_active_entry(project, &key("other", "approved"), EntryState::Superseded, 3).await.unwrap());
    tx.insert_entry(&main.entry(key("other", "approved"), 3)).await.unwrap();
    tx.insert_entry(&main.entry(key("other", "alike"), 5)).await.unwrap();
    for (revision, ended) in [(2, vec![]), (3, vec![(path("alike"), 3)]), (4, vec![(path("alike"), 3)]), (5, vec![])] {
        assert_eq!(tx.ended_paths(project, &other, revision).await.unwrap(), ended, "in revision {revision}");
    }
}

async fn envelopes_stand_behind_every_entry_once(engine: Engine) {
    let main = Line::new(engine).await;
    let Line { fixture, ground, receipt, approval, name } = &main;
    let later = fixture.captured(ground).await.receipt;
    let unrelated = fixture.captured(ground).await.receipt;
    let accepted = review(fixture, ground, receipt, 0);
    let ignored = review(fixture, ground, &unrelated, 0);
    let bob = fixture.principal(PrincipalClass::User, "bob");
    let decisions = [ground.principal.id, bob.id].map(|by| decision(fixture, approval, by, 0));
    let reviewed = |key, since| Entry { review_id: Some(accepted.id), ..main.entry(key, since) };
    let mut tx = fixture.write().await;
    for review in [&accepted, &ignored] {
        tx.insert_review(review).await.unwrap();
    }
    for decision in &decisions {
        tx.insert_decision(decision).await.unwrap();
    }
    let project = ground.project.id;
    assert!(tx.envelopes_to(project, name, 9).await.unwrap().is_empty());
    // Two entries of one receipt; one of them is superseded by an entry without a review.
    tx.insert_entry(&reviewed(key("main", "cart"), 1)).await.unwrap();
    tx.insert_entry(&reviewed(key("main", "payment"), 1)).await.unwrap();
    assert!(tx.end_active_entry(project, &key("main", "cart"), EntryState::Superseded, 2).await.unwrap());
    let second = Entry { receipt_id: later.id, ..main.entry(key("main", "cart"), 2) };
    tx.insert_entry(&second).await.unwrap();

    let mut expected = vec![
        (receipt.id.to_string(), receipt.envelope.clone()),
        (accepted.id.to_string(), accepted.envelope.clone()),
        (decisions[0].id.to_string(), decisions[0].envelope.clone()),
        (decisions[1].id.to_string(), decisions[1].envelope.clone()),
    ];
    for (revision, more) in [(1, None), (2, Some((later.id.to_string(), later.envelope.clone())))] {
        expected.extend(more);
        expected.sort_unstable();
        let mut found = tx.envelopes_to(project, name, revision).await.unwrap();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    assert!(tx.envelopes_to(project, name, 0).await.unwrap().is_empty());
}

/// An approval that made no entry, but ended one, stands behind the line from its revision on.
async fn decisions_that_ended_an_entry_stand_behind_the_line(engine: Engine) {
    let main = Line::new(engine).await;
    let Line { fixture, ground, approval, name, .. } = &main;
    let decided = decision(fixture, approval, ground.principal.id, 0);
    let mut tx = fixture.write().await;
    tx.insert_decision(&decided).await.unwrap();
    assert!(tx.move_approval(approval.id, 1, ApprovalState::Consumed, Some(3)).await.unwrap());
    let project = ground.project.id;
    assert!(tx.envelopes_to(project, name, 2).await.unwrap().is_empty());
    let found = tx.envelopes_to(project, name, 3).await.unwrap();
    assert_eq!(found, [(decided.id.to_string(), decided.envelope)]);
    assert!(tx.envelopes_to(project, &line("other"), 3).await.unwrap().is_empty());
}
