//! How much of a branch is fetched, and that nothing depends on it.

use std::{
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
};

use pinhole_gitcat::{CommitId, GitAnswer, Operation};

use crate::{
    site::{MARKER, Site, draft, look},
    support::{Apache, Pace, Relay, Sshd},
};

const KIB: u64 = 1024;

impl Site {
    /// Gives the branch `commits` commits, the first with `files` files and each with a change of one; answers with them,
    /// the newest first. `also` is called with the number of each commit, from 1, for what it changes besides.
    fn long_branch(
        &self,
        commits: usize,
        files: usize,
        also: impl Fn(usize) -> Option<(&'static str, &'static str)>,
    ) -> Vec<CommitId> {
        let mut stream = String::new();
        for number in 1..=commits {
            let time = 1_700_000_000 + number;
            let who = format!("Someone <someone@example.org> {time} +0000");
            write!(stream, "commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata 1\nx\n").unwrap();
            let changed = if number == 1 { 0..files } else { number % files..number % files + 1 };
            let own =
                changed.map(|file| (format!("src/{:02}/{file:04}.txt", file % 40), format!("file {file} of {number}")));
            let also = also(number).map(|(path, text)| (path.to_owned(), text.to_owned()));
            for (path, text) in own.chain(also) {
                write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).unwrap();
            }
        }
        let mut import = Command::new("git")
            .args(["-C", "remote.git", "fast-import", "--quiet"])
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(import.wait().unwrap().success());
        let listed = self.git(&["-C", "remote.git", "rev-list", "refs/heads/main"]);
        listed.lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// One operation in a scratch repository that has nothing.
fn fresh(site: &Site, operation: Operation) -> GitAnswer {
    let scratch = tempfile::TempDir::new_in(site.folder.path()).unwrap();
    site.ask_in(scratch.path().file_name().unwrap().to_str().unwrap(), operation)
}

// Several threads: the relay works while the child is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_a_long_branch_moves_kilobytes() {
    let mut site = Site::new();
    let history = site.long_branch(50_000, 2_000, |_| None);
    let server = Apache::start(site.folder.path()).await;
    let relay = Relay::start(server.address(), Pace::Free).await;
    (site.url, site.access) = (Apache::url_at(relay.address), server.access());
    let head = history[0];

    assert_eq!(site.look(&[]), (Some(head), None));
    let looked = relay.passed();
    let commit = site.publish(draft(Some(head), &[]));
    let pushed = relay.passed();
    let back = |site: &Site| {
        let operation = Operation::ReadBack { commit, expected_head: Some(head) };
        let GitAnswer::ReadBack { on_branch, files, .. } = fresh(site, operation) else { panic!() };
        (on_branch, files.len())
    };
    assert_eq!(back(&site), (true, 3));
    let read = relay.passed();
    // The commit is known, and the branch is where it was: nothing is looked for in its history.
    let known: CommitId = "1".repeat(40).parse().unwrap();
    let Operation::Look { marker, known_commits, .. } = look(&[known]) else { panic!() };
    fresh(&site, Operation::Look { marker, known_commits, expected_head: Some(commit), earlier: vec![] });
    let again = relay.passed();
    // The branch is moved back, as a mirror that lags behind shows it: no history is needed to see that either.
    site.git(&["-C", "remote.git", "update-ref", "refs/heads/main", &head.to_string()]);
    assert_eq!(back(&site), (false, 0));
    let lagging = relay.passed();
    println!("bytes: look {looked}, push {pushed}, read back {read}, look again {again}, lagging {lagging}");
    for (what, bytes, limit) in [
        ("look", looked, 400 * KIB),
        ("push", pushed, 60 * KIB),
        ("read back", read, 400 * KIB),
        ("look again", again, 400 * KIB),
        ("lagging", lagging, 400 * KIB),
    ] {
        assert!(bytes < limit, "{what}: {bytes} bytes");
    }
}

