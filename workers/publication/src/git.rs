//! One publication's Git operations, each in a child, with their answers in the words of the worker.

use std::{collections::BTreeMap, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_app::PublicationWork;
use pinhole_core::{PublicationId, RemoteAccess, Result, Sha256Digest};
use pinhole_gitcat::{
    Author, CommitId, Draft, FailureKind, GitAnswer, GitRequest, MadeCommit, Marker, Operation, PushOutcome,
};

use crate::{PublicationSettings, child::ask, helper::HelperRequest, scratch::Scratch};

/// A failed operation.
pub(crate) struct GitFailure {
    /// Whether trying again may help.
    pub(crate) passing: bool,
    /// Why.
    pub(crate) why: String,
}

/// What a look at the branch found.
pub(crate) struct Seen {
    /// Its head.
    pub(crate) head: Option<CommitId>,
    /// Where the publication is on it.
    pub(crate) found: Option<Marker>,
    /// The checkpoint of the transparency log that it holds.
    pub(crate) log_checkpoint: Option<String>,
    /// SHA-256 of the markers of earlier publications that it holds.
    pub(crate) markers: BTreeMap<PublicationId, Sha256Digest>,
}

/// The operations of one try.
pub(crate) struct Git<'a> {
    settings: &'a PublicationSettings,
    work: &'a PublicationWork,
    scratch: Scratch,
    expected_head: Option<CommitId>,
}

impl<'a> Git<'a> {
    pub(crate) fn new(settings: &'a PublicationSettings, work: &'a PublicationWork) -> Result<Self> {
        let expected_head = work.expected_head.as_deref().map(str::parse).transpose()?;
        Ok(Self { settings, work, scratch: Scratch::new(&settings.scratch)?, expected_head })
    }

    pub(crate) fn expected_head(&self) -> Option<CommitId> {
        self.expected_head
    }

    /// Looks at the branch; `pushed` is a commit of this try.
    pub(crate) async fn look(&self, pushed: Option<CommitId>) -> Result<Seen, GitFailure> {
        let known = self.work.known_commits.iter().filter_map(|commit| commit.parse().ok());
        let known_commits = pushed.into_iter().chain(known).take(100).collect();
        let look = Operation::Look {
            marker: self.work.lease.publication,
            known_commits,
            expected_head: self.expected_head,
            earlier: self.work.earlier.keys().copied().collect(),
        };
        match self.ask(look, self.scratch.work()).await? {
            GitAnswer::Look { head, found, log_checkpoint, markers } => {
                Ok(Seen { head, found, log_checkpoint, markers })
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Makes the commit; the same one whenever it is made.
    pub(crate) async fn commit(&self) -> Result<MadeCommit, GitFailure> {
        let files = self.work.files.iter().map(|(path, bytes)| (path.clone(), STANDARD.encode(bytes))).collect();
        let draft = Draft {
            expected_head: self.expected_head,
            files,
            message: self.work.message.clone(),
            author: Author { name: self.work.committer_name.into(), email: self.work.committer_email.into() },
            at_s: self.work.committed_at.as_micros() / 1_000_000,
            made: self.made()?,
        };
        match self.ask(Operation::Commit(draft), self.scratch.work()).await? {
            GitAnswer::Committed(made) => Ok(made),
            other => Err(unexpected(&other)),
        }
    }

    /// What an earlier try of this attempt made.
    fn made(&self) -> Result<Option<MadeCommit>, GitFailure> {
        let Some((commit, signature)) = &self.work.made else { return Ok(None) };
        let failed = |error: pinhole_core::Error| GitFailure { passing: false, why: error.message().to_owned() };
        Ok(Some(MadeCommit { commit: commit.parse().map_err(failed)?, signature: signature.clone() }))
    }

    pub(crate) async fn push(&self, commit: CommitId) -> Result<PushOutcome, GitFailure> {
        let operation = Operation::Push { commit, expected_head: self.expected_head };
        match self.ask(operation, self.scratch.work()).await? {
            GitAnswer::Push { outcome } => Ok(outcome),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads the catalog's files at `commit` from the remote; `None` when the branch does not hold it. `replaced` is the
    /// head that the commit replaced, if that is known.
    pub(crate) async fn read_back(
        &self,
        commit: CommitId,
        replaced: Option<CommitId>,
    ) -> Result<Option<BTreeMap<String, Sha256Digest>>, GitFailure> {
        match self.ask(Operation::ReadBack { commit, expected_head: replaced }, self.scratch.read_back()).await? {
            GitAnswer::ReadBack { on_branch, files, .. } => Ok(on_branch.then_some(files)),
            other => Err(unexpected(&other)),
        }
    }

    async fn ask(&self, operation: Operation, scratch: PathBuf) -> Result<GitAnswer, GitFailure> {
        let commit_key = matches!(operation, Operation::Commit(_)).then(|| self.settings.commit_key.clone());
        // What is made before the push needs nothing of the server: a look has brought the parent.
        let is_local = matches!(operation, Operation::Commit(_));
        let git = GitRequest {
            url: self.work.remote_url.clone(),
            access: if is_local { RemoteAccess::default() } else { self.work.remote_access.clone() },
            branch: self.work.branch.clone(),
            scratch,
            operation,
        };
        let deadline_ms = u64::try_from(self.settings.deadline.as_millis()).unwrap_or(u64::MAX);
        match ask(self.settings, &HelperRequest { commit_key, deadline_ms, git }).await {
            // A configuration may be put right meanwhile, and every try has a scratch repository of its own.
            GitAnswer::Failed { kind, why } => Err(GitFailure { passing: kind != FailureKind::Invalid, why }),
            answer => Ok(answer),
        }
    }
}

fn unexpected(answer: &GitAnswer) -> GitFailure {
    tracing::error!(?answer, "the Git process answered another question");
    GitFailure { passing: false, why: "the Git process answered another question: is it of this version?".into() }
}
