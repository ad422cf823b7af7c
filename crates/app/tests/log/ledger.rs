//! The log as its rows show it from outside of the application, and as its definition says that it must be.

use pinhole_core::{LogRecordKind, Sha256Digest};
use pinhole_receipt::log::{Checkpoint, log_entry};

use crate::support::Bench;

/// What is in the log for one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) kind: LogRecordKind,
    pub(crate) record: String,
    pub(crate) sha256: Option<Sha256Digest>,
    pub(crate) leaf: Option<u64>,
}

impl Bench {
    /// Every entry, by leaf; those without one last.
    pub(crate) fn ledger(&self) -> Vec<Line> {
        let rows = self.sql(
            "SELECT kind, record_id, coalesce(sha256, ''), coalesce(leaf, -1) FROM log_entries \
             ORDER BY leaf IS NULL, leaf, seq",
        );
        let line = |row: &str| {
            let [kind, record, sha256, leaf] = row.split('|').collect::<Vec<_>>()[..] else { panic!("{row}") };
            Line {
                kind: kind.parse().unwrap(),
                record: record.to_owned(),
                sha256: sha256.parse().ok(),
                leaf: leaf.parse().ok(),
            }
        };
        rows.lines().map(line).collect()
    }

    /// The newest checkpoint, verified; and that the log under it has no gap, no double and no other leaf.
    pub(crate) async fn checked_log(&self) -> Checkpoint {
        let note = self.app.log_checkpoint().await.unwrap();
        let checkpoint = Checkpoint::verify(note.as_bytes(), &self.keys).unwrap();
        let ledger = self.ledger();
        let leaves: Vec<_> = ledger.iter().map_while(|line| line.leaf).collect();
        assert_eq!(leaves, (0..leaves.len() as u64).collect::<Vec<_>>());
        let below = &ledger[..usize::try_from(checkpoint.size).unwrap()];
        let entries: Vec<_> = below.iter().map(|line| log_entry(line.kind, line.sha256.unwrap())).collect();
        assert_eq!(defined_root(&entries), checkpoint.root);
        checkpoint
    }

    /// Takes every leaf away again, as if the database were from before the log.
    pub(crate) fn forget_log(&self) {
        self.sql("DELETE FROM log_tiles");
        self.sql("UPDATE log_entries SET leaf = NULL");
        let empty = Sha256Digest::of(b"");
        self.sql(&format!(
            "UPDATE log_state SET size = 0, root = '{empty}', checkpoint = NULL, checkpoint_size = NULL"
        ));
    }

    /// How many rows a query counts.
    pub(crate) fn count(&self, from: &str) -> usize {
        self.sql(&format!("SELECT count(*) FROM {from}")).trim().parse().unwrap()
    }
}

/// The root of RFC 6962, section 2.1, over entries.
fn defined_root(entries: &[Sha256Digest]) -> Sha256Digest {
    match entries {
        [] => Sha256Digest::of(b""),
        [entry] => Sha256Digest::of_parts(&[&[0], entry.as_bytes()]),
        _ => {
            let middle = entries.len().next_power_of_two() / 2;
            let (left, right) = entries.split_at(middle);
            Sha256Digest::of_parts(&[&[1], defined_root(left).as_bytes(), defined_root(right).as_bytes()])
        }
    }
}
