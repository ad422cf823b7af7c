//! The push: compare the head, move the branch, and say what came of it.
//!
//! There is no forced update here. To a server the update names the head that it replaces, and libgit2 sends it only
//! when the commit descends from it. To a repository on this machine libgit2's own push would overwrite whatever came
//! between its look and its write, so there the reference is compared and moved under its lock by ourselves.

use std::{cell::RefCell, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

use git2::{ErrorCode, Oid, PushOptions, RemoteCallbacks, RemoteRedirect, Repository};

use crate::{
    CommitId, FailureKind, GitAnswer, PushOutcome,
    access::Handshake,
    ancestry::Ancestry,
    failure::{Failure, one_line},
    remote::{Address, Remote},
};

/// Greatest number of bytes kept of what a server says beside the protocol.
const MAX_SIDEBAND_BYTES: usize = 4096;
/// Hooks that can refuse a push, and that a push to a path would not run.
const REFUSING_HOOKS: [&str; 4] = ["pre-receive", "update", "proc-receive", "reference-transaction"];

/// Moves the branch from `expected` to `commit`.
pub(crate) fn push(remote: &Remote, commit: CommitId, expected: Option<CommitId>) -> Result<GitAnswer, Failure> {
    let (commit, expected) = (commit.oid(), expected.map(CommitId::oid));
    let object = remote
        .scratch
        .find_commit(commit)
        .map_err(|_| Failure::new(FailureKind::Scratch, format!("commit {commit} is not in the scratch repository")))?;
    if object.parent_ids().next() != expected || object.parent_count() > 1 {
        return Err(Failure::invalid("the commit's parent is not the expected head"));
    }
    let head = remote.fetch()?;
    let outcome = match head {
        Some(head) if head == commit => PushOutcome::UpToDate,
        Some(head) if Some(head) != expected && is_behind(remote, head, commit, expected)? => PushOutcome::UpToDate,
        head if head != expected => PushOutcome::Stale { head: head.map(CommitId::new) },
        _ => match &remote.address {
            Address::Local(path) => push_to_path(remote, path, commit, expected)?,
            Address::Server(url) => push_to_server(remote, url, commit, expected)?,
        },
    };
    Ok(GitAnswer::Push { outcome })
}

/// Whether the branch went on from `commit`, whose parent is `expected`: then it is found before that.
fn is_behind(remote: &Remote, head: Oid, commit: Oid, expected: Option<Oid>) -> Result<bool, Failure> {
    Ok(Ancestry::of(remote, head)?.find(&[commit], expected)?.is_some())
}

pub(crate) fn push_to_path(
    remote: &Remote,
    path: &Path,
    commit: Oid,
    expected: Option<Oid>,
) -> Result<PushOutcome, Failure> {
    let there = Repository::open(path)?;
    if !there.is_bare() {
        return Err(Failure::configuration("the remote is no bare repository: a push would leave its files behind"));
    }
    if let Some(hook) = refusing_hook(&there)? {
        let why = format!("the repository has a {hook} hook, which a push to a path does not run: name a server");
        return Ok(PushOutcome::Rejected { why, policy: true });
    }
    copy_objects(&remote.scratch, &there, commit, expected)?;
    let moved = match expected {
        Some(expected) => there.reference_matching(&remote.branch, commit, true, expected, "publication"),
        None => there.reference(&remote.branch, commit, false, "publication"),
    };
    match moved {
        Ok(_) => Ok(PushOutcome::Pushed),
        Err(error) => match error.code() {
            ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound => Ok(PushOutcome::Stale { head: None }),
            ErrorCode::Locked => Ok(PushOutcome::Transient { why: one_line(error.message()) }),
            _ => Err(error.into()),
        },
    }
}

/// Puts what `commit` has and `known` has not into the other repository, as one pack.
fn copy_objects(from: &Repository, to: &Repository, commit: Oid, known: Option<Oid>) -> Result<(), Failure> {
    let mut walk = from.revwalk()?;
    walk.push(commit)?;
    if let Some(known) = known {
        walk.hide(known)?;
    }
    let mut pack = from.packbuilder()?;
    pack.insert_walk(&mut walk)?;
    let odb = to.odb()?;
    let mut writer = odb.packwriter()?;
    let mut failure = None;
    let packed = pack.foreach(|bytes| {
        failure = writer.write_all(bytes).err();
        failure.is_none()
    });
    if let Some(error) = failure {
        return Err(Failure::new(FailureKind::Transient, format!("writing the objects: {error}")));
    }
    packed?;
    writer.commit()?;
    Ok(())
}

/// The first hook of `repository` that could refuse a push.
fn refusing_hook(repository: &Repository) -> Result<Option<&'static str>, Failure> {
    let folder = match repository.config()?.get_path("core.hooksPath") {
        // A relative one is relative to where hooks run: the repository itself.
        Ok(folder) => repository.path().join(folder),
        Err(error) if error.code() == ErrorCode::NotFound => repository.path().join("hooks"),
        Err(error) => return Err(error.into()),
    };
    Ok(REFUSING_HOOKS.into_iter().find(|hook| is_executable(&folder.join(hook))))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

pub(crate) fn push_to_server(
    remote: &Remote,
    url: &str,
    commit: Oid,
    expected: Option<Oid>,
) -> Result<PushOutcome, Failure> {
    // A reference of our own, so that the refspec can mean nothing else.
    let source = format!("refs/pinhole/commits/{commit}");
    remote.scratch.reference(&source, commit, true, "to be pushed")?;
    let answers = RefCell::new(Answers::default());
    let handshake = Handshake::new(&remote.access, url);
    let pushed = {
        let mut options = PushOptions::new();
        options.remote_callbacks(listen(&handshake, &answers, expected)).follow_redirects(RemoteRedirect::None);
        let mut there = remote.scratch.remote_anonymous(url)?;
        there.push(&[format!("{source}:{}", remote.branch)], Some(&mut options))
    };
    remote.scratch.find_reference(&source)?.delete()?;
    let Answers { refused, moved, said } = answers.into_inner();
    let said = handshake.redact(&String::from_utf8_lossy(&said));
    if let Some(head) = moved {
        return Ok(PushOutcome::Stale { head: (!head.is_zero()).then(|| CommitId::new(head)) });
    }
    match (pushed, refused) {
        (Ok(()), None) => Ok(PushOutcome::Pushed),
        (_, Some(why)) => Ok(classify(&handshake.redact(&why), &said)),
        (Err(error), None) if error.code() == ErrorCode::NotFastForward => Ok(PushOutcome::Stale { head: None }),
        (Err(error), None) => broken_off(&handshake.failure(error).while_("pushing"), &said),
    }
}

/// What a push means that failed without a word on the reference. Whether the branch was moved is not known: that is for
/// a look to find out. Only a server that did not take the objects has certainly not moved it, and may have said why.
fn broken_off(failure: &Failure, said: &str) -> Result<PushOutcome, Failure> {
    /// libgit2's words for that.
    const NOT_TAKEN: &str = "unpacking the sent packfile failed";
    if failure.kind() != FailureKind::Transient {
        return Err(Failure::new(failure.kind(), failure.why()));
    }
    match classify(failure.why(), said) {
        rejected @ PushOutcome::Rejected { policy: true, .. } if failure.why().contains(NOT_TAKEN) => Ok(rejected),
        _ => Ok(PushOutcome::Transient { why: one_line(&format!("{} {said}", failure.why())) }),
    }
}

/// What a server said during a push.
#[derive(Default)]
struct Answers {
    /// Why it refused the reference.
    refused: Option<String>,
    /// The head that it has, when that is not the expected one; zero when it has none.
    moved: Option<Oid>,
    /// What it said beside the protocol; hooks speak here.
    said: Vec<u8>,
}

fn listen<'a>(
    handshake: &'a Handshake<'_>,
    answers: &'a RefCell<Answers>,
    expected: Option<Oid>,
) -> RemoteCallbacks<'a> {
    let mut callbacks = handshake.callbacks();
    callbacks.push_negotiation(move |updates| {
        let head = updates.first().map_or(Oid::ZERO_SHA1, git2::PushUpdate::src);
        if head == expected.unwrap_or(Oid::ZERO_SHA1) {
            return Ok(());
        }
        answers.borrow_mut().moved = Some(head);
        Err(git2::Error::from_str("the branch was moved"))
    });
    // `push` answers with success when the server refuses a reference; only this callback tells.
    callbacks.push_update_reference(|_, why| {
        answers.borrow_mut().refused = why.map(str::to_owned);
        Ok(())
    });
    callbacks.sideband_progress(|bytes| {
        let said = &mut answers.borrow_mut().said;
        let room = MAX_SIDEBAND_BYTES.saturating_sub(said.len());
        said.extend(bytes.iter().take(room));
        true
    });
    callbacks
}

