//! A bare repository and a scratch folder in a temporary place, and Git's own programs to look at them.

use std::{
    collections::BTreeMap,
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ed25519_dalek::{SigningKey, pkcs8::EncodePrivateKey as _};
use pinhole_core::{PublicationId, Sha256Digest};
use tempfile::TempDir;

use crate::{Author, CommitId, CommitKey, Draft, GitAnswer, GitRequest, MadeCommit, Operation, PushOutcome, run};

pub(super) const MARKER: &str = "publications/pub_0198c1aa000070000000000000000001.json";

pub(super) fn marker() -> PublicationId {
    "pub_0198c1aa000070000000000000000001".parse().unwrap()
}

pub(super) fn key() -> CommitKey {
    let pem = SigningKey::from_bytes(&[7; 32]).to_pkcs8_pem(Default::default()).unwrap();
    CommitKey::from_pkcs8_pem(&pem).unwrap()
}

pub(super) struct Site {
    pub(super) folder: TempDir,
    pub(super) url: String,
}

impl Site {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = folder.path().join("remote.git").to_str().unwrap().to_owned();
        let site = Self { folder, url };
        site.git(&["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "remote.git"]);
        site
    }

    pub(super) fn remote(&self) -> PathBuf {
        self.folder.path().join("remote.git")
    }

    /// Runs git in the folder without anybody's configuration; answers with what it printed.
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let output = command("git", self.folder.path()).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(output.status.success(), "git {arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    pub(super) fn request(&self, operation: Operation) -> GitRequest {
        GitRequest {
            url: self.url.clone(),
            access: pinhole_core::RemoteAccess::default(),
            branch: "main".parse().unwrap(),
            scratch: self.folder.path().join("scratch.git"),
            operation,
        }
    }

    pub(super) fn run(&self, operation: Operation) -> GitAnswer {
        run(self.request(operation), Some(&key()))
    }

    pub(super) fn look(&self, known: &[CommitId]) -> (Option<CommitId>, Option<crate::Marker>) {
        let look =
            Operation::Look { marker: marker(), known_commits: known.into(), expected_head: None, earlier: vec![] };
        match self.run(look) {
            GitAnswer::Look { head, found, .. } => (head, found),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn commit(&self, draft: Draft) -> CommitId {
        match self.run(Operation::Commit(draft)) {
            GitAnswer::Committed(MadeCommit { commit, .. }) => commit,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn push(&self, commit: CommitId, expected_head: Option<CommitId>) -> PushOutcome {
        match self.run(Operation::Push { commit, expected_head }) {
            GitAnswer::Push { outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }

    /// Commits and pushes `draft`, which must succeed.
    pub(super) fn publish(&self, draft: Draft) -> CommitId {
        let expected = draft.expected_head;
        let commit = self.commit(draft);
        assert_eq!(self.push(commit, expected), PushOutcome::Pushed);
        commit
    }

    /// What a person does: clones, writes `path`, commits and pushes.
    pub(super) fn foreign_commit(&self, path: &str) -> CommitId {
        let remote = self.remote();
        self.git(&["clone", "--quiet", remote.to_str().unwrap(), "work"]);
        let work = self.folder.path().join("work");
        let file = work.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "foreign\n").unwrap();
        self.git(&["-C", "work", "add", path]);
        self.git(&["-C", "work", "commit", "--quiet", "-m", "Write a file"]);
        self.git(&["-C", "work", "push", "--quiet", "origin", "HEAD:refs/heads/main"]);
        let head = self.git(&["-C", "work", "rev-parse", "HEAD"]);
        fs::remove_dir_all(work).unwrap();
        head.parse().unwrap()
    }

    pub(super) fn head(&self) -> CommitId {
        self.git(&["-C", "remote.git", "rev-parse", "refs/heads/main"]).parse().unwrap()
    }

    pub(super) fn paths(&self) -> Vec<String> {
        let listing = self.git(&["-C", "remote.git", "ls-tree", "-r", "--name-only", "refs/heads/main"]);
        listing.lines().map(str::to_owned).collect()
    }

    pub(super) fn hook(&self, name: &str, script: &str) {
        let hooks = self.remote().join("hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A program that sees no configuration but its folder's.
pub(super) fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "Someone"), ("GIT_AUTHOR_EMAIL", "someone@example.org")])
        .envs([("GIT_COMMITTER_NAME", "Someone"), ("GIT_COMMITTER_EMAIL", "someone@example.org")]);
    command
}

pub(super) fn catalog(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    let all = [("catalog.json", "{}"), ("manifest.json", "{}"), (MARKER, "{\"p\":1}")];
    all.iter().chain(files).map(|(path, text)| ((*path).to_owned(), STANDARD.encode(text))).collect()
}

pub(super) fn draft(expected_head: Option<CommitId>, files: &[(&str, &str)]) -> Draft {
    Draft {
        expected_head,
        files: catalog(files),
        message: "Publish shop main 1\n\nCatalog-Revision: 1\n".into(),
        author: Author { name: "Pinhole".into(), email: "catalog@pinhole.invalid".into() },
        at_s: 1_764_504_000,
        made: None,
    }
}

pub(super) fn digest(text: &str) -> Sha256Digest {
    Sha256Digest::of(text.as_bytes())
}

/// `git daemon` for the repositories of a site, one process for each connection.
pub(super) struct Daemon {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Daemon {
    /// Serves `site`, and makes it use the server from now on.
    pub(super) fn start(site: &mut Site) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, folder) = (stop.clone(), site.folder.path().to_owned());
        let thread = std::thread::spawn(move || {
            let mut children = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let output = stream.try_clone().unwrap();
                let child = command("git", &folder)
                    .args(["daemon", "--inetd", "--export-all", "--enable=receive-pack", "--informative-errors"])
                    .arg(format!("--base-path={}", folder.display()))
                    .stdin(Stdio::from(OwnedFd::from(stream)))
                    .stdout(Stdio::from(OwnedFd::from(output)))
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                children.push(child);
            }
            for mut child in children {
                child.wait().unwrap();
            }
        });
        site.url = format!("git://{address}/remote.git");
        Self { address, stop, thread: Some(thread) }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
