//! Workers that die at the worst moments. At most one commit, whatever happens, and never published before it was seen.

use std::path::Path;

use pinhole_core::PublicationId;
use pinhole_testkit::{Engine, wait_until};
use pinhole_worker_publication::{PublicationSettings, publish};
use serde_json::json;

use crate::world::{DEADLINE, World};

on_both_engines! {
    killed_before_the_push
    killed_after_the_push
    a_lost_acknowledgement_ends_in_the_truth
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
        let reached = self.path("reached");
        let settings = self.scripted(&format!(
            "printf %s \"$input\" | \"$REAL\" git-helper > answer\n\
             case \"$input\" in *'\"operation\":\"push\"'*) : > '{}'; exec /bin/sleep 600;; esac\n\
             exec /bin/cat answer",
            reached.display()
        ));
        self.kill_at(id, settings, &reached).await;
        assert_eq!(self.commits().len(), 1);
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
