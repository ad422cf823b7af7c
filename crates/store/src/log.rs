//! The transparency log: what is to become a leaf of it, the tiles of its tree, where it stands, and the files that
//! publications add to their branches.
//!
//! Every method that writes a record of a kind in [`LogRecordKind`] enters it here in its own transaction, so that no
//! record can be without its entry. Leaves are given later, by one transaction at a time: see [`Store::begin_sequencing`].
//!
//! [`Store::begin_sequencing`]: crate::Store::begin_sequencing

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pinhole_core::{AuditId, Error, LineName, LogRecordKind, ProjectId, PublicationId, Result, Sha256Digest};

use crate::{
    Tx,
    row::Row,
    value::{count, int, text},
};

/// Where the log stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// The log's name in its checkpoints; it never changes.
    pub origin: String,
    /// Number of leaves.
    pub size: u64,
    /// The tree's root over them.
    pub root: Sha256Digest,
    /// Number of leaves that the newest checkpoint is over; `None` when there is none.
    pub checkpoint_size: Option<u64>,
    /// The newest checkpoint, a signed note.
    pub checkpoint: Option<String>,
}

/// A record that belongs into the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// In which order the entries were made; a later transaction has a greater one than those that it has seen.
    pub seq: i64,
    /// What the record is.
    pub kind: LogRecordKind,
    /// Which one it is: its id, or what [`revision_record_id`] says.
    pub record_id: String,
    /// SHA-256 of the record; `None` for one from before there was a log, until it gets its leaf.
    pub sha256: Option<Sha256Digest>,
    /// Its leaf, from 0; `None` until the sequencer has given it one.
    pub leaf: Option<u64>,
}

/// A file that an attempt of a publication adds below `log/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicationLogFile {
    /// Its path in the catalog's tree.
    pub path: String,
    /// Its content.
    pub content: String,
}

/// The record id of a catalog revision.
pub fn revision_record_id(project: ProjectId, line: &LineName, revision: u32) -> String {
    format!("{project}/{line}/{revision}")
}

fn read_state(row: &Row) -> Result<LogState> {
    Ok(LogState {
        origin: row.text("origin")?,
        size: row.int("size")?,
        root: row.parse("root")?,
        checkpoint_size: row.int_or_null("checkpoint_size")?,
        checkpoint: row.text_or_null("checkpoint")?,
    })
}

fn read_entry(row: &Row) -> Result<LogEntry> {
    Ok(LogEntry {
        seq: row.int("seq")?,
        kind: row.parse("kind")?,
        record_id: row.text("record_id")?,
        sha256: row.parse_or_null("sha256")?,
        leaf: row.int_or_null("leaf")?,
    })
}

fn read_file(row: &Row) -> Result<PublicationLogFile> {
    Ok(PublicationLogFile { path: row.text("path")?, content: row.text("content")? })
}

impl Tx {
    /// Enters a record into the log, in the transaction that writes it.
    pub(crate) async fn enter_into_log(
        &mut self,
        kind: LogRecordKind,
        record_id: impl std::fmt::Display,
        record: &[u8],
    ) -> Result<()> {
        self.execute(
            "INSERT INTO log_entries (kind, record_id, sha256) VALUES ($1, $2, $3)",
            &[text(kind), text(record_id), text(Sha256Digest::of(record))],
        )
        .await?;
        Ok(())
    }

    /// Begins the log, unless it has begun.
    pub async fn create_log(&mut self, origin: &str, empty_root: Sha256Digest) -> Result<()> {
        self.execute(
            "INSERT INTO log_state (id, origin, size, root) VALUES (1, $1, 0, $2) ON CONFLICT (id) DO NOTHING",
            &[text(origin), text(empty_root)],
        )
        .await?;
        Ok(())
    }

    /// Where the log stands; `None` before it has begun.
    pub async fn log_state(&mut self) -> Result<Option<LogState>> {
        self.fetch_optional("SELECT * FROM log_state WHERE id = 1", &[], read_state).await
    }

