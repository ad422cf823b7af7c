//! An exported audit: every leaf of the log in order, one line of canonical JSON each, behind a line with the checkpoint.
//!
//! ```text
//! {"checkpoint":"…","format":1}
//! {"audit":{…},"leaf":0}                                        an audit row, whole
//! {"kind":"capture_receipt","leaf":1,"sha256":"sha256:…"}       any other record, by its digest
//! ```
//! The root over these leaves is the checkpoint's, or the file is refused. So no row can be left out, added or changed,
//! and none can pass as a record of another kind, because the kind is part of what a leaf is a hash of.

use std::{
    collections::HashMap,
    io::{BufRead, Read as _},
};

use pinhole_core::{LogRecordKind, Result, Sha256Digest, canonical_json};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tlog_tiles::{
    Error as TreeError, Hash, HashReader, stored_hash_index, stored_hashes_for_record_hash, sub_tree_index, tree_hash,
};

use super::{Checkpoint, leaf_hash, log_entry};
use crate::{TrustedKeys, VerifyError};

/// The version of the form.
const FORMAT: u32 = 1;
/// Greatest length of a line in bytes; an audit row has some hundred.
const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    checkpoint: String,
    format: u32,
}

/// The line of one leaf.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audit: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<LogRecordKind>,
    leaf: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<Sha256Digest>,
}

/// What a verified export is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditReport {
    /// The checkpoint that it is complete up to.
    pub checkpoint: Checkpoint,
    /// How many audit rows it has.
    pub rows: u64,
}

/// The first line of an export, with its line break.
pub fn audit_header(checkpoint: &str) -> Result<Vec<u8>> {
    line(&Header { checkpoint: checkpoint.to_owned(), format: FORMAT })
}

/// The line of an audit row, with its line break; `row` is its canonical JSON.
pub fn audit_line(leaf: u64, row: &[u8]) -> Result<Vec<u8>> {
    let audit = serde_json::from_slice(row).map_err(pinhole_core::Error::internal)?;
    line(&Line { audit: Some(audit), kind: None, leaf, sha256: None })
}

/// The line of any other record, with its line break.
pub fn other_line(leaf: u64, kind: LogRecordKind, sha256: Sha256Digest) -> Result<Vec<u8>> {
    line(&Line { audit: None, kind: Some(kind), leaf, sha256: Some(sha256) })
}

fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = canonical_json(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Verifies an export, and that it has all that an earlier or other `checkpoint` stands for, when there is one. Reads line
/// by line, so that its size does not matter.
pub fn verify_audit(
    export: &mut impl BufRead,
    keys: &TrustedKeys,
    known: Option<&Checkpoint>,
) -> Result<AuditReport, VerifyError> {
    let header: Header = read_line(export, 1)?.ok_or_else(|| VerifyError::new("line 1", "the file is empty"))?;
    let checkpoint = Checkpoint::verify(header.checkpoint.as_bytes(), keys).map_err(|error| error.within("line 1"))?;
    if header.format != FORMAT {
        return Err(VerifyError::new("line 1", format!("expected format {FORMAT}")));
    }
    if known.is_some_and(|known| known.origin != checkpoint.origin || known.size > checkpoint.size) {
        return Err(VerifyError::new("the checkpoint", "it is of another log, or the export is older than it"));
    }
    let mut tree = Growing::default();
    let mut rows = 0;
    loop {
        if let Some(known) = known.filter(|known| known.size == tree.size) {
            tree.expect(known.root, "the checkpoint")?;
        }
        if tree.size == checkpoint.size {
            break;
        }
        let number = tree.size + 2;
        let place = || format!("line {number}");
        let found: Line =
            read_line(export, number)?.ok_or_else(|| VerifyError::new(place(), "the rest of the file is missing"))?;
        if found.leaf != tree.size {
            return Err(VerifyError::new(place(), format!("expected leaf {}", tree.size)));
        }
        rows += u64::from(found.audit.is_some());
        tree.push(entry(found).map_err(|error| error.within(&place()))?)?;
    }
    tree.expect(checkpoint.root, "line 1")?;
    match read_line::<Value>(export, tree.size + 2)? {
        None => Ok(AuditReport { checkpoint, rows }),
        Some(_) => Err(VerifyError::new(format!("line {}", tree.size + 2), "nothing comes behind the last leaf")),
    }
}

/// The log's entry of a line.
fn entry(line: Line) -> Result<Sha256Digest, VerifyError> {
    match (line.audit, line.kind, line.sha256) {
        (Some(row), None, None) => {
            let row = canonical_json(&row).map_err(|error| VerifyError::from_error("audit", &error))?;
            Ok(log_entry(LogRecordKind::Audit, Sha256Digest::of(&row)))
        }
        (None, Some(kind), Some(sha256)) if kind != LogRecordKind::Audit => Ok(log_entry(kind, sha256)),
        _ => Err(VerifyError::new("", "expected an audit row, or kind and sha256 of another record")),
    }
}

/// Reads a line whose only byte form is canonical JSON; `None` at the end of the file.
fn read_line<T: Serialize + DeserializeOwned>(input: &mut impl BufRead, number: u64) -> Result<Option<T>, VerifyError> {
    let wrong = |reason: String| VerifyError::new(format!("line {number}"), reason);
    let mut bytes = Vec::new();
    let read = input.take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
    read.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let Some(text) = bytes.strip_suffix(b"\n") else {
        return Err(wrong(format!("it has no end, or more than {MAX_LINE_BYTES} bytes")));
    };
    let value: T = serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
    let canonical = canonical_json(&value).map_err(|error| VerifyError::from_error("", &error))?;
    if canonical == text { Ok(Some(value)) } else { Err(wrong("the JSON is not in canonical form".into())) }
}

/// A tree that is only ever appended to: it keeps the roots of its whole subtrees and forgets what is below them.
#[derive(Default)]
struct Growing {
    size: u64,
    hashes: HashMap<u64, Hash>,
}

impl Growing {
    fn push(&mut self, entry: Sha256Digest) -> Result<(), VerifyError> {
        let leaf = Hash(*leaf_hash(entry).as_bytes());
        let hashes = stored_hashes_for_record_hash(self.size, leaf, self).map_err(|error| failed(&error))?;
        self.hashes.extend((stored_hash_index(0, self.size)..).zip(hashes));
        self.size += 1;
        let kept = sub_tree_index(0, self.size, Vec::new());
        self.hashes.retain(|index, _| kept.contains(index));
        Ok(())
    }

    fn expect(&self, root: Sha256Digest, place: &str) -> Result<(), VerifyError> {
        let actual = tree_hash(self.size, self).map_err(|error| failed(&error))?;
        if actual == Hash(*root.as_bytes()) {
            return Ok(());
        }
        let reason = format!("the first {} leaves here are not those that were signed", self.size);
        Err(VerifyError::new(place, reason))
    }
}

impl HashReader for Growing {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<Hash>, TreeError> {
        let found: Option<Vec<_>> = indexes.iter().map(|index| self.hashes.get(index).copied()).collect();
        found.ok_or(TreeError::IndexesNotInTree)
    }
}

fn failed(error: &TreeError) -> VerifyError {
    VerifyError::new("", error.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        KeyStatus, KeyUse,
        fixture::{Log, key, trust},
    };

    /// An export of `count` leaves, every third of which is no audit row; and checkpoints at two sizes.
    fn export(count: u64) -> (Vec<u8>, Checkpoint) {
        let mut log = Log::default();
        let mut lines = Vec::new();
        let mut half = None;
        for leaf in 0..count {
            let row = canonical_json(&json!({ "id": format!("aud_{leaf}"), "detail": { "n": leaf } })).unwrap();
            let other = leaf % 3 == 1;
            let kind = if other { LogRecordKind::Review } else { LogRecordKind::Audit };
            let sha256 = Sha256Digest::of(&row);
            log.append(&[log_entry(kind, sha256)]);
            lines.push(if other { other_line(leaf, kind, sha256) } else { audit_line(leaf, &row) }.unwrap());
            if leaf == count / 2 {
                half = Some(checkpoint(&log));
            }
        }
        let mut export = audit_header(&checkpoint(&log).sign(&key(9)).unwrap()).unwrap();
        export.extend(lines.concat());
        (export, half.unwrap())
    }

    fn checkpoint(log: &Log) -> Checkpoint {
        let head = log.head();
        Checkpoint { origin: "pinhole.dev/log/1".into(), size: head.size, root: head.root }
    }

    fn check(export: &[u8], known: Option<&Checkpoint>) -> Result<AuditReport, VerifyError> {
        verify_audit(&mut &*export, &trust(&key(9), KeyUse::Log, KeyStatus::Active), known)
    }

    #[test]
    fn a_whole_export_is_verified_and_continues_an_earlier_checkpoint() {
        let (export, half) = export(30);
        for known in [None, Some(&half)] {
            let report = check(&export, known).unwrap();
            assert_eq!((report.checkpoint.size, report.rows), (30, 20));
        }
        let other = Checkpoint { root: Sha256Digest::of(b"x"), ..half.clone() };
        assert_eq!(check(&export, Some(&other)).unwrap_err().path(), "the checkpoint");
        let later = Checkpoint { size: 31, ..half };
        assert!(check(&export, Some(&later)).is_err());
    }

    #[test]
    fn an_export_without_a_line_or_with_one_more_is_refused() {
        let (export, _) = export(12);
        let lines: Vec<_> = export.split_inclusive(|byte| *byte == b'\n').collect();
        for number in 0..lines.len() {
            let without: Vec<u8> = [&lines[..number], &lines[number + 1..]].concat().concat();
            check(&without, None).unwrap_err();
            let twice: Vec<u8> = [&lines[..=number], &lines[number..]].concat().concat();
            check(&twice, None).unwrap_err();
        }
    }

    #[test]
    fn an_audit_row_cannot_pass_as_another_record() {
        let (export, _) = export(3);
        let text = String::from_utf8(export).unwrap();
        let row = text.lines().nth(1).unwrap();
        let digest = Sha256Digest::of(&canonical_json(&json!({ "id": "aud_0", "detail": { "n": 0 } })).unwrap());
        for kind in ["audit", "review", "decision"] {
            let hidden = format!(r#"{{"kind":"{kind}","leaf":0,"sha256":"{digest}"}}"#);
            check(text.replace(row, &hidden).as_bytes(), None).unwrap_err();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn one_changed_byte_is_refused(offset: prop::sample::Index, mask in 1_u8..) {
            let (mut export, _) = export(9);
            let offset = offset.index(export.len());
            export[offset] ^= mask;
            prop_assert!(check(&export, None).is_err(), "at {offset}");
        }
    }
}
