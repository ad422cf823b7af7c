//! What was published and is gone from the branch later: the next publication's look tells, and the state stays what the
//! receipt says. A look that failed tells nothing.

use pinhole_core::PublicationId;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::world::World;

on_both_engines! {
    what_upstream_forced_away_is_told_and_found_again
    a_marker_of_other_content_is_none
    a_look_that_failed_misses_nothing
}

impl World {
    /// What later looks found of a publication, each with its head; their times are checked here.
    async fn observations(&self, id: PublicationId) -> Vec<Value> {
        let view = self.get(id).await;
        assert_eq!((&view["state"], view["receipt"].is_object()), (&json!("published"), true), "{view}");
        let seen = view["observations"].as_array().unwrap().iter();
        seen.map(|seen| {
            assert!(seen["seen_at"].as_str() > view["finished_at"].as_str(), "{view}");
            json!([seen["number"], seen["on_branch"], seen["head"]])
        })
        .collect()
    }

    /// The events about a publication since it was published, each of which has an audit row of the same content.
    async fn told(&self, id: PublicationId) -> Vec<String> {
        let mut tx = self.app.store().begin_read().await.unwrap();
        let audit = tx.audit_of(&id.to_string()).await.unwrap();
        let events = tx.pending_events().await.unwrap().into_iter();
        let events = events.filter(|event| event.object_id == id.to_string());
        let told: Vec<_> = events.skip_while(|event| event.kind != "publication.published").skip(1).collect();
        for event in &told {
            assert_eq!(audit.iter().filter(|row| row.detail == event.payload).count(), 1, "{event:?}");
        }
        told.into_iter().map(|event| event.kind).collect()
    }

    /// Publishes the first revisions, one after the other.
    async fn published_to(&self, last: u32) -> Vec<PublicationId> {
        let mut ids = Vec::new();
        for number in 1..=last {
            self.revision(number).await;
            ids.push(self.published(number).await);
        }
        ids
    }
}

async fn what_upstream_forced_away_is_told_and_found_again(engine: Engine) {
    let world = World::new(engine).await;
    let ids = world.published_to(2).await;
    let [second, first] = &world.commits()[..] else { panic!() };
    world.git(&world.remote_path(), &["update-ref", "refs/heads/catalog", first]);
    world.revision(3).await;
    let third = world.ask(3, json!({ "commit": second })).await;
    assert_eq!(world.try_once(third).await["state"], "conflict");
    let missed = [json!([1, false, first])];
    assert_eq!(world.observations(ids[1]).await, missed);
    assert_eq!(world.told(ids[1]).await, ["publication.lost"]);
    assert_eq!(world.observations(ids[0]).await, [json!(null); 0], "it is still there");

    // Whoever looks next finds the same, which is not told again; what they publish puts the marker back.
    world.ask_again(third, 3, json!({ "commit": first })).await.unwrap();
    assert_eq!(world.try_once(third).await["state"], "published");
    assert_eq!(world.observations(ids[1]).await, missed);
    let head = world.head();
    world.revision(4).await;
    world.published(4).await;
    assert_eq!(world.observations(ids[1]).await, [&missed[..], &[json!([2, true, head])]].concat());
    assert_eq!(world.told(ids[1]).await, ["publication.lost", "publication.found"]);
    for id in [ids[0], third] {
        assert_eq!((world.observations(id).await, world.told(id).await), (vec![], vec![]));
    }
}

async fn a_marker_of_other_content_is_none(engine: Engine) {
    let world = World::new(engine).await;
    let ids = world.published_to(1).await;
    let foreign = world.foreign_commit(&format!("publications/{}.json", ids[0]));
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": foreign })).await;
    assert_eq!(world.try_once(id).await["state"], "published");
    assert_eq!(world.observations(ids[0]).await, [json!([1, false, foreign])]);
}

async fn a_look_that_failed_misses_nothing(engine: Engine) {
    let world = World::new(engine).await;
    let ids = world.published_to(1).await;
    let landed = world.head();
    world.git(&world.remote_path(), &["update-ref", "-d", "refs/heads/catalog"]);
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": landed })).await;
    let failing = world.scripted("exit 1");
    assert_eq!(world.try_with(&failing, id).await["state"], "committing");
    assert_eq!((world.observations(ids[0]).await, world.told(ids[0]).await), (vec![], vec![]));
    assert_eq!(world.try_once(id).await["state"], "conflict");
    assert_eq!(world.observations(ids[0]).await, [json!([1, false, null])]);
}
