//! Taking a publication: the lease, and everything that its worker needs to make the same commit as any worker before
//! it. Which markers the tree holds is fixed when the attempt is first taken, and what it
//! shows of the log before its first commit, so that nothing later changes it.

use std::{collections::BTreeMap, future::Future};

use pinhole_core::{
    ClaimToken, Error, LineName, PublicationId, PublicationState, RemoteAccess, Result, Sha256Digest, Slug, Timestamp,
};
use pinhole_receipt::{
    COMMITTER_EMAIL, COMMITTER_NAME, CatalogInput, KeyStatus, PublicationMarker, commit_message, render, signing_key,
};
use pinhole_store::{Project, Publication, PublicationAttempt, Remote};
use serde_json::json;

use super::{
    MAX_TRIES,
    end::{End, end},
    head::{Head, present_attempt, resolve},
    is_over,
    log::{TreeLog, tree_log},
    place::barred,
    steps::{Unpublished, spent},
};
use crate::{App, baselines::catalog_input, remotes::open_access, unit::Unit};

/// How many commits of earlier attempts are looked for at most.
const MAX_KNOWN_COMMITS: usize = 100;
/// How many earlier publications are looked for at most, the newest ones.
const MAX_EARLIER: usize = 1_000;

/// The right to work on a publication, for as long as it is renewed.
#[derive(Clone, Copy, Debug)]
pub struct PublicationLease {
    /// The publication.
    pub publication: PublicationId,
    /// The token that every write carries.
    pub token: ClaimToken,
    /// Which attempt it is, from 1.
    pub attempt: u32,
}

/// A claimed publication with everything that its worker needs.
#[derive(Clone, Debug)]
pub struct PublicationWork {
    /// The lease.
    pub lease: PublicationLease,
    /// Where the remote is.
    pub remote_url: String,
    /// How it is reached.
    pub remote_access: RemoteAccess,
    /// The remote's slug.
    pub remote: Slug,
    /// The branch, without `refs/heads/`.
    pub branch: LineName,
    /// Where the branch shall be; `None` when it shall not exist.
    pub expected_head: Option<String>,
    /// Commits that earlier tries may have pushed, the newest first, at most 100.
    pub known_commits: Vec<String>,
    /// The complete catalog: paths and bytes.
    pub files: BTreeMap<String, Vec<u8>>,
    /// SHA-256 of this publication's marker file.
    pub marker: Sha256Digest,
    /// SHA-256 of the marker files of what had been published to the branch before, the newest 1,000.
    pub earlier: BTreeMap<PublicationId, Sha256Digest>,
    /// The commit's message with its trailers.
    pub message: String,
    /// Name of author and committer.
    pub committer_name: &'static str,
    /// Address of author and committer.
    pub committer_email: &'static str,
    /// The commit that an earlier try of this attempt made, and its signature. It is made again as it was, although the
    /// commit key may be another by now; unless the key that signed it is revoked.
    pub made: Option<(String, String)>,
    /// The commit's date: when the publication was asked for.
    pub committed_at: Timestamp,
    /// The project's slug.
    pub project: Slug,
    /// The catalog line.
    pub line: LineName,
    /// The revision's number.
    pub revision: u32,
    /// The revision's digest.
    pub digest: Sha256Digest,
}

/// A publication that was taken, before its tree is rendered.
pub(super) struct Taken {
    pub(super) publication: Publication,
    pub(super) lease: PublicationLease,
    pub(super) attempt: PublicationAttempt,
    expected_head: Option<String>,
}

/// What a tree is rendered from.
struct Loaded {
    project: Project,
    remote: Remote,
    attempts: Vec<PublicationAttempt>,
    input: CatalogInput,
}

impl App {
    /// Takes a publication; `None` when it is not to be had: another worker has it, it waits for another publication,
    /// or it has ended.
    ///
    /// # Errors
    /// Those of the database; `internal` when the tree cannot be rendered, and then it is tried again later.
    pub async fn claim_publication(&self, id: PublicationId) -> Result<Option<PublicationWork>> {
        // First, because with much to take in it may last longer than a lease.
        let logged = if self.signs_log() { self.sequence_log().await } else { Ok(()) };
        let Some(taken) = self.take_publication(id).await? else { return Ok(None) };
        let prepared = match logged {
            Ok(()) => self.renewing(&taken.lease, self.prepare_publication(&taken)).await,
            Err(error) => Err(error),
        };
        match prepared {
            Ok(work) => Ok(Some(work)),
            Err(error) => self.not_prepared(&taken.lease, error).await.map(|()| None),
        }
    }

