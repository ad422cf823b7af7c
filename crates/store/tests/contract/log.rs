//! The transparency log: entries in the transactions of their records, leaves, tiles, checkpoints, and what publications
//! add to their branches.

use pinhole_core::{LogRecordKind, PublicationState};
use pinhole_store::{AuditRow, LogEntry, LogState, Publication, PublicationLogFile, RunResult, revision_record_id};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    publications::{Branch, attempt},
    rows::{AWKWARD, line, sha256},
    support::{Fixture, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    a_record_is_entered_with_its_transaction
    every_kind_of_record_is_entered_and_found_again
    leaves_are_given_once
    the_log_grows_and_its_checkpoints_never_go_back
    tiles_are_replaced_by_wider_ones
    another_log_begins_without_leaves
    only_one_transaction_has_the_log
    files_of_a_publication_belong_to_one_attempt
}

fn audit_row(fixture: &Fixture) -> AuditRow {
    AuditRow {
        id: id!(fixture, AuditId),
        at: at(5),
        principal_id: id!(fixture, PrincipalId),
        operation: "create_project".into(),
        project_id: None,
        object_id: Some(AWKWARD.into()),
        request_id: id!(fixture, RequestId),
        detail: json!({ "b": [1, 2.5, null], "a": AWKWARD }),
    }
}

async fn a_record_is_entered_with_its_transaction(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (kept, dropped) = (audit_row(&fixture), audit_row(&fixture));
    let mut tx = fixture.write().await;
    tx.insert_audit(&dropped).await.unwrap();
    drop(tx);
    let mut tx = fixture.write().await;
    tx.insert_audit(&kept).await.unwrap();
    assert_same(tx.audit_row(kept.id).await.unwrap(), Some(kept.clone()));
    tx.commit().await.unwrap();
    let mut tx = fixture.read().await;
    assert!(tx.audit_row(dropped.id).await.unwrap().is_none());
    let pending = tx.pending_log_entries(10).await.unwrap();
    let [LogEntry { kind: LogRecordKind::Audit, record_id, sha256: Some(digest), leaf: None, .. }] = &pending[..]
    else {
        panic!("{pending:?}")
    };
    assert_eq!(*record_id, kept.id.to_string());
    assert_eq!(*digest, pinhole_core::Sha256Digest::of(&kept.canonical().unwrap()));
    let found = tx.logged_record(LogRecordKind::Audit, record_id).await.unwrap();
    assert_eq!(found, Some(kept.canonical().unwrap()));
    assert_same(tx.log_entry(LogRecordKind::Audit, record_id).await.unwrap(), pending.into_iter().next());
    assert!(tx.log_entry(LogRecordKind::Review, &kept.id.to_string()).await.unwrap().is_none());
    assert!(tx.logged_record(LogRecordKind::Audit, "no id").await.unwrap().is_none());
}

async fn every_kind_of_record_is_entered_and_found_again(engine: Engine) {
    let branch = Branch::new(engine).await;
    let (fixture, ground) = (&branch.fixture, &branch.ground);
    let captured = fixture.captured(ground).await;
    let result = RunResult { run_id: captured.run.id, envelope: "the result".into(), created_at: at(1) };
    let queued = branch.publication(1);
    let published =
        Publication { state: PublicationState::Published, receipt: Some("the receipt".into()), ..queued.clone() };
    let mut tx = fixture.write().await;
    tx.insert_run_result(&result).await.unwrap();
    tx.insert_publication(&queued).await.unwrap();
    assert!(tx.save_publication(&queued, &published).await.unwrap());
    // Lost: it changes nothing, and enters nothing.
    assert!(!tx.save_publication(&queued, &published).await.unwrap());
    let pending = tx.pending_log_entries(10).await.unwrap();
    let found: Vec<_> = pending.iter().map(|entry| (entry.kind, entry.record_id.clone())).collect();
    assert_eq!(
        found,
        [
            (LogRecordKind::CaptureReceipt, captured.receipt.id.to_string()),
            (LogRecordKind::RunResult, captured.run.id.to_string()),
            (LogRecordKind::PublicationReceipt, queued.id.to_string()),
        ]
    );
    for (entry, record) in pending.iter().zip([&captured.receipt.envelope, "the result", "the receipt"]) {
        assert_eq!(entry.sha256, Some(sha256(record)));
        let found = tx.logged_record(entry.kind, &entry.record_id).await.unwrap();
        assert_eq!(found.as_deref(), Some(record.as_bytes()));
    }
    let revision = revision_record_id(ground.project.id, &line("release/2"), 3);
    for kind in [LogRecordKind::Review, LogRecordKind::Decision, LogRecordKind::CatalogRevision] {
        assert!(tx.logged_record(kind, &revision).await.unwrap().is_none());
    }
}

