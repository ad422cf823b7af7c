//! What a publication shows of the transparency log: fixed once for each attempt before its commit is made, so that the
//! commit stays the same whenever it is made again. Files of earlier publications of the branch stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{Error, LogRecordKind, Result};
use pinhole_receipt::log::{Checkpoint, PublishedLog};
use pinhole_store::{Publication, PublicationAttempt, PublicationLogFile, revision_record_id};

use super::{
    PublicationWork,
    claim::Taken,
    earlier::{Files, checkpoint_of, kept, log_files},
    steps::held,
};
use crate::{App, baselines::catalog_input, log::Prover, unit::Unit};

/// What a tree shows of the log.
pub(super) struct TreeLog {
    /// The files below `log/`: the attempt's own, and those of the earlier publications that it keeps.
    pub(super) files: Files,
    /// These earlier publications, by revision. The tree has their markers and no other earlier ones.
    pub(super) earlier: Vec<Publication>,
}

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

/// What the tree of an attempt shows of the log, once that is fixed.
pub(super) async fn tree_log(
    unit: &mut Unit,
    publication: &Publication,
    attempt: &PublicationAttempt,
) -> Result<TreeLog> {
    let own = log_files(unit, publication.id, attempt.attempt).await?;
    let mut log = TreeLog { files: Files::new(), earlier: Vec::new() };
    // An attempt of before there was a log has none.
    if let Some(checkpoint) = checkpoint_of(&own)? {
        for earlier in kept(unit, publication, attempt, &checkpoint.origin).await? {
            log.files.extend(earlier.files);
            log.earlier.push(earlier.publication);
        }
    }
    log.files.extend(own);
    Ok(log)
}

/// What the attempt is to add: the newest checkpoint, and under it the proofs of all statements that no earlier
/// publication has proved of those that the tree keeps.
async fn shown(unit: &mut Unit, taken: &Taken) -> Result<Vec<PublicationLogFile>> {
    let publication = &taken.publication;
    let (project, line) = (publication.project_id, &publication.line);
    let input = catalog_input(unit, project, line, publication.revision).await?;
    let mut prover = Prover::new(unit).await?;
    let mut proved = BTreeSet::new();
    let mut newest: Option<u64> = None;
    for earlier in kept(unit, publication, &taken.attempt, prover.origin()).await? {
        proved.extend(PublishedLog::proved(&earlier.files).map_err(Error::internal)?);
        newest = newest.max(Some(earlier.checkpoint.size));
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
