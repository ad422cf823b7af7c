//! What a publication shows of the transparency log: fixed once for each attempt before its commit is made, so that the
//! commit stays the same whenever it is made again. Files of earlier publications of the branch stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{Error, LogRecordKind, Result, Timestamp};
use pinhole_receipt::log::{CHECKPOINT_PATH, Checkpoint, PublishedLog};
use pinhole_store::{Publication, PublicationLogFile, revision_record_id};

use super::{
    PublicationWork,
    claim::{Taken, earlier_publications},
    steps::held,
};
use crate::{App, baselines::catalog_input, log::Prover, unit::Unit};

type Files = BTreeMap<String, Vec<u8>>;

impl App {
    /// Fixes what the attempt shows of the log, unless that was done before.
    ///
    /// # Errors
    /// `conflict` with reason `not_logged` as long as the log has not everything; those of the database.
    pub(super) async fn fix_publication_log(&self, taken: &Taken) -> Result<()> {
        let fixed = self
            .read(&self.system_actor(), "publication_log", move |unit, _| {
                Box::pin(async move {
                    let own = unit.publication_log_files(taken.publication.id, taken.lease.attempt).await?;
                    Ok(!own.is_empty())
                })
            })
            .await?;
        if fixed {
            return Ok(());
        }
        let files = self
            .read(&self.system_actor(), "publication_log", move |unit, _| {
                Box::pin(async move { shown(unit, taken).await })
            })
            .await?;
        let files = &files;
        self.bookkeeping("fix_publication_log", move |unit, _| {
            Box::pin(async move {
                if held(unit, &taken.lease).await?.is_some() {
                    let (id, attempt) = (taken.publication.id, taken.lease.attempt);
                    unit.insert_publication_log_files(id, attempt, files).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Compares the log with the checkpoint that a branch holds, before anything is published over it. One that is not
    /// signed with the log's key is nobody's word and is passed over.
    ///
    /// # Errors
    /// `conflict` with reason `log_behind` or `log_forked`; `internal` in a process without the log key.
    pub async fn compare_published_log(&self, work: &PublicationWork, checkpoint: &str) -> Result<()> {
        let place = format!("the branch {} of {}", work.branch, work.remote);
        match Checkpoint::verify(checkpoint.as_bytes(), &self.log_keys()?) {
            Ok(published) => self.compare_log(&published, &place).await,
            Err(error) => {
                tracing::warn!(%error, place, "a checkpoint that is not ours");
                Ok(())
            }
        }
    }
}

/// The files below `log/` of the branch as an attempt that began at `started_at` makes it: its own, and those of earlier
/// publications.
pub(super) async fn all_files(
    unit: &mut Unit,
    publication: &Publication,
    (attempt, started_at): (u32, Timestamp),
) -> Result<Files> {
    let own = bytes(unit.publication_log_files(publication.id, attempt).await?);
    let origin = checkpoint_of(&own)?.map(|checkpoint| checkpoint.origin);
    let mut files = Files::new();
    for earlier in earlier_files(unit, publication, started_at).await? {
        if checkpoint_of(&earlier)?.map(|checkpoint| checkpoint.origin) == origin {
            files.extend(earlier);
        }
    }
    files.extend(own);
    Ok(files)
}

/// What earlier publications of the line to the branch added, oldest first.
async fn earlier_files(unit: &mut Unit, publication: &Publication, started_at: Timestamp) -> Result<Vec<Files>> {
    let mut found = Vec::new();
    for earlier in earlier_publications(unit, publication, started_at).await? {
        let Some(attempt) = earlier.log_attempt else { continue };
        let files = bytes(unit.publication_log_files(earlier.id, attempt).await?);
        if !files.is_empty() {
            found.push(files);
        }
    }
    Ok(found)
}

/// What the attempt is to add: the newest checkpoint, and under it the proofs of all statements that no earlier
/// publication has proved on the branch.
async fn shown(unit: &mut Unit, taken: &Taken) -> Result<Vec<PublicationLogFile>> {
    let publication = &taken.publication;
    let (project, line) = (publication.project_id, &publication.line);
    let input = catalog_input(unit, project, line, publication.revision).await?;
    let mut prover = Prover::new(unit).await?;
    let mut proved = BTreeSet::new();
    let mut newest: Option<u64> = None;
    for files in earlier_files(unit, publication, taken.started_at).await? {
        let checkpoint = checkpoint_of(&files)?;
        if let Some(earlier) = checkpoint.filter(|checkpoint| checkpoint.origin == prover.origin()) {
            proved.extend(PublishedLog::proved(&files).map_err(Error::internal)?);
            newest = newest.max(Some(earlier.size));
        }
    }
    let mut proofs = BTreeMap::new();
    for statement in input.statements()? {
        if !proved.contains(&statement.path) {
            let record_id = match statement.kind {
                LogRecordKind::CatalogRevision => {
                    revision_record_id(project, line, statement.name.parse().unwrap_or(0))
                }
                _ => statement.name,
            };
            proofs.insert(statement.path, prover.prove(unit, statement.kind, &record_id).await?);
        }
    }
    let continues = match newest {
        Some(earlier) => Some(prover.prove_continuation(unit, earlier).await?),
        None => None,
    };
    let checkpoint = prover.checkpoint().to_owned();
    let shown = PublishedLog { publication: publication.id, checkpoint, continues, proofs };
    let text = |(path, content)| {
        String::from_utf8(content).map(|content| PublicationLogFile { path, content }).map_err(Error::internal)
    };
    shown.files()?.into_iter().map(text).collect()
}

fn checkpoint_of(files: &Files) -> Result<Option<Checkpoint>> {
    let note = files.get(CHECKPOINT_PATH);
    note.map(|note| Checkpoint::unverified(note).map_err(Error::internal)).transpose()
}

fn bytes(files: Vec<PublicationLogFile>) -> Files {
    files.into_iter().map(|file| (file.path, file.content.into_bytes())).collect()
}
