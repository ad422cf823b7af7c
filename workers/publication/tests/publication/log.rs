//! What publications show of the transparency log: proofs that stay, checkpoints that continue each other, and no
//! publication over a branch whose log is not continued.

use std::{collections::BTreeMap, fs, path::Path};

use pinhole_core::{Ids as _, RandomIds, Sha256Digest, Signer as _};
use pinhole_receipt::{HistoryReport, SigningKey, log::Checkpoint, read_tree, verify_catalog};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{tampering::commits_valid, world::World};

on_both_engines! {
    each_publication_continues_the_log_of_the_one_before
    the_commit_is_the_same_when_the_log_has_gone_on
    nothing_is_published_over_a_branch_whose_log_is_not_continued
    a_checkpoint_of_somebody_else_stops_nothing
    a_database_that_is_behind_publishes_nothing
    a_branch_goes_on_in_another_log_when_its_own_was_given_up
}

type Files = BTreeMap<String, Vec<u8>>;

fn log_of(files: &Files) -> Files {
    files
        .iter()
        .filter(|(path, _)| path.starts_with("log/"))
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect()
}

async fn each_publication_continues_the_log_of_the_one_before(engine: Engine) {
    let world = World::new(engine).await;
    let mut earlier: Vec<(Checkpoint, Files)> = Vec::new();
    for revision in 1..=3 {
        world.revision(revision).await;
        world.published(revision).await;
        let files = read_tree(&world.checkout()).unwrap();
        let log = verify_catalog(&files, &world.keys).unwrap().log.unwrap();
        assert_eq!(log.roots.len(), revision as usize);
        for (checkpoint, shown) in &earlier {
            log.continues(checkpoint).unwrap();
            let stayed = shown.iter().all(|(path, bytes)| path == "log/checkpoint" || files.get(path) == Some(bytes));
            assert!(stayed, "a file of proofs never changes");
        }
        let newest = &log.checkpoint;
        assert!(earlier.iter().all(|(checkpoint, _)| checkpoint.size < newest.size));
        earlier.push((newest.clone(), log_of(&files)));
    }
    let newest = Checkpoint::unverified(world.app.log_checkpoint().await.unwrap().as_bytes()).unwrap();
    assert_eq!(newest.origin, earlier[0].0.origin);
}

async fn the_commit_is_the_same_when_the_log_has_gone_on(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": world.head() })).await;
    let first = world.app.claim_publication(id).await.unwrap().unwrap();
    assert!(world.app.retry_publication(&first.lease, "the worker was killed").await.unwrap());
    world.done("create_project", json!({ "slug": "more", "title": "More", "idempotency_key": "more" })).await;
    world.app.sequence_log().await.unwrap();
    let second = world.app.claim_publication(id).await.unwrap().unwrap();
    assert!(first.files == second.files && first.files.contains_key("log/checkpoint"));
    let newest = Checkpoint::unverified(world.app.log_checkpoint().await.unwrap().as_bytes()).unwrap();
    assert!(Checkpoint::unverified(&first.files["log/checkpoint"]).unwrap().size < newest.size);
}

/// Puts a checkpoint onto the branch by hand; answers with the branch's head.
fn put_checkpoint(world: &World, note: &str) -> String {
    let work = world.checkout();
    fs::create_dir_all(work.join("log")).unwrap();
    fs::write(work.join("log/checkpoint"), note).unwrap();
    world.git(&work, &["add", "."]);
    world.git(&work, &["commit", "--quiet", "-m", "By hand"]);
    world.git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
    world.head().unwrap()
}

/// The key of this installation's log.
fn log_key(world: &World) -> SigningKey {
    SigningKey::load_or_create(&world.path("data/keys/log.pem"), &RandomIds).unwrap()
}