    /// Where the log stands, for the one transaction that may change it: any other waits here until this one has ended.
    pub async fn lock_log(&mut self) -> Result<Option<LogState>> {
        // An update that changes nothing takes the row's lock on both engines.
        self.execute("UPDATE log_state SET size = size WHERE id = 1", &[]).await?;
        self.log_state().await
    }

    /// Makes the log `size` leaves long.
    pub async fn grow_log(&mut self, size: u64, root: Sha256Digest) -> Result<()> {
        self.execute("UPDATE log_state SET size = $1, root = $2 WHERE id = 1", &[count(size), text(root)]).await?;
        Ok(())
    }

    /// Stores a checkpoint over `size` leaves of the log `origin`, unless there is a newer one or another log.
    pub async fn save_checkpoint(&mut self, origin: &str, size: u64, checkpoint: &str) -> Result<()> {
        self.execute(
            "UPDATE log_state SET checkpoint_size = $1, checkpoint = $2 \
             WHERE id = 1 AND origin = $3 AND (checkpoint_size IS NULL OR checkpoint_size < $1)",
            &[count(size), text(checkpoint), text(origin)],
        )
        .await?;
        Ok(())
    }

    /// Begins another log in the place of the present one: no leaf is left, and checkpoints of the logs in `ended` hold
    /// nobody back any more.
    pub async fn replace_log(&mut self, ended: &[&str], origin: &str, empty_root: Sha256Digest) -> Result<()> {
        let at = self.now();
        for ended in ended {
            self.execute(
                "INSERT INTO ended_logs (origin, ended_at) VALUES ($1, $2) ON CONFLICT (origin) DO NOTHING",
                &[text(ended), int(at.as_micros())],
            )
            .await?;
        }
        self.execute("DELETE FROM log_tiles", &[]).await?;
        self.execute("UPDATE log_entries SET leaf = NULL", &[]).await?;
        // In its row, at which a sequencer may be waiting.
        self.execute(
            "UPDATE log_state SET origin = $1, size = 0, root = $2, checkpoint_size = NULL, checkpoint = NULL WHERE id = 1",
            &[text(origin), text(empty_root)],
        )
        .await?;
        Ok(())
    }

    /// Whether a log of this name was given up.
    pub async fn is_ended_log(&mut self, origin: &str) -> Result<bool> {
        let sql = "SELECT origin FROM ended_logs WHERE origin = $1";
        let found = self.fetch_optional(sql, &[text(origin)], |row| row.text("origin")).await?;
        Ok(found.is_some())
    }

    /// Entries without a leaf in the order in which they were made, at most `limit`.
    pub async fn pending_log_entries(&mut self, limit: u32) -> Result<Vec<LogEntry>> {
        self.fetch_all("SELECT * FROM log_entries WHERE leaf IS NULL ORDER BY seq LIMIT $1", &[int(limit)], read_entry)
            .await
    }

    /// Gives an entry its leaf.
    pub async fn give_leaf(&mut self, seq: i64, leaf: u64, sha256: Sha256Digest) -> Result<()> {
        self.execute(
            "UPDATE log_entries SET leaf = $2, sha256 = $3 WHERE seq = $1 AND leaf IS NULL",
            &[int(seq), count(leaf), text(sha256)],
        )
        .await?;
        Ok(())
    }

    /// The entry of a record.
    pub async fn log_entry(&mut self, kind: LogRecordKind, record_id: &str) -> Result<Option<LogEntry>> {
        self.fetch_optional(
            "SELECT * FROM log_entries WHERE kind = $1 AND record_id = $2",
            &[text(kind), text(record_id)],
            read_entry,
        )
        .await
    }

    /// Entries with the leaves from `first`, in order, at most `limit`.
    pub async fn logged_entries(&mut self, first: u64, limit: u32) -> Result<Vec<LogEntry>> {
        self.fetch_all(
            "SELECT * FROM log_entries WHERE leaf >= $1 ORDER BY leaf LIMIT $2",
            &[count(first), int(limit)],
            read_entry,
        )
        .await
    }

