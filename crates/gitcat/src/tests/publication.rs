//! A publication by path, from the first look to the read-back.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use git2::{Oid, Repository, Signature, Time};

use super::site::{MARKER, Site, catalog, command, digest, draft, key, marker};
use crate::{
    CommitId, FailureKind, GitAnswer, GitRequest, MadeCommit, Operation, PushOutcome, push::push_to_path,
    remote::Remote, run,
};

#[test]
fn an_empty_repository_is_published_to_and_read_back() {
    let site = Site::new();
    assert_eq!(site.look(&[]), (None, None));
    let commit = site.publish(draft(None, &[("receipts/01/rcp_1.dsse.json", "one")]));
    let (head, found) = site.look(&[]);
    assert_eq!(head, Some(commit));
    assert_eq!(found, Some(crate::Marker { commit, marker: Some(digest("{\"p\":1}")) }));
    let expected = BTreeMap::from([
        ("catalog.json".to_owned(), digest("{}")),
        ("manifest.json".into(), digest("{}")),
        (MARKER.into(), digest("{\"p\":1}")),
        ("receipts/01/rcp_1.dsse.json".into(), digest("one")),
    ]);
    let answer = site.run(Operation::ReadBack { commit, expected_head: None });
    assert_eq!(answer, GitAnswer::ReadBack { on_branch: true, head: Some(commit), files: expected });
    site.git(&["-C", "remote.git", "fsck", "--strict", "--full"]);
}

#[test]
fn a_read_back_into_an_empty_scratch_repository_comes_from_the_remote() {
    let site = Site::new();
    let commit = site.publish(draft(None, &[]));
    let mut request = site.request(Operation::ReadBack { commit, expected_head: None });
    request.scratch = site.folder.path().join("fresh.git");
    let GitAnswer::ReadBack { on_branch: true, files, .. } = run(request, None) else { panic!() };
    assert_eq!(files.len(), 3);
    // A commit that is only in the scratch repository is not on the branch.
    let unpushed = site.commit(draft(Some(commit), &[("revisions/1.dsse.json", "x")]));
    let answer = site.run(Operation::ReadBack { commit: unpushed, expected_head: None });
    assert_eq!(answer, GitAnswer::ReadBack { on_branch: false, head: Some(commit), files: BTreeMap::new() });
}

#[test]
fn the_same_request_makes_the_same_commit_wherever_it_is_made() {
    let (one, other) = (Site::new(), Site::new());
    let draft = draft(None, &[("receipts/01/rcp_1.dsse.json", "one")]);
    let commit = one.commit(draft.clone());
    assert_eq!(one.commit(draft.clone()), commit);
    assert_eq!(other.commit(draft.clone()), commit);
    let later = crate::Draft { at_s: draft.at_s + 1, ..draft };
    assert_ne!(other.commit(later), commit);
}

#[test]
fn a_retry_of_a_pushed_commit_is_up_to_date_even_below_later_ones() {
    let site = Site::new();
    let commit = site.publish(draft(None, &[]));
    assert_eq!(site.push(commit, None), PushOutcome::UpToDate);
    let foreign = site.foreign_commit("README.md");
    assert_eq!(site.push(commit, None), PushOutcome::UpToDate);
    assert_eq!(site.head(), foreign);
}

#[test]
fn a_foreign_commit_in_between_is_stale_and_is_not_overwritten() {
    let site = Site::new();
    let first = site.publish(draft(None, &[]));
    let commit = site.commit(draft(Some(first), &[("revisions/1.dsse.json", "x")]));
    let foreign = site.foreign_commit("README.md");
    assert_eq!(site.push(commit, Some(first)), PushOutcome::Stale { head: Some(foreign) });
    assert_eq!(site.head(), foreign);
    // The same for a branch that was not there when the commit was made.
    let root = site.commit(crate::Draft { at_s: 1, ..draft(None, &[]) });
    assert_eq!(site.push(root, None), PushOutcome::Stale { head: Some(foreign) });
}

