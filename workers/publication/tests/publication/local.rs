//! Cases that need no server: what people do to the branch, and what breaks on this machine.

use pinhole_receipt::{HistoryReport, verify_catalog};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{tampering::commits_valid, world::World};

on_both_engines! {
    a_changed_file_of_ours_is_a_conflict_until_the_caller_has_seen_it
    a_rewritten_publication_with_another_file_is_a_conflict
    a_landed_commit_that_was_forced_away_is_not_published_upon
    a_deleted_branch_is_not_made_again_unasked
    a_remote_that_moved_to_an_empty_repository_begins_anew
    a_remote_that_moved_onto_commits_of_others_names_nothing_of_before
    without_the_commit_key_nothing_is_pushed
    a_new_commit_key_does_not_publish_twice
    a_broken_scratch_repository_costs_one_try
    a_full_disk_costs_one_try
}

fn detail(view: &Value) -> &str {
    view["detail"].as_str().unwrap()
}

/// A person changes the catalog's own file in a clone, and pushes it as `push` says.
fn change_catalog(world: &World, commit: &[&str], push: &[&str]) -> String {
    let work = world.checkout();
    std::fs::write(work.join("catalog.json"), "{}").unwrap();
    world.git(&work, &[&["commit", "--quiet", "-a"], commit].concat());
    world.git(&work, &[&["push", "--quiet"], push, &["origin", "HEAD:refs/heads/catalog"]].concat());
    world.git(&work, &["rev-parse", "HEAD"])
}

async fn a_changed_file_of_ours_is_a_conflict_until_the_caller_has_seen_it(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    let first = world.head();
    let changed = change_catalog(&world, &["-m", "Change the catalog"], &[]);
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": first })).await;
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), detail(&view).contains(&changed)), (Some("conflict"), true), "{view}");
    assert_eq!(world.files()["catalog.json"], b"{}");
    world.ask_again(id, 2, json!({ "commit": changed })).await.unwrap();
    assert_eq!(world.try_once(id).await["state"], "published");
    assert_ne!(world.files()["catalog.json"], b"{}");
    assert_eq!(verify_catalog(&world.files(), &world.keys).unwrap().revision, 2);
    // The commit stays, and a clone tells of it.
    let error = commits_valid(&world).unwrap_err();
    assert!(error.path().contains(&changed) && error.reason().contains("is not signed"), "{error}");
}

async fn a_rewritten_publication_with_another_file_is_a_conflict(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    world.kill_after_push(id).await;
    let changed = change_catalog(&world, &["--amend", "-m", "In other words"], &["--force"]);
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "conflict", "{view}");
    assert!(detail(&view).contains("catalog.json") && view["receipt"].is_null(), "{view}");
    assert_eq!(world.head(), Some(changed));
}

async fn a_landed_commit_that_was_forced_away_is_not_published_upon(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let published = world.published(1).await;
    let landed = world.head().unwrap();
    let remote = world.remote_path();
    let tree = world.git(&remote, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let other = world.git(&remote, &["commit-tree", &tree, "-m", "Begin anew"]);
    world.git(&remote, &["update-ref", "refs/heads/catalog", &other]);
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": landed })).await;
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), detail(&view).contains(&other)), (Some("conflict"), true), "{view}");
    assert_eq!(world.head(), Some(other));
    // What was seen on the branch then stays true.
    assert_eq!(world.get(published).await["state"], "published");
}

async fn a_deleted_branch_is_not_made_again_unasked(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    let landed = world.head().unwrap();
    world.git(&world.remote_path(), &["update-ref", "-d", "refs/heads/catalog"]);
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": landed })).await;
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), detail(&view).contains("it is absent")), (Some("conflict"), true), "{view}");
    assert_eq!(world.head(), None);
    world.ask_again(id, 2, json!({ "commit": null })).await.unwrap();
    assert_eq!(world.try_once(id).await["state"], "published");
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 1, others: 0 });
    // Nor does what comes next name what was on the branch that is gone.
    world.revision(3).await;
    let next = world.published(3).await;
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 2, others: 0 });
    assert_eq!(verify_catalog(&world.files(), &world.keys).unwrap().publications, [id, next]);
}

/// Publishes the first revision to another repository, and moves the remote to the one that is looked at, which is empty.
async fn moved(engine: Engine) -> World {
    let world = World::new(engine).await;
    world.make_remote("old.git");
    world.put_remote("origin", &world.path("old.git")).await;
    world.revision(1).await;
    world.published(1).await;
    assert_eq!(world.head(), None);
    world.put_remote("origin", &world.remote_path()).await;
    world
}

async fn a_remote_that_moved_to_an_empty_repository_begins_anew(engine: Engine) {
    let world = moved(engine).await;
    let mut published = Vec::new();
    for revision in [2, 3] {
        world.revision(revision).await;
        let expected = world.head();
        let id = world.ask(revision, json!({ "commit": expected })).await;
        let view = world.try_once(id).await;
        assert_eq!((view["state"].as_str(), expected.is_none()), (Some("published"), revision == 2), "{view}");
        published.push(id);
        assert_eq!(verify_catalog(&world.files(), &world.keys).unwrap().publications, published);
        let report = commits_valid(&world).unwrap();
        assert_eq!(report, HistoryReport { publications: published.len(), others: 0 });
    }
}

async fn a_remote_that_moved_onto_commits_of_others_names_nothing_of_before(engine: Engine) {
    let world = moved(engine).await;
    world.foreign_first_commit();
    world.revision(2).await;
    world.published(2).await;
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 1, others: 1 });
}

async fn without_the_commit_key_nothing_is_pushed(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let key = &world.settings.commit_key;
    let away = world.path("key-away");
    std::fs::rename(key, &away).unwrap();
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), world.head()), (Some("committing"), None), "{view}");
    assert!(detail(&view).contains("commit_key"), "{view}");
    std::fs::rename(away, key).unwrap();
    assert_eq!(world.try_once(id).await["state"], "published");
}

async fn a_new_commit_key_does_not_publish_twice(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    world.kill_after_push(id).await;
    let commits = world.commits();
    // With another key the same publication would be another commit.
    let key = world.settings.commit_key.to_str().unwrap();
    let made = std::process::Command::new("openssl").args(["genpkey", "-algorithm", "ed25519", "-out", key]).status();
    assert!(made.unwrap().success());
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), world.commits()), (Some("published"), commits), "{view}");
}

async fn a_broken_scratch_repository_costs_one_try(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": world.head() })).await;
    // What the look has fetched is gone before the commit is pushed.
    let settings = world.scripted(
        "case \"$input\" in *'\"operation\":\"push\"'*) /bin/rm -rf publication-*/work.git/objects/??;; esac\n\
         printf %s \"$input\" | \"$REAL\" git-helper",
    );
    let view = world.try_with(&settings, id).await;
    assert_eq!((view["state"].as_str(), world.commits().len()), (Some("pushing"), 1), "{view}");
    assert_eq!(world.try_once(id).await["state"], "published");
}

async fn a_full_disk_costs_one_try(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    // No file may become longer than nothing.
    let settings = world.scripted("ulimit -f 0\nprintf %s \"$input\" | \"$REAL\" git-helper");
    let view = world.try_with(&settings, id).await;
    assert_eq!((view["state"].as_str(), world.head()), (Some("committing"), None), "{view}");
    assert!(detail(&view).starts_with("try 1 of 12: "), "{view}");
    assert_eq!(world.try_once(id).await["state"], "published");
}