/// Every place of a commit against every edge of what a step fetches.
async fn answers_do_not_depend_on_what_was_fetched(site: &mut Site, serve: impl AsyncFnOnce(&mut Site)) {
    // The marker comes with commit 500 and stays; the head is number 1200.
    let history = site.long_branch(1_200, 20, |number| (number == 500).then_some((MARKER, "{\"p\":1}")));
    serve(site).await;
    let absent: CommitId = "1".repeat(40).parse().unwrap();
    let head = history[0];
    for behind in [0, 1, 49, 50, 51, 700, 701, 1_000, 1_199] {
        let commit = history[behind];
        let GitAnswer::ReadBack { on_branch, files, .. } =
            fresh(site, Operation::ReadBack { commit, expected_head: None })
        else {
            panic!()
        };
        assert_eq!((on_branch, files.len()), (true, usize::from(behind <= 700)), "{behind}");
        let GitAnswer::Look { found, .. } = fresh(site, look(&[absent, commit])) else { panic!() };
        assert_eq!(found.unwrap().commit, commit, "{behind}");
    }
    let GitAnswer::ReadBack { on_branch: false, .. } =
        fresh(site, Operation::ReadBack { commit: absent, expected_head: None })
    else {
        panic!()
    };
    // By its marker: the first commit that has it.
    let GitAnswer::Look { found, .. } = fresh(site, look(&[])) else { panic!() };
    assert_eq!(found.unwrap().commit, history[700]);
    // Somebody else's branch, in the same scratch repository after it was made complete.
    assert_eq!(site.look(&[absent]).1.unwrap().commit, history[700]);
    let commit = site.publish(draft(Some(head), &[("revisions/1.dsse.json", "x")]));
    assert_eq!(site.head(), Some(commit));
    site.git(&["-C", "remote.git", "fsck", "--strict", "--connectivity-only"]);
}

#[tokio::test]
async fn answers_over_https_do_not_depend_on_what_was_fetched() {
    let mut server = None;
    let serve = async |site: &mut Site| {
        let started = Apache::start(site.folder.path()).await;
        (site.url, site.access) = (started.url(), started.access());
        server = Some(started);
    };
    answers_do_not_depend_on_what_was_fetched(&mut Site::new(), serve).await;
}

#[tokio::test]
async fn answers_over_ssh_do_not_depend_on_what_was_fetched() {
    let mut server = None;
    let serve = async |site: &mut Site| {
        let started = Sshd::start();
        (site.url, site.access) = (started.url(&site.remote()), started.access());
        server = Some(started);
    };
    answers_do_not_depend_on_what_was_fetched(&mut Site::new(), serve).await;
}

#[tokio::test]
async fn answers_of_a_path_are_the_same() {
    answers_do_not_depend_on_what_was_fetched(&mut Site::new(), async |_: &mut Site| ()).await;
}

#[tokio::test]
async fn a_commit_on_a_side_branch_is_found_behind_the_merge() {
    let mut site = Site::new();
    let first = site.publish(draft(None, &[]));
    // A side branch with our commit, and sixty of others before both are merged.
    let ours = site.publish(draft(Some(first), &[("revisions/1.dsse.json", "x")]));
    site.git(&["-C", "remote.git", "branch", "side", "main"]);
    site.git(&["-C", "remote.git", "update-ref", "refs/heads/main", &first.to_string()]);
    site.git(&["clone", "--quiet", "remote.git", "work"]);
    for _ in 0..60 {
        site.git(&["-C", "work", "commit", "--quiet", "--allow-empty", "-m", "More"]);
    }
    site.git(&["-C", "work", "merge", "--quiet", "--no-ff", "-m", "Merge", "origin/side"]);
    for _ in 0..60 {
        site.git(&["-C", "work", "commit", "--quiet", "--allow-empty", "-m", "Still more"]);
    }
    site.git(&["-C", "work", "push", "--quiet", "origin", "HEAD:refs/heads/main"]);
    let server = Apache::start(site.folder.path()).await;
    (site.url, site.access) = (server.url(), server.access());
    let Operation::Look { marker, known_commits, .. } = look(&[ours]) else { panic!() };
    let answer = fresh(&site, Operation::Look { marker, known_commits, expected_head: Some(first), earlier: vec![] });
    let GitAnswer::Look { found, .. } = answer else { panic!() };
    assert_eq!(found.unwrap().commit, ours);
}