/// What a server's refusal of a reference means. The words are those of git, GitHub, GitLab and Azure DevOps.
fn classify(status: &str, said: &str) -> PushOutcome {
    const STALE: [&str; 4] = ["non-fast-forward", "fetch first", "stale info", "incorrect old value provided"];
    const TRANSIENT: [&str; 8] = [
        "cannot lock ref",
        "failed to update ref",
        "failed to lock",
        "reference already exists",
        "hung up unexpectedly",
        "early eof",
        "internal server error",
        "unpacker error",
    ];
    const POLICY: [&str; 11] = [
        "hook declined",
        "protected branch",
        "gh0",
        "push rule",
        "can only push your own commits",
        "tf401027",
        "repository rule violations",
        "not allowed to push",
        "prohibited by",
        "exceeds maximum allowed size",
        "file size limit",
    ];
    let (status, said) = (status.to_lowercase(), said.trim());
    let all = format!("{status} {}", said.to_lowercase());
    let why = one_line(&if said.is_empty() { status.clone() } else { format!("{status}: {said}") });
    let names = |words: &[&str], text: &str| words.iter().any(|word| text.contains(word));
    if names(&POLICY, &all) {
        PushOutcome::Rejected { why, policy: true }
    } else if names(&STALE, &status) {
        PushOutcome::Stale { head: None }
    } else if names(&TRANSIENT, &all) {
        PushOutcome::Transient { why }
    } else {
        PushOutcome::Rejected { why, policy: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_mean_what_the_servers_mean() {
        let meaning = |status: &str, said: &str| match classify(status, said) {
            PushOutcome::Rejected { policy: true, .. } => "policy",
            PushOutcome::Rejected { policy: false, .. } => "refused",
            PushOutcome::Stale { head: None } => "stale",
            PushOutcome::Transient { .. } => "transient",
            other => panic!("{other:?}"),
        };
        for (status, said, expected) in [
            ("pre-receive hook declined", "", "policy"),
            ("protected branch hook declined", "error: GH006: Protected branch update failed", "policy"),
            ("push declined due to repository rule violations", "error: GH013", "policy"),
            // The hook's own words may hold anything.
            ("pre-receive hook declined", "GitLab: cannot lock ref", "policy"),
            ("TF401027: You need the Git 'GenericContribute' permission", "", "policy"),
            ("non-fast-forward", "", "stale"),
            ("fetch first", "", "stale"),
            ("cannot lock ref 'refs/heads/main': is at 1 but expected 2", "", "transient"),
            ("failed to update ref", "", "transient"),
            ("unpacker error", "fatal: write error: No space left on device", "transient"),
            ("unpacker error", "fatal: pack exceeds maximum allowed size", "policy"),
            ("deny updating a hidden ref", "", "refused"),
        ] {
            assert_eq!(meaning(status, said), expected, "{status}");
        }
    }

    #[test]
    fn what_a_server_says_is_bounded_and_has_no_control_characters() {
        let PushOutcome::Rejected { why, .. } = classify("no", &"\u{1b}[31m red \n".repeat(500)) else { panic!() };
        assert!(why.chars().count() <= 500 && !why.contains(char::is_control));
    }
}
