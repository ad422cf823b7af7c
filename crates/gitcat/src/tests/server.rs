//! What a server answers, with Git's own server behind it.

use std::fs;

use super::site::{Daemon, Site, draft};
use crate::{CommitId, GitAnswer, Operation, PushOutcome, push::push_to_server, remote::Remote};

#[test]
fn a_publication_through_a_server_is_pushed_once() {
    let mut site = Site::new();
    let _daemon = Daemon::start(&mut site);
    assert_eq!(site.look(&[]), (None, None));
    let first = site.publish(draft(None, &[]));
    assert_eq!(site.push(first, None), PushOutcome::UpToDate);
    let head = site.foreign_commit("README.md");
    assert_eq!(site.look(&[first]).1.unwrap().commit, first);
    let second = site.publish(draft(Some(head), &[("revisions/1.dsse.json", "x")]));
    let GitAnswer::ReadBack { on_branch: true, files, .. } =
        site.run(Operation::ReadBack { commit: second, expected_head: None })
    else {
        panic!()
    };
    assert_eq!(files.len(), 4);
    site.git(&["-C", "remote.git", "fsck", "--strict", "--full"]);
}

#[test]
fn a_hook_that_declines_is_a_policy_and_its_words_are_kept() {
    let mut site = Site::new();
    let _daemon = Daemon::start(&mut site);
    let commit = site.commit(draft(None, &[]));
    site.hook("pre-receive", "echo 'sign the form first'; exit 1");
    let outcome = site.push(commit, None);
    let PushOutcome::Rejected { why, policy: true } = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("pre-receive hook declined") && why.contains("sign the form first"), "{why}");
    assert_eq!(site.look(&[]).0, None);
}

#[test]
fn a_server_without_leave_to_push_refuses() {
    let mut site = Site::new();
    let _daemon = Daemon::start(&mut site);
    let commit = site.commit(draft(None, &[]));
    site.git(&["-C", "remote.git", "config", "transfer.hideRefs", "refs/heads"]);
    let outcome = site.push(commit, None);
    assert!(matches!(outcome, PushOutcome::Rejected { policy: false, .. }), "{outcome:?}");
}

#[test]
fn a_locked_branch_is_transient() {
    let mut site = Site::new();
    let _daemon = Daemon::start(&mut site);
    let first = site.publish(draft(None, &[]));
    let commit = site.commit(draft(Some(first), &[("revisions/1.dsse.json", "x")]));
    let lock = site.remote().join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let outcome = site.push(commit, Some(first));
    assert!(matches!(outcome, PushOutcome::Transient { .. }), "{outcome:?}");
    fs::remove_file(lock).unwrap();
    assert_eq!(site.push(commit, Some(first)), PushOutcome::Pushed);
}

#[test]
fn a_foreign_commit_between_the_look_of_a_push_and_its_write_is_stale() {
    let mut site = Site::new();
    let _daemon = Daemon::start(&mut site);
    let first = site.publish(draft(None, &[]));
    let commit = site.commit(draft(Some(first), &[("revisions/1.dsse.json", "x")]));
    let remote = Remote::open(&site.request(Operation::ReadBack { commit, expected_head: None })).unwrap();
    let push = |expected: CommitId| push_to_server(&remote, &site.url, commit.oid(), Some(expected.oid())).unwrap();
    let foreign = site.foreign_commit("README.md");
    assert_eq!(push(first), PushOutcome::Stale { head: Some(foreign) });
    // libgit2 itself refuses what does not descend from the head, whatever we expect.
    assert_eq!(push(foreign), PushOutcome::Stale { head: None });
    assert_eq!(site.head(), foreign);
}

#[test]
fn a_branch_that_moves_while_the_server_receives_is_not_overwritten() {
    let mut site = Site::new();
    let _daemon = Daemon::start(&mut site);
    let first = site.publish(draft(None, &[]));
    let commit = site.commit(draft(Some(first), &[("revisions/1.dsse.json", "x")]));
    let other = site.foreign_commit("README.md");
    site.git(&["-C", "remote.git", "update-ref", "refs/heads/main", &first.to_string()]);
    // The server has taken our objects, and moves the branch before it looks at our update.
    site.hook("pre-receive", &format!("unset GIT_QUARANTINE_PATH; git update-ref refs/heads/main {other}"));
    let outcome = site.push(commit, Some(first));
    assert!(matches!(outcome, PushOutcome::Transient { .. } | PushOutcome::Stale { .. }), "{outcome:?}");
    assert_eq!(site.head(), other);
}

#[test]
fn a_server_that_is_not_there_is_transient() {
    let mut site = Site::new();
    let daemon = Daemon::start(&mut site);
    let commit = site.commit(draft(None, &[]));
    drop(daemon);
    let answer = site.run(Operation::Push { commit, expected_head: None });
    assert!(matches!(answer, GitAnswer::Failed { kind: crate::FailureKind::Transient, .. }), "{answer:?}");
}