    /// A log that is not the one of before ends the attempt: when the right database is back, the caller adds another.
    /// Everything else is tried again.
    async fn not_prepared(&self, lease: &PublicationLease, error: Error) -> Result<()> {
        match error.reason() {
            Some(reason) if reason.starts_with("log_") => {
                let why = format!("{reason}: {}", error.message());
                self.end_publication(lease, Unpublished::Conflict, &why).await.map(drop)
            }
            // The key may be restored, or the credential given anew, before the tries are spent.
            Some("credential_sealed") => {
                tracing::error!(?error, publication = %lease.publication, "a remote's credential does not open");
                self.retry_publication(lease, error.message()).await.map(drop)
            }
            Some("not_logged") => self.retry_publication(lease, error.message()).await.map(drop),
            _ => {
                let why = "the catalog could not be rendered: the server's log says why";
                self.retry_publication(lease, why).await?;
                Err(error)
            }
        }
    }

    /// Does `work` while the lease is renewed. Both are polled all the time: what one of them waits for may be the
    /// connection that the other holds.
    async fn renewing<T>(&self, lease: &PublicationLease, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.publication_lost(lease) => {
                Err(Error::transient("the lease on a publication was lost while it was prepared"))
            }
        }
    }

    /// Renews the lease until it is lost.
    pub async fn publication_lost(&self, lease: &PublicationLease) {
        let mut renewal = tokio::time::interval(self.settings().lease / 3);
        loop {
            renewal.tick().await;
            match self.renew_publication(lease).await {
                Ok(true) => {}
                Ok(false) => return,
                // When it stays so the lease runs out, and no write counts any more.
                Err(error) => tracing::warn!(?error, "the lease could not be renewed"),
            }
        }
    }

    async fn take_publication(&self, id: PublicationId) -> Result<Option<Taken>> {
        self.bookkeeping("claim_publication", move |unit, _| {
            Box::pin(async move {
                let publication = unit.publication(id).await?.ok_or_else(Error::not_found)?;
                let taken = publication.claim_token.is_some() && publication.due_at >= unit.now();
                if taken || is_over(publication.state) {
                    return Ok(None);
                }
                if publication.tries >= MAX_TRIES {
                    let last = publication.detail.as_deref().unwrap_or("no worker came to an end");
                    end(unit, &publication, spent(last)).await?;
                    return Ok(None);
                }
                let attempt = present_attempt(unit, &publication).await?;
                if let Some(why) = barred(unit, &publication, &attempt).await? {
                    end(unit, &publication, End::unpublished(PublicationState::Conflict, why)).await?;
                    return Ok(None);
                }
                match resolve(unit, &publication, &attempt).await? {
                    Head::At(head) => take(unit, publication, attempt, head).await,
                    Head::Never(why) => {
                        end(unit, &publication, End::unpublished(PublicationState::Conflict, why)).await?;
                        Ok(None)
                    }
                    // The end of the other one queues a job for this one; the sweeper looks now and then as well.
                    Head::Wait => Ok(None),
                }
            })
        })
        .await
    }

    async fn prepare_publication(&self, taken: &Taken) -> Result<PublicationWork> {
        self.fix_publication_log(taken).await?;
        let loaded = self
            .read(&self.system_actor(), "prepare_publication", move |unit, _| {
                Box::pin(async move { load(unit, taken).await })
            })
            .await?;
        let Loaded { project, remote, attempts, input } = loaded;
        let remote_access = open_access(self, &remote)?;
        let made = self.made(&attempts, taken.lease.attempt)?;
        let digest = input.revision.digest()?;
        let rendered = tokio::task::spawn_blocking(move || render(&input)).await;
        let files = rendered.map_err(Error::internal)??.files;
        let Publication { id, line, revision, branch, created_at, .. } = taken.publication.clone();
        let marker = files.get(&format!("publications/{id}.json"));
        let marker = marker.ok_or_else(|| Error::internal("a rendered tree without its own marker"))?;
        Ok(PublicationWork {
            lease: taken.lease,
            remote_url: remote.url,
            remote_access,
            remote: remote.slug,
            branch,
            expected_head: taken.expected_head.clone(),
            known_commits: known_commits(attempts),
            marker: Sha256Digest::of(marker),
            earlier: earlier_markers(id, &files),
            files,
            message: commit_message(id, &project.slug, &line, revision, digest),
            committer_name: COMMITTER_NAME,
            committer_email: COMMITTER_EMAIL,
            made,
            committed_at: created_at,
            project: project.slug,
            line,
            revision,
            digest,
        })
    }
}