async fn leaves_are_given_once(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.write().await;
    for _ in 0..3 {
        tx.insert_audit(&audit_row(&fixture)).await.unwrap();
    }
    let pending = tx.pending_log_entries(2).await.unwrap();
    assert_eq!(pending.len(), 2);
    tx.give_leaf(pending[1].seq, 0, sha256("one")).await.unwrap();
    tx.give_leaf(pending[1].seq, 7, sha256("other")).await.unwrap();
    tx.give_leaf(pending[0].seq, 1, sha256("two")).await.unwrap();
    let leaves = |entries: Vec<LogEntry>| entries.iter().map(|entry| (entry.seq, entry.leaf)).collect::<Vec<_>>();
    let (first, second) = ((pending[1].seq, Some(0)), (pending[0].seq, Some(1)));
    assert_eq!(leaves(tx.logged_entries(0, 10).await.unwrap()), [first, second]);
    assert_eq!(leaves(tx.logged_entries(1, 10).await.unwrap()), [second]);
    assert_eq!(leaves(tx.logged_entries(0, 1).await.unwrap()), [first]);
    assert_eq!(tx.pending_log_entries(10).await.unwrap().len(), 1);
}

async fn the_log_grows_and_its_checkpoints_never_go_back(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.write().await;
    assert!(tx.log_state().await.unwrap().is_none());
    tx.create_log("one", sha256("")).await.unwrap();
    tx.create_log("other", sha256("other")).await.unwrap();
    let state = LogState { origin: "one".into(), size: 0, root: sha256(""), checkpoint_size: None, checkpoint: None };
    assert_same(tx.log_state().await.unwrap(), Some(state.clone()));
    tx.grow_log(9, sha256("nine")).await.unwrap();
    for (size, checkpoint) in [(5, "five"), (9, "nine"), (7, "seven"), (9, "nine again")] {
        tx.save_checkpoint("one", size, checkpoint).await.unwrap();
    }
    let grown =
        LogState { size: 9, root: sha256("nine"), checkpoint_size: Some(9), checkpoint: Some("nine".into()), ..state };
    assert_same(tx.log_state().await.unwrap(), Some(grown));
}

async fn tiles_are_replaced_by_wider_ones(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.write().await;
    assert!(tx.log_tile(0, 0).await.unwrap().is_none());
    tx.put_log_tile(0, 0, &[1; 32]).await.unwrap();
    tx.put_log_tile(1, 0, &[2; 32]).await.unwrap();
    tx.put_log_tile(0, 0, &[3; 64]).await.unwrap();
    assert_eq!(tx.log_tile(0, 0).await.unwrap().unwrap(), [3; 64]);
    assert_eq!(tx.log_tile(1, 0).await.unwrap().unwrap(), [2; 32]);
    assert!(tx.log_tile(0, u64::MAX).await.unwrap().is_none());
}

async fn another_log_begins_without_leaves(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.write().await;
    tx.insert_audit(&audit_row(&fixture)).await.unwrap();
    tx.create_log("one", sha256("")).await.unwrap();
    let pending = tx.pending_log_entries(2).await.unwrap();
    tx.give_leaf(pending[0].seq, 0, sha256("one")).await.unwrap();
    tx.put_log_tile(0, 0, &[1; 32]).await.unwrap();
    tx.grow_log(1, sha256("root")).await.unwrap();
    tx.save_checkpoint("one", 1, "checkpoint").await.unwrap();
    assert!(!tx.is_ended_log("one").await.unwrap());
    tx.replace_log(&["one", "older", "one"], "two", sha256("")).await.unwrap();
    tx.save_checkpoint("one", 1, "late").await.unwrap();
    let state = LogState { origin: "two".into(), size: 0, root: sha256(""), checkpoint_size: None, checkpoint: None };
    assert_same(tx.log_state().await.unwrap(), Some(state));
    assert!(tx.log_tile(0, 0).await.unwrap().is_none());
    assert_eq!(tx.pending_log_entries(2).await.unwrap().len(), 1);
    for (origin, ended) in [("one", true), ("older", true), ("two", false)] {
        assert_eq!(tx.is_ended_log(origin).await.unwrap(), ended, "{origin}");
    }
}

async fn only_one_transaction_has_the_log(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.store.begin_sequencing().await.unwrap();
    assert!(tx.lock_log().await.unwrap().is_none());
    tx.create_log("one", sha256("")).await.unwrap();
    tx.commit().await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = fixture.store.clone();
        tasks.spawn(async move {
            let mut tx = store.begin_sequencing().await.unwrap();
            let size = tx.lock_log().await.unwrap().unwrap().size;
            tokio::task::yield_now().await;
            tx.grow_log(size + 1, sha256("grown")).await.unwrap();
            tx.commit().await.unwrap();
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_eq!(fixture.read().await.log_state().await.unwrap().unwrap().size, 8);
}

async fn files_of_a_publication_belong_to_one_attempt(engine: Engine) {
    let branch = Branch::new(engine).await;
    let publication = Publication { attempt: 2, ..branch.publication(1) };
    let file = |content: &str| PublicationLogFile { path: "log/proofs/x.json".into(), content: content.into() };
    let mut tx = branch.fixture.write().await;
    tx.insert_publication(&publication).await.unwrap();
    for number in [1, 2] {
        let mut made = attempt(&publication, json!({ "commit": null }));
        made.attempt = number;
        tx.insert_publication_attempt(&made).await.unwrap();
        tx.insert_publication_log_files(publication.id, number, &[file(&number.to_string())]).await.unwrap();
    }
    for (number, content) in [(1, "1"), (2, "2")] {
        assert_eq!(tx.publication_log_files(publication.id, number).await.unwrap(), [file(content)]);
    }
    assert!(tx.publication_log_files(publication.id, 3).await.unwrap().is_empty());
}
