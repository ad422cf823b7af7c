//! The commit key's life: a publication that is tried again makes the same commit, unless its key was revoked meanwhile.

use std::sync::Arc;

use pinhole_core::{PublicationId, RandomIds};
use pinhole_receipt::KeyUse;
use pinhole_runtime::{DataDir, KeyRing, Rotated};
use pinhole_testkit::Engine;
use pinhole_worker_publication::publish;
use serde_json::json;

use crate::{tampering::commits_valid, world::World};

on_both_engines! {
    a_rotated_commit_key_makes_no_second_commit
    a_commit_by_a_revoked_key_is_not_made_again
    a_revoked_key_that_is_put_back_pushes_nothing
}

impl World {
    fn rotate_commit_key(&self) -> (KeyRing, Rotated) {
        let ring = KeyRing::new(DataDir::open(&self.path("data")).unwrap(), Arc::new(RandomIds));
        let rotated = ring.rotate(KeyUse::Commit).unwrap();
        (ring, rotated)
    }

    /// One try whose push fails without reaching the remote; answers with the commit that it made.
    async fn try_without_push(&self, id: PublicationId) -> String {
        let settings = self.scripted(
            "case \"$input\" in *'\"operation\":\"push\"'*) exit 1;; esac\n\
             printf %s \"$input\" | \"$REAL\" git-helper",
        );
        publish(&self.app, &settings, id).await.unwrap();
        assert_eq!(self.head(), None);
        self.get(id).await["attempts"][0]["commit"].as_str().unwrap().to_owned()
    }
}

async fn a_rotated_commit_key_makes_no_second_commit(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let commit = world.try_without_push(id).await;
    world.rotate_commit_key();
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(world.commits(), std::slice::from_ref(&commit), "the commit of the first try, and no other");
    commits_valid(&world).unwrap();

    world.revision(2).await;
    world.published(2).await;
    let report = commits_valid(&world).unwrap();
    assert_eq!((report.publications, report.others), (2, 0), "one commit by each key");
}

async fn a_commit_by_a_revoked_key_is_not_made_again(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let commit = world.try_without_push(id).await;
    let (ring, rotated) = world.rotate_commit_key();
    ring.revoke(&rotated.previous, "it was on a laptop that was stolen").unwrap();
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_ne!(world.commits(), [commit]);
    commits_valid(&world).unwrap();
}

async fn a_revoked_key_that_is_put_back_pushes_nothing(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let before = std::fs::read(&world.settings.commit_key).unwrap();
    let (ring, rotated) = world.rotate_commit_key();
    ring.revoke(&rotated.previous, "it was on a laptop that was stolen").unwrap();
    // Somebody restores the file from a backup.
    std::fs::write(&world.settings.commit_key, before).unwrap();
    let view = world.try_once(id).await;
    assert_eq!((&view["state"], world.head()), (&json!("committing"), None), "{view}");
    let told = format!("try 1 of 12: key_revoked: the commit key {} is revoked", rotated.previous);
    assert!(view["detail"].as_str().unwrap().starts_with(&told), "{view}");
    assert!(view["attempts"][0]["commit"].is_null(), "{view}");
    world.rotate_commit_key();
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    commits_valid(&world).unwrap();
}
