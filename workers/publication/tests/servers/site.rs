//! A bare repository below a temporary folder, and the child that publishes to it.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_core::RemoteAccess;
use pinhole_gitcat::{Author, CommitId, Draft, FailureKind, GitAnswer, GitRequest, Marker, Operation, PushOutcome};
use serde_json::json;
use tempfile::TempDir;

use crate::support::run;

/// The program that tests start as the child.
const HELPER: &str = env!("CARGO_BIN_EXE_pinhole-worker-publication");
pub(crate) const MARKER: &str = "publications/pub_0198c1aa000070000000000000000001.json";
/// How long an operation may take on a machine that is busy with other tests.
const DEADLINE_MS: u64 = 60_000;

pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
    pub(crate) access: RemoteAccess,
    /// The child's environment; it has none otherwise.
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
}

impl Site {
    /// A repository that is reached by its path until `url` says otherwise.
    pub(crate) fn new() -> Self {
        let folder = TempDir::with_prefix("pinhole-git-").unwrap();
        let url = folder.path().join("remote.git").to_str().unwrap().to_owned();
        let site = Self { folder, url, access: RemoteAccess::default(), environment: Vec::new() };
        site.git(&["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "remote.git"]);
        run("openssl", site.folder.path(), &["genpkey", "-algorithm", "ed25519", "-out", "commit-key.pem"]);
        site
    }

    pub(crate) fn remote(&self) -> PathBuf {
        self.folder.path().join("remote.git")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        run("git", self.folder.path(), arguments)
    }

    /// One operation in a child of its own, with the scratch repository of this name.
    pub(crate) fn ask_in(&self, scratch: &str, operation: Operation) -> GitAnswer {
        let git = GitRequest {
            url: self.url.clone(),
            access: self.access.clone(),
            branch: "main".parse().unwrap(),
            scratch: self.folder.path().join(scratch),
            operation,
        };
        let key = self.folder.path().join("commit-key.pem");
        let request = json!({ "commit_key": key, "deadline_ms": DEADLINE_MS, "git": git });
        let mut child = Command::new(HELPER)
            .arg("git-helper")
            .env_clear()
            .envs(self.environment.clone())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&serde_json::to_vec(&request).unwrap()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn ask(&self, operation: Operation) -> GitAnswer {
        self.ask_in("scratch.git", operation)
    }

    pub(crate) fn look(&self, known: &[CommitId]) -> (Option<CommitId>, Option<Marker>) {
        match self.ask(look(known)) {
            GitAnswer::Look { head, found, .. } => (head, found),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn commit(&self, draft: Draft) -> CommitId {
        match self.ask(Operation::Commit(draft)) {
            GitAnswer::Committed(made) => made.commit,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn push(&self, commit: CommitId, expected_head: Option<CommitId>) -> PushOutcome {
        match self.ask(Operation::Push { commit, expected_head }) {
            GitAnswer::Push { outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }

    /// Commits and pushes `draft`, which must succeed.
    pub(crate) fn publish(&self, draft: Draft) -> CommitId {
        let expected = draft.expected_head;
        let commit = self.commit(draft);
        assert_eq!(self.push(commit, expected), PushOutcome::Pushed);
        commit
    }

    /// The files that the branch holds at `commit`, read into a scratch repository that has nothing.
    pub(crate) fn read_back(&self, commit: CommitId) -> Option<usize> {
        let fresh = TempDir::new_in(self.folder.path()).unwrap();
        let scratch = fresh.path().file_name().unwrap().to_str().unwrap();
        match self.ask_in(scratch, Operation::ReadBack { commit, expected_head: None }) {
            GitAnswer::ReadBack { on_branch, files, .. } => on_branch.then_some(files.len()),
            other => panic!("{other:?}"),
        }
    }

    /// What a person does: clones, writes `path`, commits and pushes.
    pub(crate) fn foreign_commit(&self, path: &str) -> CommitId {
        let remote = self.remote();
        self.git(&["clone", "--quiet", remote.to_str().unwrap(), "work"]);
        let work = self.folder.path().join("work");
        fs::write(work.join(path), "foreign\n").unwrap();
        self.git(&["-C", "work", "add", path]);
        self.git(&["-C", "work", "commit", "--quiet", "-m", "Write a file"]);
        self.git(&["-C", "work", "push", "--quiet", "origin", "HEAD:refs/heads/main"]);
        fs::remove_dir_all(work).unwrap();
        self.head().unwrap()
    }

    /// The head as Git itself sees it.
    pub(crate) fn head(&self) -> Option<CommitId> {
        let listed = self.git(&["-C", "remote.git", "for-each-ref", "--format=%(objectname)", "refs/heads/main"]);
        listed.parse().ok()
    }

    /// Puts a hook into the repository.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let hooks = self.remote().join("hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

impl Site {
    /// Publishes twice, with a person's commit in between, and finds both whole.
    pub(crate) fn publishes_and_reads_back(&self) {
        assert_eq!(self.look(&[]), (None, None));
        let first = self.publish(draft(None, &[]));
        assert_eq!(self.push(first, None), PushOutcome::UpToDate);
        let head = self.foreign_commit("README.md");
        assert_eq!(self.look(&[first]).1.unwrap().commit, first);
        let second = self.publish(draft(Some(head), &[("revisions/1.dsse.json", "x")]));
        assert_eq!((self.head(), self.read_back(second)), (Some(second), Some(4)));
        self.git(&["-C", "remote.git", "fsck", "--strict", "--full"]);
    }
}

/// A look for the publication of [`MARKER`].
pub(crate) fn look(known: &[CommitId]) -> Operation {
    let marker = MARKER.trim_start_matches("publications/").trim_end_matches(".json").parse().unwrap();
    Operation::Look { marker, known_commits: known.into(), expected_head: None, earlier: vec![] }
}

pub(crate) fn draft(expected_head: Option<CommitId>, files: &[(&str, &str)]) -> Draft {
    let all = [("catalog.json", "{}"), ("manifest.json", "{}"), (MARKER, "{\"p\":1}")];
    let files = all.iter().chain(files).map(|(path, text)| ((*path).to_owned(), STANDARD.encode(text)));
    Draft {
        expected_head,
        files: files.collect::<BTreeMap<_, _>>(),
        message: "Publish shop main 1\n\nCatalog-Revision: 1\n".into(),
        author: Author { name: "Pinhole".into(), email: "catalog@pinhole.invalid".into() },
        at_s: 1_764_504_000,
        made: None,
    }
}

/// Why an operation failed because of the remote's configuration; anything else is a failure of the test.
pub(crate) fn refusal(answer: GitAnswer) -> String {
    match answer {
        GitAnswer::Failed { kind: FailureKind::Configuration, why } => why,
        other => panic!("{other:?}"),
    }
}

/// Why an operation failed for now; anything else is a failure of the test.
pub(crate) fn passing(answer: GitAnswer) -> String {
    match answer {
        GitAnswer::Failed { kind: FailureKind::Transient, why }
        | GitAnswer::Push { outcome: PushOutcome::Transient { why } } => why,
        other => panic!("{other:?}"),
    }
}