async fn nothing_is_published_over_a_branch_whose_log_is_not_continued(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    let own = Checkpoint::unverified(world.app.log_checkpoint().await.unwrap().as_bytes()).unwrap();
    let root = Sha256Digest::of(b"another tree");
    let ahead = Checkpoint { size: own.size + 1_000_000, root, ..own.clone() };
    let other = Checkpoint { root, ..own.clone() };
    world.revision(2).await;
    let mut id = None;
    for (checkpoint, reason) in [(ahead, "log_behind: "), (other, "log_forked: ")] {
        let head = put_checkpoint(&world, &checkpoint.sign(&log_key(&world)).unwrap());
        let expected = json!({ "commit": head });
        let asked = match id {
            None => world.ask(2, expected).await,
            Some(id) => {
                world.ask_again(id, 2, expected).await.unwrap();
                id
            }
        };
        let view = world.try_once(asked).await;
        assert_eq!(view["state"], "conflict", "{view}");
        assert!(view["detail"].as_str().unwrap().starts_with(reason), "{view}");
        assert_eq!(world.head(), Some(head));
        id = Some(asked);
    }
    // The branch is put right, and the publication goes on.
    let head = put_checkpoint(&world, &own.sign(&log_key(&world)).unwrap());
    world.ask_again(id.unwrap(), 2, json!({ "commit": head })).await.unwrap();
    assert_eq!(world.try_once(id.unwrap()).await["state"], "published");
    verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
}

async fn a_checkpoint_of_somebody_else_stops_nothing(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    let own = Checkpoint::unverified(world.app.log_checkpoint().await.unwrap().as_bytes()).unwrap();
    let stranger = SigningKey::generate(|bytes| RandomIds.fill(bytes)).unwrap();
    assert_ne!(stranger.key_id(), log_key(&world).key_id());
    let forged = Checkpoint { size: own.size + 1_000_000, ..own }.sign(&stranger).unwrap();
    put_checkpoint(&world, &forged);
    world.revision(2).await;
    world.published(2).await;
    verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
}

async fn a_database_that_is_behind_publishes_nothing(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.app.sequence_log().await.unwrap();
    let witness = world.path("data/keys/log-checkpoint");
    let remembered = fs::read_to_string(&witness).unwrap();
    let own = Checkpoint::unverified(remembered.as_bytes()).unwrap();
    let ahead = Checkpoint { size: own.size + 1_000_000, ..own };
    write(&witness, &ahead.sign(&log_key(&world)).unwrap());
    let id = world.ask(1, json!({ "commit": null })).await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "conflict", "{view}");
    assert!(view["detail"].as_str().unwrap().starts_with("log_behind: "), "{view}");
    assert_eq!(world.head(), None);
    // The database that it belongs to is back.
    write(&witness, &remembered);
    world.ask_again(id, 1, json!({ "commit": null })).await.unwrap();
    assert_eq!(world.try_once(id).await["state"], "published");
}

async fn a_branch_goes_on_in_another_log_when_its_own_was_given_up(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    let lost = Checkpoint::unverified(world.app.log_checkpoint().await.unwrap().as_bytes()).unwrap();
    // The database has less than what was signed.
    let ahead = Checkpoint { size: lost.size + 1_000_000, ..lost.clone() };
    write(&world.path("data/keys/log-checkpoint"), &ahead.sign(&log_key(&world)).unwrap());
    let reason = "the disk of the database was lost".parse().unwrap();
    let origin = world.app.begin_log_anew(&reason).await.unwrap();

    let mut published = Vec::new();
    for revision in [2, 3] {
        world.revision(revision).await;
        published.push(world.published(revision).await);
        let report = verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
        assert_eq!(report.publications, published, "those of the log that the tree shows");
        let log = report.log.unwrap();
        assert_eq!((&log.checkpoint.origin, log.roots.len()), (&origin, published.len()));
        log.continues(&lost).expect_err("it is another log");
        // The commit of the first publication stays.
        let report = commits_valid(&world).unwrap();
        assert_eq!(report, HistoryReport { publications: 1 + published.len(), others: 0 });
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}