#[test]
fn a_foreign_commit_between_the_look_of_a_push_and_its_write_is_stale() {
    let site = Site::new();
    let first = site.publish(draft(None, &[]));
    let commit = site.commit(draft(Some(first), &[("revisions/1.dsse.json", "x")]));
    let remote = Remote::open(&site.request(Operation::ReadBack { commit, expected_head: None })).unwrap();
    let foreign = site.foreign_commit("README.md");
    let push = |expected: Option<CommitId>| {
        push_to_path(&remote, &site.remote(), commit.oid(), expected.map(CommitId::oid)).unwrap()
    };
    assert_eq!(push(Some(first)), PushOutcome::Stale { head: None });
    assert_eq!(push(None), PushOutcome::Stale { head: None });
    assert_eq!(site.head(), foreign);
    site.git(&["-C", "remote.git", "update-ref", "-d", "refs/heads/main"]);
    assert_eq!(push(Some(first)), PushOutcome::Stale { head: None });
}

#[test]
fn of_many_at_once_one_is_pushed() {
    let site = Site::new();
    let first = site.publish(draft(None, &[]));
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|number| {
                let site = &site;
                scope.spawn(move || {
                    let scratch = site.folder.path().join(format!("scratch-{number}.git"));
                    let ask = |operation| {
                        run(GitRequest { scratch: scratch.clone(), ..site.request(operation) }, Some(&key()))
                    };
                    let text = number.to_string();
                    let draft = draft(Some(first), &[("revisions/1.dsse.json", &text)]);
                    let GitAnswer::Committed(MadeCommit { commit, .. }) = ask(Operation::Commit(draft)) else {
                        panic!()
                    };
                    ask(Operation::Push { commit, expected_head: Some(first) })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let pushed = |answer: &&GitAnswer| matches!(answer, GitAnswer::Push { outcome: PushOutcome::Pushed });
    assert_eq!(outcomes.iter().filter(pushed).count(), 1, "{outcomes:?}");
    let lost = |answer: &GitAnswer| {
        let GitAnswer::Push { outcome } = answer else { return false };
        matches!(outcome, PushOutcome::Stale { .. } | PushOutcome::Transient { .. } | PushOutcome::Pushed)
    };
    assert!(outcomes.iter().all(lost), "{outcomes:?}");
    assert_eq!(site.git(&["-C", "remote.git", "rev-list", "--count", "refs/heads/main"]), "2");
}

#[test]
fn foreign_files_stay_and_files_of_an_older_catalog_go() {
    let site = Site::new();
    let first = site.publish(draft(None, &[("baselines/staging/shop/visual/cart@default.json", "old")]));
    assert_eq!(site.look(&[]).0, Some(first));
    site.foreign_commit("docs/baselines/notes.md");
    let head = site.foreign_commit("LICENSE");
    assert_eq!(site.look(&[]).0, Some(head));
    site.publish(draft(Some(head), &[("baselines/staging/shop/visual/pay@default.json", "new")]));
    let expected = [
        "LICENSE",
        "baselines/staging/shop/visual/pay@default.json",
        "catalog.json",
        "docs/baselines/notes.md",
        "manifest.json",
        MARKER,
    ];
    assert_eq!(site.paths(), expected);
}

#[test]
fn a_commit_fetches_the_head_that_it_needs() {
    let site = Site::new();
    site.publish(draft(None, &[]));
    let head = site.foreign_commit("README.md");
    let commit = site.commit(draft(Some(head), &[]));
    assert_eq!(site.push(commit, Some(head)), PushOutcome::Pushed);
    let unknown = CommitId::new(Oid::from_bytes(&[7; 20]).unwrap());
    let GitAnswer::Failed { kind, .. } = site.run(Operation::Commit(draft(Some(unknown), &[]))) else { panic!() };
    assert_eq!(kind, FailureKind::Invalid);
}

#[test]
fn a_publication_is_found_by_its_commit_or_by_its_marker() {
    let site = Site::new();
    let commit = site.publish(draft(None, &[]));
    let head = site.foreign_commit("README.md");
    // Without knowing the commit: the oldest one with the marker.
    let (at, found) = site.look(&[]);
    assert_eq!((at, found.unwrap().commit), (Some(head), commit));
    // Somebody squashed everything: the known commit is gone, the marker is in another one.
    let tree = site.git(&["-C", "remote.git", "rev-parse", "refs/heads/main^{tree}"]);
    let squashed = site.git(&["-C", "remote.git", "commit-tree", &tree, "-m", "Squash"]);
    site.git(&["-C", "remote.git", "update-ref", "refs/heads/main", &squashed]);
    let (at, found) = site.look(&[commit]);
    assert_eq!((at.unwrap().to_string(), found.unwrap().commit.to_string()), (squashed.clone(), squashed));
    // The marker was removed, but the known commit is an ancestor.
    let site = Site::new();
    let commit = site.publish(draft(None, &[]));
    let without = crate::Draft { files: catalog(&[]), ..draft(Some(commit), &[]) };
    let mut without = crate::Draft { at_s: 5, ..without };
    without.files.remove(MARKER);
    site.publish(without);
    let (_, found) = site.look(&[commit]);
    assert_eq!(found, Some(crate::Marker { commit, marker: None }));
    assert_eq!(site.look(&[]).1, None);
}

#[test]
fn git_and_ssh_keygen_accept_the_signature() {
    let site = Site::new();
    let commit = site.publish(draft(None, &[])).to_string();
    let signers = site.folder.path().join("allowed_signers");
    fs::write(&signers, format!("catalog@pinhole.invalid namespaces=\"git\" {}\n", key().authorized_key())).unwrap();
    let allowed = format!("gpg.ssh.allowedSignersFile={}", signers.display());
    site.git(&["-C", "remote.git", "-c", &allowed, "verify-commit", &commit]);

    let raw = site.git(&["-C", "remote.git", "cat-file", "commit", &commit]);
    let (signature, content): (Vec<_>, Vec<_>) = raw
        .lines()
        .scan(false, |inside, line| {
            *inside = line.starts_with("gpgsig ") || *inside && line.starts_with(' ');
            Some((*inside, line))
        })
        .partition(|(inside, _)| *inside);
    let text = |lines: Vec<(bool, &str)>| lines.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
    let signature = text(signature).replace("gpgsig ", "").replace("\n ", "\n");
    fs::write(site.folder.path().join("commit.sig"), signature).unwrap();
    let check = |content: &str| {
        let mut child = command("ssh-keygen", site.folder.path())
            .args(["-Y", "check-novalidate", "-n", "git", "-s", "commit.sig"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("this test needs ssh-keygen: install the OpenSSH client");
        child.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
        child.wait().unwrap().success()
    };
    let content = text(content);
    assert!(check(&content));
    assert!(!check(&content.replace("Pinhole", "Pinhold")));
}

#[test]
fn without_a_key_there_is_no_commit() {
    let site = Site::new();
    let GitAnswer::Failed { kind, why } = run(site.request(Operation::Commit(draft(None, &[]))), None) else {
        panic!()
    };
    assert_eq!(kind, FailureKind::Configuration);
    assert!(why.contains("key"));
}

#[test]
fn paths_that_are_no_catalog_are_refused() {
    let site = Site::new();
    for path in [
        "README.md",
        "logs/checkpoint",
        ".git/config",
        "receipts/../x",
        "receipts//x",
        "receipts/.git/hooks/x",
        "receipts",
        "catalog.json/x",
        "/catalog.json",
        "receipts/a\\b",
        "receipts/x.",
        "Catalog.json",
        "receipts/é",
    ] {
        let answer = site.run(Operation::Commit(draft(None, &[(path, "x")])));
        let GitAnswer::Failed { kind: FailureKind::Invalid, why } = answer else { panic!("{path}: {answer:?}") };
        assert!(why.starts_with(path), "{path}: {why}");
    }
    let clash = [("receipts/01/A.json", "x"), ("receipts/01/a.json", "x")];
    assert!(matches!(site.run(Operation::Commit(draft(None, &clash))), GitAnswer::Failed { .. }));
    let both = [("receipts/01", "x"), ("receipts/01/a.json", "x")];
    assert!(matches!(site.run(Operation::Commit(draft(None, &both))), GitAnswer::Failed { .. }));
}

#[test]
fn a_link_in_the_place_of_a_catalog_file_is_not_read_back() {
    let site = Site::new();
    site.publish(draft(None, &[]));
    let remote = site.remote();
    site.git(&["clone", "--quiet", remote.to_str().unwrap(), "work"]);
    let link = site.folder.path().join("work/catalog.json");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", link).unwrap();
    site.git(&["-C", "work", "commit", "--quiet", "-am", "Link"]);
    site.git(&["-C", "work", "push", "--quiet", "origin", "HEAD"]);
    let commit = site.head();
    let GitAnswer::Failed { kind, why } = site.run(Operation::ReadBack { commit, expected_head: None }) else {
        panic!()
    };
    assert_eq!((kind, why.starts_with("catalog.json")), (FailureKind::Invalid, true));
}

#[test]
fn what_no_reader_of_files_would_take_is_not_read_back() {
    let site = Site::new();
    let first = site.publish(draft(None, &[("receipts/01/rcp_1.dsse.json", "one")]));
    let repository = Repository::open_bare(site.remote()).unwrap();
    let file = repository.blob(b"{}").unwrap();
    // A tree with one entry.
    let tree = |name: &[u8], id: Oid, mode: i32| {
        let mut builder = repository.treebuilder(None).unwrap();
        builder.insert(name, id, mode).unwrap();
        builder.write().unwrap()
    };
    // What is read back of a commit that has the folder at the top beside what was published.
    let read_back = |name: &str, id: Oid| {
        let parent = repository.find_commit(first.oid()).unwrap();
        let mut builder = repository.treebuilder(Some(&parent.tree().unwrap())).unwrap();
        builder.insert(name, id, 0o040_000).unwrap();
        let whole = repository.find_tree(builder.write().unwrap()).unwrap();
        let person = Signature::new("Someone", "someone@example.org", &Time::new(1, 0)).unwrap();
        let commit = repository.commit(None, &person, &person, "Add", &whole, &[&parent]).unwrap();
        repository.reference("refs/heads/main", commit, true, "test").unwrap();
        site.run(Operation::ReadBack { commit: CommitId::new(commit), expected_head: None })
    };
    let unnamed = tree(b"\xff.json", file, 0o100_644);
    let mut deep = tree(b"a.json", file, 0o100_644);
    for _ in 0..8 {
        deep = tree(b"a", deep, 0o040_000);
    }
    for (folder, told) in [(unnamed, "not UTF-8"), (deep, "more folders")] {
        let answer = read_back("baselines", folder);
        let GitAnswer::Failed { kind: FailureKind::Invalid, why } = answer else { panic!("{told}: {answer:?}") };
        assert!(why.starts_with("baselines") && why.contains(told), "{why}");
        // What others have beside the catalog is theirs.
        let GitAnswer::ReadBack { on_branch: true, files, .. } = read_back("docs", folder) else { panic!("{told}") };
        assert_eq!(files.len(), 4);
    }
}

#[test]
fn remotes_that_cannot_be_pushed_to_say_why() {
    let site = Site::new();
    let commit = site.commit(draft(None, &[]));
    let push = |url: &str| {
        let request = GitRequest { url: url.into(), ..site.request(Operation::Push { commit, expected_head: None }) };
        run(request, None)
    };
    site.git(&["init", "--quiet", "full"]);
    for url in [
        site.folder.path().join("full").to_str().unwrap(),
        "/nonexistent/remote.git",
        "relative/remote.git",
        "http://git.example/x.git",
        "https://user:hush@git.example/x.git",
        "ftp://git.example/x",
    ] {
        let answer = push(url);
        let GitAnswer::Failed { kind: FailureKind::Configuration, why } = answer else { panic!("{url}: {answer:?}") };
        assert!(!why.contains("hush"), "{why}");
    }
    let path = format!("file://{}", site.url);
    assert_eq!(push(&path), GitAnswer::Push { outcome: PushOutcome::Pushed });
}

#[test]
fn a_hook_that_a_push_by_path_would_skip_refuses_it() {
    let site = Site::new();
    let commit = site.commit(draft(None, &[]));
    site.hook("pre-receive", "exit 0");
    let refused = || matches!(site.push(commit, None), PushOutcome::Rejected { policy: true, .. });
    assert!(refused());
    fs::rename(site.remote().join("hooks"), site.remote().join("rules")).unwrap();
    site.git(&["-C", "remote.git", "config", "core.hooksPath", "rules"]);
    assert!(refused());
    assert_eq!(site.look(&[]).0, None);
    site.git(&["-C", "remote.git", "config", "--unset", "core.hooksPath"]);
    assert_eq!(site.push(commit, None), PushOutcome::Pushed);
}

#[test]
fn a_locked_branch_is_transient() {
    let site = Site::new();
    let first = site.publish(draft(None, &[]));
    let commit = site.commit(draft(Some(first), &[("revisions/1.dsse.json", "x")]));
    let lock = site.remote().join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    assert!(matches!(site.push(commit, Some(first)), PushOutcome::Transient { .. }));
    fs::remove_file(lock).unwrap();
    assert_eq!(site.push(commit, Some(first)), PushOutcome::Pushed);
}

#[test]
fn a_broken_scratch_repository_asks_to_be_deleted() {
    let site = Site::new();
    let scratch = site.folder.path().join("scratch.git");
    fs::create_dir(&scratch).unwrap();
    fs::write(scratch.join("HEAD"), "nonsense").unwrap();
    let GitAnswer::Failed { kind, .. } =
        site.run(Operation::Look { marker: marker(), known_commits: vec![], expected_head: None, earlier: vec![] })
    else {
        panic!()
    };
    assert_eq!(kind, FailureKind::Scratch);
}

#[test]
fn nobodys_configuration_counts() {
    let home = tempfile::tempdir().unwrap();
    // Every path is sent elsewhere.
    let hostile = "[url \"/nonexistent/\"]\n\tinsteadOf = /\n";
    fs::write(home.path().join(".gitconfig"), hostile).unwrap();
    let test = "tests::publication::an_empty_repository_is_published_to_and_read_back";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("HOME", home.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn requests_and_answers_are_what_they_were_after_json() {
    let site = Site::new();
    let request = site.request(Operation::Commit(draft(None, &[])));
    let text = serde_json::to_string(&request).unwrap();
    let again: GitRequest = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), text);
    let GitAnswer::Committed(MadeCommit { commit, .. }) = run(again, Some(&key())) else { panic!() };
    for answer in [
        GitAnswer::Push { outcome: PushOutcome::Stale { head: Some(commit) } },
        GitAnswer::Look {
            head: None,
            found: Some(crate::Marker { commit, marker: Some(digest("x")) }),
            log_checkpoint: Some("x".into()),
            markers: [(marker(), digest("x"))].into(),
        },
        GitAnswer::Failed { kind: FailureKind::Scratch, why: "x".into() },
    ] {
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<GitAnswer>(&text).unwrap(), answer);
    }
    assert!("ABCDEF".parse::<CommitId>().is_err());
}

#[test]
fn markers_of_other_publications_are_read_at_the_head_alone() {
    let site = Site::new();
    let [there, gone, never] = [2, 3, 4].map(|n| format!("pub_0198c1aa00007000000000000000000{n}"));
    let path = |id: &str| format!("publications/{id}.json");
    let earlier: Vec<pinhole_core::PublicationId> = [&there, &gone, &never].map(|id| id.parse().unwrap()).into();
    let look = |earlier: &[_]| {
        let (known_commits, earlier) = (vec![], earlier.to_vec());
        site.run(Operation::Look { marker: marker(), known_commits, expected_head: None, earlier })
    };
    let markers = || {
        let GitAnswer::Look { markers, .. } = look(&earlier) else { panic!() };
        markers
    };
    assert_eq!(markers(), [].into(), "there is no branch");
    let first = site.publish(draft(None, &[(path(&there).as_str(), "1"), (path(&gone).as_str(), "2")]));
    assert_eq!(markers(), [(earlier[0], digest("1")), (earlier[1], digest("2"))].into());
    site.publish(draft(Some(first), &[(path(&there).as_str(), "3")]));
    assert_eq!(markers(), [(earlier[0], digest("3"))].into());
    let GitAnswer::Failed { kind, .. } = look(&earlier.repeat(400)) else { panic!() };
    assert_eq!(kind, FailureKind::Invalid);
}
