//! Every committed record becomes one leaf, whatever happens at the same time and wherever the sequencer ends.

use std::collections::BTreeMap;

use pinhole_core::{Code, LogRecordKind, Outcome};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    path::{Path, darker},
    rows::on_both_engines,
    support::{Bench, GOOD},
};

on_both_engines! {
    every_record_becomes_one_leaf
    writers_and_sequencers_at_once_leave_no_gap_and_no_double
    what_a_writer_has_seen_comes_before_what_it_writes
    a_sequencer_that_ends_anywhere_is_followed_by_another
    records_from_before_the_log_get_the_same_leaves
    a_log_without_news_is_not_signed_again
    a_denial_is_in_the_log
}

/// The tables of records, with the kind that they have in the log.
const RECORDS: [(LogRecordKind, &str); 6] = [
    (LogRecordKind::Audit, "audit"),
    (LogRecordKind::CaptureReceipt, "receipts"),
    (LogRecordKind::RunResult, "run_results"),
    (LogRecordKind::Review, "reviews"),
    (LogRecordKind::Decision, "decisions"),
    (LogRecordKind::CatalogRevision, "catalog_revisions"),
];

async fn every_record_becomes_one_leaf(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    path.materialised(GOOD, 0).await;
    bench.app.sequence_log().await.unwrap();
    path.materialised(darker(90), 1).await;
    bench.app.sequence_log().await.unwrap();
    let checkpoint = bench.checked_log().await;
    for (kind, table) in RECORDS {
        let count = bench.count(table);
        assert!(count > 0, "{table} is empty");
        assert_eq!(bench.ledger().iter().filter(|line| line.kind == kind).count(), count, "{table}");
    }
    assert_eq!(checkpoint.size as usize, RECORDS.iter().map(|(_, table)| bench.count(table)).sum::<usize>());
    assert_eq!(bench.witness.get().unwrap(), (checkpoint.size, bench.app.log_checkpoint().await.unwrap()));
}

/// Writes projects, one after the other; their slugs begin with `name`. A writer that others kept from coming to an end
/// tries again, as it is told to.
async fn write_projects(bench: &Bench, name: &str, count: usize) {
    for number in 0..count {
        let project = json!({ "slug": format!("{name}-{number}"), "title": name });
        loop {
            match bench.keyed(&bench.owner, "create_project", project.clone()).await {
                Err(error) if error.code() == Code::ProviderUnavailable => {}
                outcome => break drop(outcome.unwrap()),
            }
        }
    }
}

async fn writers_and_sequencers_at_once_leave_no_gap_and_no_double(engine: Engine) {
    let bench = Bench::on(engine).await;
    bench.app.sequence_log().await.unwrap();
    let writers = ["a", "b", "c", "d"].map(|name| write_projects(&bench, name, 8));
    let sequencer = async || {
        for _ in 0..12 {
            bench.app.sequence_log().await.unwrap();
        }
    };
    let ((), (), (), _) = tokio::join!(sequencer(), sequencer(), sequencer(), futures::future::join_all(writers));
    bench.app.sequence_log().await.unwrap();
    let checkpoint = bench.checked_log().await;
    assert_eq!(checkpoint.size as usize, bench.count("log_entries"));
    assert_eq!(bench.ledger().iter().filter(|line| line.kind == LogRecordKind::Audit).count(), bench.count("audit"));
}

async fn what_a_writer_has_seen_comes_before_what_it_writes(engine: Engine) {
    let bench = Bench::on(engine).await;
    let writers = ["a", "b", "c"].map(|name| write_projects(&bench, name, 6));
    let sequencer = async {
        for _ in 0..8 {
            bench.app.sequence_log().await.unwrap();
        }
    };
    tokio::join!(sequencer, futures::future::join_all(writers));
    bench.app.sequence_log().await.unwrap();
    let leaves: BTreeMap<_, _> = bench.ledger().into_iter().map(|line| (line.record, line.leaf.unwrap())).collect();
    let mut newest = BTreeMap::new();
    let rows = bench.sql(
        "SELECT projects.slug, audit.id FROM audit JOIN projects ON projects.id = project_id \
         WHERE operation = 'create_project' ORDER BY projects.slug",
    );
    for row in rows.lines() {
        let (slug, audit) = row.split_once('|').unwrap();
        let writer = slug.split('-').next().unwrap().to_owned();
        let before = newest.insert(writer, leaves[audit]);
        assert!(before.is_none_or(|before| before < leaves[audit]), "{slug}");
    }
}

async fn a_sequencer_that_ends_anywhere_is_followed_by_another(engine: Engine) {
    let bench = Bench::on(engine).await;
    // Between the leaves and the witness.
    bench.witness.fail(true);
    assert!(bench.app.sequence_log().await.is_err());
    assert!(bench.app.log_checkpoint().await.is_err(), "what the witness does not know is not signed");
    bench.witness.fail(false);
    bench.app.sequence_log().await.unwrap();
    let first = bench.checked_log().await;
    // Between the witness and the database: the witness knows a checkpoint that nobody can see.
    write_projects(&bench, "a", 2).await;
    bench.app.sequence_log().await.unwrap();
    let second = bench.checked_log().await;
    bench.sql(&format!("UPDATE log_state SET checkpoint_size = {}, checkpoint = 'gone'", first.size));
    bench.app.sequence_log().await.unwrap();
    assert_eq!(bench.checked_log().await, second);
}

async fn records_from_before_the_log_get_the_same_leaves(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    path.materialised(GOOD, 0).await;
    let digests = |bench: &Bench| bench.ledger().into_iter().map(|line| (line.record, line.sha256)).collect::<Vec<_>>();
    let before = digests(bench);
    bench.sql("UPDATE log_entries SET sha256 = NULL");
    bench.app.sequence_log().await.unwrap();
    assert_eq!(digests(bench), before);
    bench.checked_log().await;
}

async fn a_log_without_news_is_not_signed_again(engine: Engine) {
    let bench = Bench::on(engine).await;
    bench.app.keep_log().await.unwrap();
    let note = bench.app.log_checkpoint().await.unwrap();
    bench.app.keep_log().await.unwrap();
    bench.app.sequence_log().await.unwrap();
    assert_eq!(bench.app.log_checkpoint().await.unwrap(), note);
    assert_eq!(bench.checked_log().await.size as usize, bench.count("log_entries"), "keeping the log writes no record");
}

async fn a_denial_is_in_the_log(engine: Engine) {
    let path = Path::on(engine).await;
    let approval = path.requested(GOOD).await;
    path.decide(&approval, Outcome::Deny).await.unwrap();
    path.bench.app.sequence_log().await.unwrap();
    let decisions = path.bench.ledger().into_iter().filter(|line| line.kind == LogRecordKind::Decision);
    assert_eq!(decisions.map(|line| line.leaf.is_some()).collect::<Vec<_>>(), [true]);
    path.bench.checked_log().await;
}
