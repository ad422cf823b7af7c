//! The remote as Git itself sees it.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::world::{World, key};

impl World {
    pub(crate) fn remote_path(&self) -> PathBuf {
        self.path("remote.git")
    }

    pub(crate) fn make_remote(&self, name: &str) {
        self.git(self.folder.path(), &["init", "--quiet", "--bare", "--template=", "--initial-branch=catalog", name]);
    }

    /// Runs git without anybody's configuration; answers with what it printed.
    pub(crate) fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        self.try_git(folder, arguments).unwrap_or_else(|error| panic!("git {arguments:?}: {error}"))
    }

    fn try_git(&self, folder: &Path, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .env("HOME", self.folder.path())
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([("GIT_AUTHOR_NAME", "Someone"), ("GIT_AUTHOR_EMAIL", "someone@example.org")])
            .envs([("GIT_COMMITTER_NAME", "Someone"), ("GIT_COMMITTER_EMAIL", "someone@example.org")])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        if output.status.success() {
            Ok(text.trim().to_owned())
        } else {
            Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr)))
        }
    }

    /// The branch's head; `None` when there is no branch.
    pub(crate) fn head(&self) -> Option<String> {
        let listed = self.git(&self.remote_path(), &["for-each-ref", "--format=%(objectname)", "refs/heads/catalog"]);
        (!listed.is_empty()).then_some(listed)
    }

    /// Commits of the branch, the newest first.
    pub(crate) fn commits(&self) -> Vec<String> {
        let listed = self.git(&self.remote_path(), &["rev-list", "catalog"]);
        listed.lines().map(str::to_owned).collect()
    }

    /// What a person does: clones, writes a file, commits and pushes. Answers with the commit.
    pub(crate) fn foreign_commit(&self, path: &str) -> String {
        self.try_foreign_commit(path).unwrap()
    }

    /// The same; `None` when the branch moved meanwhile, or there is none yet.
    pub(crate) fn try_foreign_commit(&self, path: &str) -> Option<String> {
        self.head()?;
        let work = self.checkout();
        fs::write(work.join(path), "foreign\n").unwrap();
        self.git(&work, &["add", path]);
        self.git(&work, &["commit", "--quiet", "-m", "Write a file"]);
        let pushed = self.try_git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
        pushed.is_ok().then(|| self.git(&work, &["rev-parse", "HEAD"]))
    }

    /// A fresh clone with the branch checked out.
    pub(crate) fn checkout(&self) -> PathBuf {
        let work = self.path(&key());
        let remote = self.remote_path();
        let (remote, folder) = (remote.to_str().unwrap(), work.to_str().unwrap());
        self.git(self.folder.path(), &["clone", "--quiet", remote, folder]);
        work
    }

    /// Every file of the branch with its bytes.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let work = self.checkout();
        let listed = self.git(&work, &["ls-files"]);
        listed.lines().map(|path| (path.to_owned(), fs::read(work.join(path)).unwrap())).collect()
    }

    /// Puts a hook that refuses into the remote.
    pub(crate) fn hook(&self, name: &str) {
        self.hook_with(name, "exit 1");
    }

    /// Puts a hook into the remote.
    pub(crate) fn hook_with(&self, name: &str, script: &str) {
        let hooks = self.remote_path().join("hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
