//! A database that is older than what was signed, or that went on from an older one, signs nothing.

use pinhole_core::{Actor, RequestId};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    rows::on_both_engines,
    support::{Bench, refused},
};

on_both_engines! {
    a_lost_file_is_not_taken_for_a_new_log
    an_older_database_signs_nothing_and_says_so
    a_database_that_went_on_from_an_older_one_signs_nothing
    a_new_database_beside_old_keys_signs_nothing
    a_sequencer_that_stopped_is_missed
    another_log_is_begun_when_its_database_is_lost_and_never_before
}

async fn write_project(bench: &Bench, slug: &str) {
    bench.keyed(&bench.owner, "create_project", json!({ "slug": slug, "title": slug })).await.unwrap();
}

/// The reason for which the log is refused, and that readiness and everybody who asks are told.
async fn refusal(bench: &Bench) -> String {
    let checkpoint = bench.app.log_checkpoint().await.ok();
    let error = bench.app.keep_log().await.expect_err("the log is refused");
    assert_eq!(bench.app.log_checkpoint().await.ok(), checkpoint, "nothing was signed");
    let ready = bench.app.readiness(&Actor::system(RequestId::from_uuid(uuid::Uuid::nil()))).await;
    assert!(ready.log.is_err() && ready.database.is_ok());
    let told = bench.call(&bench.owner, "get_readiness", json!({})).await.unwrap();
    assert_eq!(told["log"]["outcome"], "failed");
    assert!(told["log"]["detail"].as_str().unwrap().contains("the file beside the log key"), "{told}");
    let (code, reason) = refused(Err(error));
    assert_eq!(code, "conflict");
    reason
}

async fn an_older_database_signs_nothing_and_says_so(engine: Engine) {
    let bench = Bench::on(engine).await;
    bench.app.keep_log().await.unwrap();
    write_project(&bench, "later").await;
    let before = bench.ledger();
    bench.forget_log();
    assert_eq!(refusal(&bench).await, "log_behind");
    assert!(bench.ledger().iter().all(|line| line.leaf.is_none()), "no leaf was given");
    // The right database is back.
    let witness = bench.witness.get();
    bench.witness.set(None);
    bench.app.sequence_log().await.unwrap();
    bench.witness.set(witness);
    bench.app.keep_log().await.unwrap();
    bench.checked_log().await;
    assert_eq!(bench.ledger().len(), before.len());
    let ready = bench.app.readiness(&Actor::system(RequestId::from_uuid(uuid::Uuid::nil()))).await;
    assert!(ready.log.is_ok());
}

async fn a_lost_file_is_not_taken_for_a_new_log(engine: Engine) {
    let bench = Bench::on(engine).await;
    bench.app.keep_log().await.unwrap();
    let signed = bench.witness.get();
    bench.witness.set(None);
    write_project(&bench, "later").await;
    assert_eq!(refusal(&bench).await, "log_checkpoint_missing");
    // A checkpoint of before will do, as a published catalog has one.
    bench.witness.set(signed);
    bench.app.keep_log().await.unwrap();
    bench.checked_log().await;
}

async fn a_database_that_went_on_from_an_older_one_signs_nothing(engine: Engine) {
    let bench = Bench::on(engine).await;
    bench.app.keep_log().await.unwrap();
    let signed = bench.witness.get();
    // As if another record had been the first one, and the log as long as it was and longer.
    bench.forget_log();
    bench.sql("DELETE FROM log_entries WHERE seq = (SELECT min(seq) FROM log_entries)");
    write_project(&bench, "one").await;
    write_project(&bench, "two").await;
    bench.witness.set(None);
    bench.app.sequence_log().await.unwrap();
    write_project(&bench, "three").await;
    bench.witness.set(signed);
    assert_eq!(refusal(&bench).await, "log_forked");
}

async fn a_new_database_beside_old_keys_signs_nothing(engine: Engine) {
    let (old, new) = (Bench::on(engine).await, Bench::on(engine).await);
    old.app.keep_log().await.unwrap();
    // Their ids are the same, and so are the names of their logs: another one was made by chance.
    new.app.sequence_log().await.unwrap();
    new.sql("UPDATE log_state SET origin = 'pinhole.dev/log/other'");
    new.witness.set(old.witness.get());
    write_project(&new, "one").await;
    assert_eq!(refusal(&new).await, "log_behind");
}

async fn a_sequencer_that_stopped_is_missed(engine: Engine) {
    let bench = Bench::on(engine).await;
    let ready = async || bench.app.readiness(&Actor::system(RequestId::from_uuid(uuid::Uuid::nil()))).await.log;
    ready().await.expect("before its first look nothing is known to be wrong");
    bench.app.keep_log().await.unwrap();
    // The clock is the database's own on one engine.
    bench.sql("UPDATE probes SET at = at - 200000000 WHERE kind = 'log'");
    ready().await.unwrap();
    bench.sql("UPDATE probes SET at = at - 110000000 WHERE kind = 'log'");
    assert!(ready().await.unwrap_err().message().contains("for 31"));
    bench.app.keep_log().await.unwrap();
    ready().await.unwrap();
}

async fn another_log_is_begun_when_its_database_is_lost_and_never_before(engine: Engine) {
    let bench = Bench::on(engine).await;
    let reason = "the disk of the database was lost".parse().unwrap();
    bench.app.keep_log().await.unwrap();
    let (_, continues) = refused(bench.app.begin_log_anew(&reason).await.map(|_| json!({})));
    assert_eq!(continues, "log_continues");
    write_project(&bench, "later").await;
    bench.app.keep_log().await.unwrap();
    let (signed, records) = (bench.witness.get(), bench.ledger().len());
    bench.forget_log();
    bench.sql("DELETE FROM log_entries WHERE seq = (SELECT max(seq) FROM log_entries)");
    assert_eq!(refusal(&bench).await, "log_behind");

    let origin = bench.app.begin_log_anew(&reason).await.unwrap();
    let checkpoint = bench.app.log_checkpoint().await.unwrap();
    assert_eq!(checkpoint.lines().next(), Some(origin.as_str()));
    assert_eq!(bench.witness.get().map(|(_, note)| note), Some(checkpoint));
    bench.checked_log().await;
    // What happened is told in the new log itself, and one record is gone.
    assert_eq!(bench.ledger().len(), records);
    write_project(&bench, "latest").await;
    bench.app.keep_log().await.unwrap();
    bench.checked_log().await;
    // A process that ended before the file had the new checkpoint goes on the same way.
    bench.witness.set(signed);
    write_project(&bench, "after").await;
    bench.app.keep_log().await.unwrap();
    bench.checked_log().await;
    let (_, continues) = refused(bench.app.begin_log_anew(&reason).await.map(|_| json!({})));
    assert_eq!(continues, "log_continues");
}
