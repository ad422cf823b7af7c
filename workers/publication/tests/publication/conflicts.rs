//! Foreign commits: never overwritten, never published upon without being asked.

use pinhole_receipt::{HistoryReport, read_tree, verify_catalog};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{tampering::commits_valid, world::World};

on_both_engines! {
    a_foreign_commit_is_a_conflict_until_the_caller_has_seen_it
    what_was_to_come_after_a_conflict_is_one
    a_rewritten_history_that_holds_the_publication_is_found
    a_squashed_history_verifies_and_is_published_upon
    a_rewritten_commit_of_an_earlier_attempt_counts_as_what_it_shows
    of_two_that_race_one_is_published
}

async fn a_foreign_commit_is_a_conflict_until_the_caller_has_seen_it(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    let first = world.head();
    let foreign = world.foreign_commit("README.md");
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": first })).await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "conflict", "{view}");
    assert!(view["detail"].as_str().unwrap().contains(&foreign), "{view}");
    assert_eq!(world.head().as_ref(), Some(&foreign));

    let again = world.ask_again(id, 2, json!({ "commit": foreign })).await.unwrap();
    assert_eq!((&again["state"], &again["attempts"][1]["attempt"]), (&json!("queued"), &json!(2)));
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(view["attempts"][0]["outcome"], "conflict");
    assert_eq!(view["attempts"][1]["base_commit"], foreign);
    assert_eq!(world.commits().len(), 3);
    let checkout = world.checkout();
    assert_eq!(std::fs::read_to_string(checkout.join("README.md")).unwrap(), "foreign\n");
    assert_eq!(verify_catalog(&read_tree(&checkout).unwrap(), &world.keys).unwrap().revision, 2);
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 2, others: 1 });
}

async fn what_was_to_come_after_a_conflict_is_one(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let first = world.ask(1, json!({ "commit": "1".repeat(40) })).await;
    world.revision(2).await;
    let second = world.ask(2, json!({ "after": first })).await;
    let error = world.ask_again(first, 1, json!({ "after": second })).await.unwrap_err();
    assert_eq!(error.reason(), Some("stale_version"), "{error}");
    assert_eq!(world.try_once(first).await["state"], "conflict");
    let view = world.try_once(second).await;
    assert_eq!(view["state"], "conflict", "{view}");
    assert!(view["detail"].as_str().unwrap().contains(&first.to_string()), "{view}");
    assert_eq!(world.head(), None);
}

async fn a_rewritten_history_that_holds_the_publication_is_found(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    // The worker dies after the push, and before anybody looks again a person amends its commit.
    world.kill_after_push(id).await;
    let work = world.checkout();
    world.git(&work, &["commit", "--quiet", "--amend", "-m", "In other words"]);
    world.git(&work, &["push", "--quiet", "--force", "origin", "HEAD:refs/heads/catalog"]);
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(world.commits(), [view["attempts"][0]["commit"].as_str().unwrap()]);
    assert_eq!(verify_catalog(&world.files(), &world.keys).unwrap().publications, [id]);
    // The content is ours, and a clone tells that the commit is not.
    let error = commits_valid(&world).unwrap_err();
    assert!(error.reason().contains("is not signed"), "{error}");
}

async fn a_squashed_history_verifies_and_is_published_upon(engine: Engine) {
    let world = World::new(engine).await;
    let mut ids = Vec::new();
    for number in 1..=3 {
        world.revision(number).await;
        ids.push(world.published(number).await);
    }
    let (pushed, before) = (world.commits(), world.files());
    // Upstream makes one commit of all three, with nothing of ours among its ancestors.
    let remote = world.remote_path();
    let squashed = world.git(&remote, &["commit-tree", "catalog^{tree}", "-m", "All of it"]);
    world.git(&remote, &["update-ref", "refs/heads/catalog", &squashed]);
    assert_eq!(world.files(), before);
    assert_eq!(verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap().revision, 3);

    // What the next runs are compared with is said by the catalog, and nothing of it is new again.
    world.revision(4).await;
    let list = json!({ "project": "shop", "state": "active" });
    assert_eq!(world.done("list_baselines", list).await["baselines"].as_array().unwrap().len(), 1);
    let fourth = world.published(4).await;
    assert_eq!(world.get(fourth).await["attempts"][0]["base_commit"], squashed);
    assert!(world.commits().iter().all(|commit| !pushed.contains(commit)));
    let report = verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap();
    assert_eq!((report.revision, report.publications.len(), report.active_entries), (4, 4, 1));
    for id in ids {
        assert_eq!(world.get(id).await["observations"], json!([]), "the branch shows it");
    }
}

async fn a_rewritten_commit_of_an_earlier_attempt_counts_as_what_it_shows(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    world.kill_after_push(id).await;
    let pushed = world.head().unwrap();
    // A person spoils the commit, and the publication ends in conflict.
    let work = world.checkout();
    std::fs::write(work.join("catalog.json"), "{}").unwrap();
    world.git(&work, &["commit", "--quiet", "--all", "--amend", "-m", "Spoilt"]);
    world.git(&work, &["push", "--quiet", "--force", "origin", "HEAD:refs/heads/catalog"]);
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "conflict", "{view}");
    assert!(view["detail"].as_str().unwrap().contains("catalog.json"), "{view}");

    // Then they put it right, in a commit of their own, and the log has gone on meanwhile.
    world.git(&work, &["checkout", "--quiet", &pushed, "--", "catalog.json"]);
    world.git(&work, &["commit", "--quiet", "--all", "--amend", "-m", "In other words"]);
    world.git(&work, &["push", "--quiet", "--force", "origin", "HEAD:refs/heads/catalog"]);
    let rewritten = world.head().unwrap();
    world.ask_again(id, 1, json!({ "commit": rewritten })).await.unwrap();
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(view["attempts"][1]["commit"], rewritten);
    assert_eq!(world.commits(), [rewritten]);

    // What comes next keeps the proofs that the branch has, not those of the attempt that pushed nothing.
    let before = world.files();
    verify_catalog(&before, &world.keys).unwrap();
    world.revision(2).await;
    world.published(2).await;
    let after = world.files();
    let stays = |path: &&String| path.starts_with("log/proofs/");
    assert!(before.keys().filter(stays).all(|path| after.get(path) == before.get(path)));
    assert_eq!(verify_catalog(&read_tree(&world.checkout()).unwrap(), &world.keys).unwrap().revision, 2);
}

async fn of_two_that_race_one_is_published(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let one = world.ask(1, json!({ "commit": null })).await;
    world.revision(2).await;
    let other = world.ask(2, json!({ "commit": null })).await;
    let (one, other) = tokio::join!(world.try_once(one), world.try_once(other));
    let mut states = [one["state"].as_str().unwrap(), other["state"].as_str().unwrap()];
    states.sort_unstable();
    assert_eq!(states, ["conflict", "published"], "{one} {other}");
    assert_eq!(world.commits().len(), 1);
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 1, others: 0 });
}
