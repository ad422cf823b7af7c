//! One try of one publication: look, commit, push, read back. Every way out is written down, or leaves the publication
//! to the next try, which begins with a look and so ends in the truth.

use std::future::Future;

use pinhole_app::{App, PublicationLease, PublicationWork, Unpublished};
use pinhole_core::{Code, PublicationId, Result};
use pinhole_gitcat::{CommitId, MadeCommit, PushOutcome};

use crate::{
    PublicationSettings,
    git::{Git, GitFailure, Seen},
};

/// What a look means for a publication.
enum Place {
    /// It is on the branch.
    Landed(CommitId),
    /// The branch is where it is expected to be.
    Free,
    /// Neither, and why.
    Foreign(String),
}

/// Whether a push was refused for good, or what it left is to be looked at.
enum Pushed {
    Acknowledged,
    Rejected(String),
    Unknown(String),
}

/// Tries `publication` once, if it is to be had. It ends, or it is given back to be tried again.
///
/// # Errors
/// Those of the database and of the scratch folder; the sweeper queues the publication again.
pub async fn publish(app: &App, settings: &PublicationSettings, publication: PublicationId) -> Result<()> {
    let Some(work) = app.claim_publication(publication).await? else { return Ok(()) };
    let lease = work.lease;
    let attempt = Attempt { app, work: &work, git: Git::new(settings, &work)? };
    // Boxed: it holds every step's state, and would be copied into the future of whoever awaits it.
    match while_held(app, &lease, Box::pin(attempt.run())).await? {
        Some(true) => Ok(()),
        Some(false) | None => {
            tracing::warn!(%publication, "lease lost; another worker goes on");
            Ok(())
        }
    }
}

struct Attempt<'a> {
    app: &'a App,
    work: &'a PublicationWork,
    git: Git<'a>,
}

impl Attempt<'_> {
    /// False when the lease was lost.
    async fn run(&self) -> Result<bool> {
        let seen = match self.git.look(None).await {
            Ok(seen) => seen,
            Err(failure) => return self.give_up(&failure).await,
        };
        if !self.record(&seen).await? {
            return Ok(false);
        }
        match self.place(&seen) {
            Place::Landed(commit) => self.land(commit, None).await,
            Place::Foreign(why) => self.conflict(&why).await,
            Place::Free => match self.log_refusal(&seen).await? {
                Some(why) => self.conflict(&why).await,
                None => self.commit_and_push().await,
            },
        }
    }

    /// Writes down what a look has found of earlier publications. False when the lease was lost.
    async fn record(&self, seen: &Seen) -> Result<bool> {
        let head = seen.head.map(|head| head.to_string());
        self.app.record_look(self.work, head.as_deref(), &seen.markers).await
    }

    /// Why the log does not continue the one that the branch holds, if it does not.
    async fn log_refusal(&self, seen: &Seen) -> Result<Option<String>> {
        let Some(checkpoint) = &seen.log_checkpoint else { return Ok(None) };
        match self.app.compare_published_log(self.work, checkpoint).await {
            Ok(()) => Ok(None),
            Err(error) if error.code() == Code::Conflict => {
                Ok(Some(format!("{}: {}", error.reason().unwrap_or_default(), error.message())))
            }
            Err(error) => Err(error),
        }
    }

    async fn commit_and_push(&self) -> Result<bool> {
        let MadeCommit { commit, signature } = match self.git.commit().await {
            Ok(made) => made,
            Err(failure) => return self.give_up(&failure).await,
        };
        if !self.app.record_commit(self.work, &commit.to_string(), &signature).await? {
            return Ok(false);
        }
        match self.push(commit).await {
            Pushed::Acknowledged => self.land(commit, self.git.expected_head()).await,
            Pushed::Rejected(why) => self.app.end_publication(&self.work.lease, Unpublished::Rejected, &why).await,
            Pushed::Unknown(why) => self.reconcile(commit, &why).await,
        }
    }

    async fn push(&self, commit: CommitId) -> Pushed {
        match self.git.push(commit).await {
            Ok(PushOutcome::Pushed | PushOutcome::UpToDate) => Pushed::Acknowledged,
            Ok(PushOutcome::Rejected { why, .. }) => Pushed::Rejected(why),
            Ok(PushOutcome::Stale { .. }) => Pushed::Unknown("the branch was moved meanwhile".into()),
            Ok(PushOutcome::Transient { why }) => Pushed::Unknown(why),
            Err(failure) => Pushed::Unknown(failure.why),
        }
    }

    /// Finds out what a push without an answer did. Nothing is pushed again before the next try.
    async fn reconcile(&self, commit: CommitId, why: &str) -> Result<bool> {
        let Ok(seen) = self.git.look(Some(commit)).await else {
            return self.app.retry_publication(&self.work.lease, why).await;
        };
        if !self.record(&seen).await? {
            return Ok(false);
        }
        match self.place(&seen) {
            Place::Landed(found) => self.land(found, None).await,
            Place::Foreign(why) => self.conflict(&why).await,
            Place::Free => self.app.retry_publication(&self.work.lease, why).await,
        }
    }

    /// Reads back what is thought to be on the branch; published is what was read. `replaced` is the head that the commit
    /// replaced, if that is known.
    async fn land(&self, commit: CommitId, replaced: Option<CommitId>) -> Result<bool> {
        let id = commit.to_string();
        if !self.app.record_landing(&self.work.lease, &id).await? {
            return Ok(false);
        }
        match self.git.read_back(commit, replaced).await {
            Ok(Some(files)) => self.app.confirm_publication(self.work, &id, &files).await,
            Ok(None) => self.app.retry_publication(&self.work.lease, "the branch does not show the commit").await,
            Err(failure) => self.give_up(&failure).await,
        }
    }

    fn place(&self, seen: &Seen) -> Place {
        let known = |commit: CommitId| self.work.known_commits.contains(&commit.to_string());
        match &seen.found {
            Some(found) if found.marker == Some(self.work.marker) || known(found.commit) => Place::Landed(found.commit),
            Some(found) if found.marker.is_none() => Place::Landed(found.commit),
            Some(_) => Place::Foreign("the branch has another file in the place of this publication's marker".into()),
            None if seen.head == self.git.expected_head() => Place::Free,
            None => {
                let head = |head: Option<CommitId>| head.map_or("absent".to_owned(), |commit| format!("at {commit}"));
                let (expected, actual) = (head(self.git.expected_head()), head(seen.head));
                Place::Foreign(format!("the branch was expected to be {expected}; it is {actual}"))
            }
        }
    }

    async fn conflict(&self, why: &str) -> Result<bool> {
        self.app.end_publication(&self.work.lease, Unpublished::Conflict, why).await
    }

    async fn give_up(&self, failure: &GitFailure) -> Result<bool> {
        if failure.passing {
            self.app.retry_publication(&self.work.lease, &failure.why).await
        } else {
            self.app.end_publication(&self.work.lease, Unpublished::Failed, &failure.why).await
        }
    }
}

/// Does `work` while the lease is renewed; `None` when it was lost, and then `work` is dropped where it awaits, its
/// Git process with it.
async fn while_held<T>(
    app: &App,
    lease: &PublicationLease,
    work: impl Future<Output = Result<T>>,
) -> Result<Option<T>> {
    tokio::select! {
        done = work => done.map(Some),
        () = app.publication_lost(lease) => Ok(None),
    }
}
