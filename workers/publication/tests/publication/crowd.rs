//! Many publications of one branch in a short time: each ends published without a person, whether it waits for the one
//! before it or names a head that is no longer there and answers the conflict.

use std::time::Duration;

use pinhole_core::PublicationId;
use pinhole_receipt::{read_tree, verify_catalog};
use pinhole_testkit::{Engine, wait_until};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::{DEADLINE, World};

on_both_engines! {
    fourteen_that_come_after_each_other_are_all_published
    fourteen_that_name_the_head_they_saw_are_all_published
}

/// How many publications there are.
const CROWD: u32 = 14;
/// How long a machine that is busy with other tests may take for all of them.
const LONG: Duration = DEADLINE.saturating_mul(3);

impl World {
    /// Does `work` while a runner publishes what is asked for.
    async fn with_runner<T>(&self, work: impl Future<Output = T>) -> T {
        let stop = CancellationToken::new();
        let running = pinhole_worker_publication::run(self.app.clone(), self.settings.clone(), stop.clone());
        let running = tokio::spawn(running);
        let done = work.await;
        stop.cancel();
        running.await.unwrap().unwrap();
        done
    }

    /// Waits for the end of a publication.
    async fn ended(&self, id: PublicationId) -> Value {
        wait_until(LONG, "the publication to end", async || !self.get(id).await["finished_at"].is_null()).await;
        self.get(id).await
    }

    /// That the branch holds one commit for each of `ids`, in order, and the whole chain.
    fn holds_all(&self, ids: &[PublicationId]) {
        assert_eq!(self.commits().len(), ids.len());
        let report = verify_catalog(&read_tree(&self.checkout()).unwrap(), &self.keys).unwrap();
        assert_eq!((report.revision, report.publications.as_slice()), (CROWD, ids));
    }
}

async fn fourteen_that_come_after_each_other_are_all_published(engine: Engine) {
    let world = World::new(engine).await;
    let mut ids: Vec<PublicationId> = Vec::new();
    // All are asked for before the first one is on the branch.
    for number in 1..=CROWD {
        world.revision(number).await;
        let head = ids.last().map_or(json!({ "commit": null }), |before| json!({ "after": before }));
        ids.push(world.ask(number, head).await);
    }
    world
        .with_runner(async {
            for id in &ids {
                let view = world.ended(*id).await;
                assert_eq!(view["state"], "published", "{view}");
                assert_eq!(view["attempts"].as_array().unwrap().len(), 1, "{view}");
            }
        })
        .await;
    world.holds_all(&ids);
}

async fn fourteen_that_name_the_head_they_saw_are_all_published(engine: Engine) {
    let world = World::new(engine).await;
    let mut ids: Vec<PublicationId> = Vec::new();
    let publishing = async {
        let mut seen = None;
        for number in 1..=CROWD {
            world.revision(number).await;
            // Everybody looked before the one before them was published.
            let stale = std::mem::replace(&mut seen, world.head());
            let id = world.ask(number, json!({ "commit": stale })).await;
            let mut view = world.ended(id).await;
            assert_eq!(view["state"], if number == 1 { "published" } else { "conflict" }, "{view}");
            if number > 1 {
                world.ask_again(id, number, json!({ "commit": world.head() })).await.unwrap();
                view = world.ended(id).await;
            }
            assert_eq!(view["state"], "published", "{view}");
            ids.push(id);
        }
    };
    // Boxed: it holds every step of all rounds.
    world.with_runner(Box::pin(publishing)).await;
    world.holds_all(&ids);
}
