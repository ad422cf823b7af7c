//! Workers that die at the worst moments. At most one commit, whatever happens, and never published before it was seen.

use std::path::Path;

use pinhole_core::PublicationId;
use pinhole_receipt::{read_tree, verify_catalog};
use pinhole_testkit::{Engine, wait_until};
use pinhole_worker_publication::{PublicationSettings, publish};
use serde_json::json;

use crate::world::{DEADLINE, World, key};

on_both_engines! {
    killed_before_the_push
    killed_after_the_push
    a_lost_acknowledgement_ends_in_the_truth
    what_comes_over_an_unsure_publication_waits_for_it
    publications_that_wait_for_an_unsure_one_end_when_it_fails
}

impl World {
    /// Lets a worker with `settings` come to where it makes `reached`, kills it there with its child, and waits until
    /// its publication is to be had again.
    async fn kill_at(&self, id: PublicationId, settings: PublicationSettings, reached: &Path) {
        let app = self.app.clone();
        let worker = tokio::spawn(async move { publish(&app, &settings, id).await });
        wait_until(DEADLINE, "the worker to come there", async || reached.exists()).await;
        worker.abort();
        assert!(worker.await.unwrap_err().is_cancelled());
        wait_until(DEADLINE, "the lease to end", async || self.app.sweep().await.unwrap() > 0).await;
    }

    /// Kills a worker when its commit is on the branch and it does not know yet.
    pub(crate) async fn kill_after_push(&self, id: PublicationId) {
        let before = self.head().map_or(0, |_| self.commits().len());
        let reached = self.path(&key());
        let settings = self.scripted(&format!(
            "printf %s \"$input\" | \"$REAL\" git-helper > answer\n\
             case \"$input\" in *'\"operation\":\"push\"'*) : > '{}'; exec /bin/sleep 600;; esac\n\
             exec /bin/cat answer",
            reached.display()
        ));
        self.kill_at(id, settings, &reached).await;
        assert_eq!(self.commits().len(), before + 1);
        assert_eq!(self.get(id).await["state"], "pushing");
    }
}

async fn killed_before_the_push(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let reached = world.path("reached");
    let settings = world.scripted(&format!(
        "case \"$input\" in *'\"operation\":\"push\"'*) : > '{}'; exec /bin/sleep 600;; esac\n\
         printf %s \"$input\" | \"$REAL\" git-helper",
        reached.display()
    ));
    world.kill_at(id, settings, &reached).await;
    assert_eq!(world.head(), None);
    let view = world.get(id).await;
    assert_eq!(view["state"], "pushing");
    let commit = view["attempts"][0]["commit"].as_str().unwrap().to_owned();

    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(world.commits(), [commit], "the stored commit, and no other");
}

async fn killed_after_the_push(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    world.kill_after_push(id).await;
    let commits = world.commits();
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(world.commits(), commits);
}

async fn a_lost_acknowledgement_ends_in_the_truth(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let settings = world.scripted(
        "printf %s \"$input\" | \"$REAL\" git-helper > answer\n\
         case \"$input\" in *'\"operation\":\"push\"'*) exit 1;; esac\n\
         exec /bin/cat answer",
    );
    publish(&world.app, &settings, id).await.unwrap();
    let view = world.get(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(world.commits().len(), 1);
}

/// The whole story of a branch whose worker dies when its commit is there, while everybody else goes on.
async fn what_comes_over_an_unsure_publication_waits_for_it(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    world.revision(2).await;
    let unsure = world.ask(2, json!({ "commit": world.head() })).await;
    world.kill_after_push(unsure).await;
    // A person works on top of it, and the caller publishes upon what that person pushed.
    let foreign = world.foreign_commit("README.md");
    world.revision(3).await;
    let next = world.ask(3, json!({ "commit": foreign })).await;
    world.revision(4).await;
    let last = world.ask(4, json!({ "after": next })).await;
    for waiting in [last, next] {
        let view = world.try_once(waiting).await;
        assert_eq!((&view["state"], &view["attempts"][0]["commit"]), (&json!("queued"), &json!(null)), "{view}");
    }
    assert_eq!(world.head().as_ref(), Some(&foreign));

    // A runner takes it from there: the end of each one wakes those that waited for it.
    let stop = tokio_util::sync::CancellationToken::new();
    let running = pinhole_worker_publication::run(world.app.clone(), world.settings.clone(), stop.clone());
    let running = tokio::spawn(running);
    for id in [unsure, next, last] {
        wait_until(DEADLINE, "the publication", async || world.get(id).await["state"] == "published").await;
    }
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(world.get(next).await["attempts"][0]["base_commit"], foreign);
    world.revision(5).await;
    world.published(5).await;
    let report = verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
    assert_eq!((report.revision, report.publications.len()), (5, 5));
    assert_eq!(report.log.unwrap().roots.len(), 5);
}

async fn publications_that_wait_for_an_unsure_one_end_when_it_fails(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let unsure = world.ask(1, json!({ "commit": null })).await;
    world.kill_after_push(unsure).await;
    let foreign = world.foreign_commit("README.md");
    world.revision(2).await;
    let next = world.ask(2, json!({ "commit": foreign })).await;
    world.revision(3).await;
    let last = world.ask(3, json!({ "after": next })).await;
    assert_eq!(world.try_once(next).await["state"], "queued");
    let unreachable = world.scripted("exit 1");
    for _ in 0..12 {
        publish(&world.app, &unreachable, unsure).await.unwrap();
    }
    assert_eq!(world.get(unsure).await["state"], "failed");
    for id in [next, last] {
        let view = world.try_once(id).await;
        assert_eq!(view["state"], "published", "{view}");
    }
    let report = verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
    assert_eq!((report.revision, report.publications), (3, vec![next, last]));
}