    /// The hashes of a tile one after another, 32 bytes each.
    pub async fn log_tile(&mut self, level: u8, number: u64) -> Result<Option<Vec<u8>>> {
        let found = self
            .fetch_optional(
                "SELECT hashes FROM log_tiles WHERE level = $1 AND number = $2",
                &[int(level), count(number)],
                |row| row.text("hashes"),
            )
            .await?;
        found.map(|hashes| STANDARD.decode(hashes).map_err(Error::internal)).transpose()
    }

    /// Stores a tile, or the wider form of it.
    pub async fn put_log_tile(&mut self, level: u8, number: u64, hashes: &[u8]) -> Result<()> {
        self.execute(
            "INSERT INTO log_tiles (level, number, hashes) VALUES ($1, $2, $3) \
             ON CONFLICT (level, number) DO UPDATE SET hashes = excluded.hashes",
            &[int(level), count(number), text(STANDARD.encode(hashes))],
        )
        .await?;
        Ok(())
    }

    /// The record of an entry: the bytes that its digest is over. `None` when it is gone.
    pub async fn logged_record(&mut self, kind: LogRecordKind, record_id: &str) -> Result<Option<Vec<u8>>> {
        if kind == LogRecordKind::Audit {
            let Ok(id) = record_id.parse::<AuditId>() else { return Ok(None) };
            return self.audit_row(id).await?.map(|row| row.canonical()).transpose();
        }
        let sql = match kind {
            LogRecordKind::Audit | LogRecordKind::CaptureReceipt => "SELECT envelope FROM receipts WHERE id = $1",
            LogRecordKind::RunResult => "SELECT envelope FROM run_results WHERE run_id = $1",
            LogRecordKind::Review => "SELECT envelope FROM reviews WHERE id = $1",
            LogRecordKind::Decision => "SELECT envelope FROM decisions WHERE id = $1",
            LogRecordKind::CatalogRevision => return self.logged_revision(record_id).await,
            LogRecordKind::PublicationReceipt => {
                "SELECT receipt AS envelope FROM publications WHERE id = $1 AND receipt IS NOT NULL"
            }
        };
        let found = self.fetch_optional(sql, &[text(record_id)], |row| row.text("envelope")).await?;
        Ok(found.map(String::into_bytes))
    }

    /// The statement of a revision by what [`revision_record_id`] says.
    async fn logged_revision(&mut self, record_id: &str) -> Result<Option<Vec<u8>>> {
        // The name of a line may have a solidus itself.
        let parts = record_id.split_once('/').and_then(|(project, rest)| Some((project, rest.rsplit_once('/')?)));
        let Some((project, (line, revision))) = parts else { return Ok(None) };
        let Ok(revision) = revision.parse::<u32>() else { return Ok(None) };
        let found = self
            .fetch_optional(
                "SELECT envelope FROM catalog_revisions WHERE project_id = $1 AND line = $2 AND revision = $3",
                &[text(project), text(line), int(revision)],
                |row| row.text("envelope"),
            )
            .await?;
        Ok(found.map(String::into_bytes))
    }

    /// Fixes the files that an attempt of a publication adds below `log/`.
    pub async fn insert_publication_log_files(
        &mut self,
        publication: PublicationId,
        attempt: u32,
        files: &[PublicationLogFile],
    ) -> Result<()> {
        for file in files {
            let values = [text(publication), int(attempt), text(&file.path), text(&file.content)];
            self.execute(
                "INSERT INTO publication_log_files (publication_id, attempt, path, content) VALUES ($1, $2, $3, $4)",
                &values,
            )
            .await?;
        }
        Ok(())
    }

    /// The files that an attempt of a publication adds below `log/`; none before they are fixed.
    pub async fn publication_log_files(
        &mut self,
        publication: PublicationId,
        attempt: u32,
    ) -> Result<Vec<PublicationLogFile>> {
        self.fetch_all(
            "SELECT path, content FROM publication_log_files WHERE publication_id = $1 AND attempt = $2 ORDER BY path",
            &[text(publication), int(attempt)],
            read_file,
        )
        .await
    }
}