impl App {
    /// The commit that an earlier try of the attempt made, when it is by a key that is not revoked.
    fn made(&self, attempts: &[PublicationAttempt], number: u32) -> Result<Option<(String, String)>> {
        let attempt = attempts.iter().find(|attempt| attempt.attempt == number);
        let made = attempt.and_then(|attempt| attempt.commit_id.clone().zip(attempt.commit_signature.clone()));
        let Some((commit, signature)) = made else { return Ok(None) };
        let signed_by = signing_key(&signature).map_err(Error::internal)?.key_id;
        let keys = self.keyring()?.public()?.keys;
        let revoked = keys.iter().any(|key| key.kid == signed_by && key.pinhole_status == KeyStatus::Revoked);
        Ok((!revoked).then_some((commit, signature)))
    }
}

/// Gives the publication a lease. The first worker of an attempt begins it.
async fn take(
    unit: &mut Unit,
    before: Publication,
    mut attempt: PublicationAttempt,
    expected_head: Option<String>,
) -> Result<Option<Taken>> {
    let mut after = Publication {
        claim_token: Some(ClaimToken::from_uuid(unit.uuid())),
        due_at: unit.now().plus(unit.app().settings().lease),
        tries: before.tries + 1,
        ..before.clone()
    };
    if before.state == PublicationState::Queued {
        after.state = PublicationState::Committing;
        after.version += 1;
        attempt.started_at = unit.now();
        unit.save_publication_attempt(&attempt).await?;
        let detail = json!({ "state": after.state, "attempt": attempt.attempt, "expected_head": expected_head });
        unit.audit(Some(after.project_id), Some(after.id.to_string()), detail).await?;
    }
    if !unit.save_publication(&before, &after).await? {
        return Ok(None);
    }
    let lease =
        after.claim_token.map(|token| PublicationLease { publication: after.id, token, attempt: after.attempt });
    Ok(lease.map(|lease| Taken { publication: after, lease, attempt, expected_head }))
}

async fn load(unit: &mut Unit, taken: &Taken) -> Result<Loaded> {
    let Publication { id, project_id, line, revision, remote_id, .. } = &taken.publication;
    let project = unit.project(*project_id).await?;
    let project = project.ok_or_else(|| Error::internal("a publication without its project"))?;
    let remote = unit.remote(*remote_id).await?;
    let remote = remote.ok_or_else(|| Error::internal("a publication without its remote"))?;
    let mut input = catalog_input(unit, *project_id, line, *revision).await?;
    let TreeLog { files, earlier } = tree_log(unit, &taken.publication, &taken.attempt).await?;
    input.publications = markers(unit, &taken.publication, earlier, &project).await?;
    input.log = files;
    let attempts = unit.publication_attempts(*id).await?;
    Ok(Loaded { project, remote, attempts, input })
}

/// The markers of the earlier publications that the tree keeps, and this one's own.
async fn markers(
    unit: &mut Unit,
    own: &Publication,
    earlier: Vec<Publication>,
    project: &Project,
) -> Result<Vec<PublicationMarker>> {
    let revisions = unit.catalog_revisions_to(own.project_id, &own.line, own.revision).await?;
    let digests: BTreeMap<_, _> = revisions.into_iter().map(|found| (found.revision, found.sha256)).collect();
    let marker = |publication: Publication| {
        let digest = digests.get(&publication.revision).copied();
        Ok(PublicationMarker {
            publication: publication.id,
            project: project.slug.clone(),
            line: publication.line,
            revision: publication.revision,
            digest: digest.ok_or_else(|| Error::internal("a publication without its revision"))?,
        })
    };
    earlier.into_iter().chain([own.clone()]).map(marker).collect()
}

/// The markers among a tree's files that are not the publication's own. Later ids are greater.
fn earlier_markers(own: PublicationId, files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<PublicationId, Sha256Digest> {
    let marker = |(path, bytes): (&String, &Vec<u8>)| {
        let id = path.strip_prefix("publications/")?.strip_suffix(".json")?.parse().ok()?;
        (id != own).then(|| (id, Sha256Digest::of(bytes)))
    };
    files.iter().rev().filter_map(marker).take(MAX_EARLIER).collect()
}

/// Commits of this attempt and the ones before, each once, the newest first.
fn known_commits(attempts: Vec<PublicationAttempt>) -> Vec<String> {
    let mut known = Vec::new();
    for commit in attempts.into_iter().rev().filter_map(|attempt| attempt.commit_id) {
        if !known.contains(&commit) && known.len() < MAX_KNOWN_COMMITS {
            known.push(commit);
        }
    }
    known
}
