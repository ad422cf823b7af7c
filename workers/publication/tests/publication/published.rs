//! What it means to be published.

use pinhole_core::PublicationId;
use pinhole_receipt::{Envelope, Predicate as _, PublicationReceipt, read_tree, verify, verify_catalog};
use pinhole_testkit::{Engine, wait_until};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::{DEADLINE, World};

on_both_engines! {
    a_runner_publishes_what_is_asked_for
    the_branch_holds_exactly_the_rendered_tree
    a_publication_follows_another
}

/// The receipt of a published publication.
fn receipt(world: &World, view: &Value) -> PublicationReceipt {
    let envelope = Envelope::from_bytes(&serde_json::to_vec(&view["receipt"]).unwrap()).unwrap();
    PublicationReceipt::from_statement(&verify(&envelope, &world.keys).unwrap()).unwrap()
}

async fn a_runner_publishes_what_is_asked_for(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let stop = CancellationToken::new();
    let running = pinhole_worker_publication::run(world.app.clone(), world.settings.clone(), stop.clone());
    let running = tokio::spawn(running);
    let id = world.ask(1, json!({ "commit": null })).await;
    wait_until(DEADLINE, "the publication", async || world.get(id).await["state"] == "published").await;
    stop.cancel();
    running.await.unwrap().unwrap();

    let view = world.get(id).await;
    let receipt = receipt(&world, &view);
    assert_eq!(receipt.publication, id);
    assert_eq!(Some(&receipt.commit), world.head().as_ref());
    assert_eq!((receipt.revision, receipt.remote.as_str(), receipt.branch.as_str()), (1, "origin", "catalog"));
    assert_eq!(view["attempts"][0]["commit"], receipt.commit);
    assert_eq!(view["attempts"][0]["outcome"], "published");
    let left: Vec<_> = std::fs::read_dir(&world.settings.scratch).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

async fn the_branch_holds_exactly_the_rendered_tree(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let work = world.app.claim_publication(id).await.unwrap().unwrap();
    assert!(world.app.claim_publication(id).await.unwrap().is_none(), "another worker has it");
    assert!(world.app.retry_publication(&work.lease, "a test").await.unwrap());
    assert_eq!(world.try_once(id).await["state"], "published");

    assert_eq!(world.files(), work.files);
    let report = verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
    assert_eq!((report.revision, report.digest, report.active_entries), (1, work.digest, 1));
    assert_eq!(report.publications, [id]);
    let trailers = world.git(&world.remote_path(), &["log", "-1", "--format=%an|%(trailers:unfold)", "catalog"]);
    let expected = format!("Pinhole|Publication-Id: {id}\nCatalog-Revision: 1\nCatalog-Digest: {}", work.digest);
    assert_eq!(trailers, expected);
}

async fn a_publication_follows_another(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let first = world.ask(1, json!({ "commit": null })).await;
    world.revision(2).await;
    let second = world.ask(2, json!({ "after": first })).await;
    assert_eq!(world.try_once(second).await["state"], "queued", "the first is not published yet");
    let commit = published(&world, first).await;
    let next = published(&world, second).await;

    assert_eq!(world.commits(), [next, commit.clone()]);
    assert_eq!(world.get(second).await["attempts"][0]["base_commit"], commit);
    let report = verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
    assert_eq!(report.revision, 2);
    assert_eq!(report.publications, [first, second]);
}

async fn published(world: &World, id: PublicationId) -> String {
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    receipt(world, &view).commit
}
