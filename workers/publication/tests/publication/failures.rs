//! What ends otherwise, and how.

use std::time::Duration;

use pinhole_testkit::{Engine, wait_until};
use pinhole_worker_publication::{PublicationSettings, publish};
use serde_json::json;

use crate::world::{DEADLINE, World};

on_both_engines! {
    an_unreachable_remote_is_tried_again_and_then_given_up
    a_remote_that_refuses_is_not_asked_again
    a_child_that_hangs_is_killed
    a_publication_that_kills_its_workers_ends
    a_push_that_pushed_nothing_is_never_published
}

async fn an_unreachable_remote_is_tried_again_and_then_given_up(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.put_remote("origin", &world.path("elsewhere.git")).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "committing", "{view}");
    assert!(view["detail"].as_str().unwrap().starts_with("try 1 of 12: the remote"), "{view}");
    for _ in 2..12 {
        assert_eq!(world.try_once(id).await["state"], "committing");
    }
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "failed", "{view}");
    assert!(view["detail"].as_str().unwrap().starts_with("given up after 12 tries: the remote"), "{view}");
    assert!(view["receipt"].is_null());
    world.make_remote("elsewhere.git");
    assert_eq!(world.try_once(id).await["state"], "failed", "an end is an end");
}

async fn a_remote_that_refuses_is_not_asked_again(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.hook("pre-receive");
    let id = world.ask(1, json!({ "commit": null })).await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "rejected", "{view}");
    assert!(view["detail"].as_str().unwrap().contains("pre-receive"), "{view}");
    assert_eq!(world.head(), None);
}

async fn a_child_that_hangs_is_killed(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    let pid = world.path("pid");
    let hanging = world.scripted(&format!("echo $$ > '{}'; /bin/sleep 600", pid.display()));
    let settings = PublicationSettings { deadline: Duration::from_secs(1), ..hanging };
    publish(&world.app, &settings, id).await.unwrap();
    let view = world.get(id).await;
    assert!(view["detail"].as_str().unwrap().contains("did not end within 1 s"), "{view}");
    let pid = std::fs::read_to_string(pid).unwrap();
    // Both the shell and the program that it waited for: a group without members has no entry under its number.
    let gone = async || !group_exists(pid.trim());
    wait_until(DEADLINE, "the end of the child and of what it started", gone).await;
    assert_eq!(world.try_once(id).await["state"], "published");
}

/// Whether a living process is in the group.
pub(crate) fn group_exists(group: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    // After the name in parentheses: state, parent, group.
    let groups = stats.filter_map(|stat| {
        let fields: Vec<_> = stat.rsplit(") ").next()?.split(' ').map(str::to_owned).collect();
        (fields.first()? != "Z").then(|| fields.get(2).cloned())?
    });
    groups.into_iter().any(|found| found == group)
}

async fn a_publication_that_kills_its_workers_ends(engine: Engine) {
    let world = World::with_lease(engine, Duration::from_millis(400)).await;
    world.revision(1).await;
    let id = world.ask(1, json!({ "commit": null })).await;
    for _ in 0..12 {
        let work = world.app.claim_publication(id).await.unwrap().unwrap();
        wait_until(DEADLINE, "the lease to end", async || world.app.sweep().await.unwrap() > 0).await;
        assert!(
            !world.app.record_commit(&work, &"1".repeat(40), "x").await.unwrap(),
            "a lost lease counts for nothing"
        );
    }
    assert!(world.app.claim_publication(id).await.unwrap().is_none());
    let view = world.get(id).await;
    assert_eq!(view["state"], "failed", "{view}");
    assert!(view["attempts"][0]["commit"].is_null());
}

/// Whoever pushes says that all went well, and the branch stays where it was: done is what was read back.
async fn a_push_that_pushed_nothing_is_never_published(engine: Engine) {
    let world = World::new(engine).await;
    world.revision(1).await;
    world.published(1).await;
    let before = world.head();
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": before })).await;
    for outcome in ["pushed", "up_to_date"] {
        let settings = world.scripted(&format!(
            "case \"$input\" in *'\"operation\":\"push\"'*)\n\
             printf %s '{{\"answer\":\"push\",\"outcome\":{{\"outcome\":\"{outcome}\"}}}}'; exit;; esac\n\
             printf %s \"$input\" | \"$REAL\" git-helper"
        ));
        let view = world.try_with(&settings, id).await;
        assert_eq!((&view["state"], &view["receipt"]), (&json!("verifying"), &json!(null)), "{view}");
        assert!(view["detail"].as_str().unwrap().contains("the branch does not show the commit"), "{view}");
        assert_eq!(world.head(), before);
    }
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(view["attempts"][0]["commit"], json!(world.head()));
}
