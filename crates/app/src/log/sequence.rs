//! The sequencer: gives leaves to committed records and signs checkpoints over them.
//!
//! Its steps commit apart, and each may be the last before the process ends: the leaves with the tree over them; then the
//! checkpoint, which the witness remembers before anybody can see it. So no signed checkpoint can be unknown to the
//! witness, and the tree is never behind one, unless the database was replaced.

use std::{sync::Arc, time::Duration};

use pinhole_core::{Error, ProbeKind, Result, Sha256Digest};
use pinhole_receipt::log::{Checkpoint, EMPTY_ROOT, Grown, LogHead, Tiles, append, log_entry};
use pinhole_store::{LogEntry, LogState, Probe, Tx};
use uuid::Uuid;

use super::{LogPorts, head_of, tiles::ask};
use crate::{App, readiness::OK};

/// Leaves that one transaction gives at most.
const BATCH: u32 = 500;
/// How often the log is compared with its witness when nothing is to be done.
pub(crate) const COMPARE_EVERY: Duration = Duration::from_secs(60);
/// What the newest checkpoint is called where a person reads of it.
const WITNESS: &str = "the file beside the log key";

impl App {
    /// Takes what is committed into the log when there is anything, and now and then compares it with its witness. The
    /// outcome is recorded for [`App::readiness`].
    ///
    /// # Errors
    /// As [`App::sequence_log`].
    pub async fn keep_log(&self) -> Result<()> {
        if !self.log_is_due().await? {
            return Ok(());
        }
        let outcome = self.sequence_log().await;
        if outcome.as_ref().is_err_and(Error::is_transient) {
            // The log is not wrong because the database was busy. When it stays so, the last look grows old.
            return outcome;
        }
        let told = outcome.as_ref().err().map(|error| error.message().to_owned());
        self.record_own_probe(ProbeKind::Log, told.as_deref()).await?;
        outcome
    }

    async fn log_is_due(&self) -> Result<bool> {
        let mut tx = self.store().begin_read().await?;
        let Some(state) = tx.log_state().await? else { return Ok(true) };
        if state.checkpoint_size != Some(state.size) || !tx.pending_log_entries(1).await?.is_empty() {
            return Ok(true);
        }
        let now = tx.now();
        let is_recent = |probe: &Probe| probe.outcome == OK && now.since(probe.at) < COMPARE_EVERY;
        let last = tx.probes().await?.into_iter().find(|probe| probe.kind == ProbeKind::Log);
        Ok(!last.is_some_and(|probe| is_recent(&probe)))
    }

    /// Gives every record that is committed by now its leaf, and signs a checkpoint over all of them.
    ///
    /// # Errors
    /// `conflict` with reason `log_behind` or `log_forked` when the log does not continue what was signed before;
    /// `internal` in a process without the log key, and for a log key or file that is not right; those of the database.
    pub async fn sequence_log(&self) -> Result<()> {
        let ports = self.log_ports()?;
        let mut tx = self.store().begin_sequencing().await?;
        tx.create_log(&new_origin(self.ids().uuid()), EMPTY_ROOT).await?;
        tx.commit().await?;
        self.compare_with_witness(ports).await?;
        while self.give_leaves().await? {}
        self.sign_checkpoint(ports).await
    }

    /// Refuses when the log does not continue what the witness remembers.
    pub(super) async fn compare_with_witness(&self, ports: &LogPorts) -> Result<()> {
        let witness = Arc::clone(&ports.witness);
        let newest = blocking(move || witness.newest()).await?;
        let Some(newest) = newest else { return self.never_signed().await };
        let damaged = |error| {
            let message = format!("{WITNESS} is damaged: restore it from backup; nothing is signed until then");
            Error::conflict("log_checkpoint_damaged", message).with_source(error)
        };
        let known = Checkpoint::unverified(newest.as_bytes()).map_err(damaged)?;
        self.compare_log(&known, WITNESS).await
    }

    /// Refuses when a checkpoint was signed: its witness has it before the database, so that it was lost since.
    async fn never_signed(&self) -> Result<()> {
        let mut tx = self.store().begin_read().await?;
        if present(&mut tx).await?.checkpoint_size.is_none() {
            return Ok(());
        }
        let message = format!(
            "{WITNESS} is missing: restore it from backup, or put the log/checkpoint of the newest published catalog in \
             its place; nothing is signed until then"
        );
        Err(Error::conflict("log_checkpoint_missing", message))
    }

    /// Gives leaves to one batch of records; false when there were none.
    async fn give_leaves(&self) -> Result<bool> {
        let mut tx = self.store().begin_sequencing().await?;
        let Some(state) = tx.lock_log().await? else { return Err(no_log()) };
        let entries = with_digests(&mut tx, BATCH).await?;
        if entries.is_empty() {
            return Ok(false);
        }
        let leaves: Vec<_> = entries.iter().map(|(entry, sha256)| log_entry(entry.kind, *sha256)).collect();
        let head = head_of(&state);
        let grown = |tiles: &Tiles| append(tiles, head, &leaves);
        let Grown { head: LogHead { size, root }, tiles } = ask(&mut tx, &mut Tiles::default(), grown).await?;
        for (leaf, (entry, sha256)) in (state.size..).zip(&entries) {
            tx.give_leaf(entry.seq, leaf, *sha256).await?;
        }
        for (id, hashes) in tiles {
            tx.put_log_tile(id.level, id.number, &hashes).await?;
        }
        tx.grow_log(size, root).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn sign_checkpoint(&self, ports: &LogPorts) -> Result<()> {
        let mut tx = self.store().begin_read().await?;
        let LogState { origin, size, root, checkpoint_size, .. } = present(&mut tx).await?;
        drop(tx);
        if checkpoint_size == Some(size) {
            return Ok(());
        }
        let note = Checkpoint { origin: origin.clone(), size, root }.sign(&*ports.signer)?;
        let (witness, remembered) = (Arc::clone(&ports.witness), note.clone());
        blocking(move || witness.remember(&remembered, size)).await?;
        // Another process may have signed since the first look, and over another database.
        self.compare_with_witness(ports).await?;
        let mut tx = self.store().begin_sequencing().await?;
        tx.save_checkpoint(&origin, size, &note).await?;
        tx.commit().await
    }
}

/// The name of a log that begins, like no other.
pub(super) fn new_origin(id: Uuid) -> String {
    format!("pinhole.dev/log/{}", id.simple())
}

/// Where the log stands.
pub(super) async fn present(tx: &mut Tx) -> Result<LogState> {
    tx.log_state().await?.ok_or_else(no_log)
}

fn no_log() -> Error {
    Error::internal("there is no log: the sequencer begins it")
}

/// Records without a leaf, each with its digest.
async fn with_digests(tx: &mut Tx, limit: u32) -> Result<Vec<(LogEntry, Sha256Digest)>> {
    let mut entries = Vec::new();
    for entry in tx.pending_log_entries(limit).await? {
        let sha256 = match entry.sha256 {
            Some(sha256) => sha256,
            // From before there was a log. One that is gone keeps a leaf to which no record will ever belong.
            None => {
                let record = tx.logged_record(entry.kind, &entry.record_id).await?.unwrap_or_default();
                Sha256Digest::of(&record)
            }
        };
        entries.push((entry, sha256));
    }
    Ok(entries)
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}
