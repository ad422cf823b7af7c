//! What the transparency log is over: records of these kinds, each of which becomes one leaf.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AuditId, DecisionId, Error, PublicationId, ReceiptId, Result, ReviewId, RunId, Sha256Digest, form::text_enum,
    text_form,
};

text_enum! {
    /// The kind of a record in the transparency log. Its text is part of what a leaf is a hash of, so it never changes.
    LogRecordKind {
        /// An audit row.
        Audit = "audit",
        /// A signed capture receipt.
        CaptureReceipt = "capture_receipt",
        /// The signed result of a run.
        RunResult = "run_result",
        /// A person's signed disposition of a capture.
        Review = "review",
        /// A person's signed decision on an approval.
        Decision = "decision",
        /// A signed catalog revision.
        CatalogRevision = "catalog_revision",
        /// The signed receipt of a publication.
        PublicationReceipt = "publication_receipt",
    }
}

/// A record that may be looked for in the log: its id, or the digest of a catalog revision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogRecordId {
    /// An audit row.
    Audit(AuditId),
    /// A capture receipt.
    Receipt(ReceiptId),
    /// The result of a run, by the run.
    Result(RunId),
    /// A review.
    Review(ReviewId),
    /// A decision.
    Decision(DecisionId),
    /// A catalog revision, by its digest.
    Revision(Sha256Digest),
    /// The receipt of a publication, by the publication.
    Publication(PublicationId),
}

impl fmt::Display for LogRecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Audit(id) => id.fmt(f),
            Self::Receipt(id) => id.fmt(f),
            Self::Result(id) => id.fmt(f),
            Self::Review(id) => id.fmt(f),
            Self::Decision(id) => id.fmt(f),
            Self::Revision(digest) => digest.fmt(f),
            Self::Publication(id) => id.fmt(f),
        }
    }
}

impl FromStr for LogRecordId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.get(..4).unwrap_or_default() {
            "aud_" => text.parse().map(Self::Audit),
            "rcp_" => text.parse().map(Self::Receipt),
            "run_" => text.parse().map(Self::Result),
            "rev_" => text.parse().map(Self::Review),
            "dec_" => text.parse().map(Self::Decision),
            "pub_" => text.parse().map(Self::Publication),
            "sha2" => text.parse().map(Self::Revision),
            _ => Err(Error::invalid("", "expected the id of a record, or the digest of a catalog revision")),
        }
    }
}

text_form!(LogRecordId, { "type": "string", "pattern": "^((aud|rcp|run|rev|dec|pub)_[0-9a-f]{32}|sha256:[0-9a-f]{64})$" });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_by_its_id_or_digest_and_by_nothing_else() {
        let hex = "0198c1aa000070000000000000000001";
        for text in ["aud", "rcp", "run", "rev", "dec", "pub"].map(|prefix| format!("{prefix}_{hex}")) {
            assert_eq!(text.parse::<LogRecordId>().unwrap().to_string(), text);
        }
        let digest = Sha256Digest::of(b"x");
        assert_eq!(digest.to_string().parse::<LogRecordId>().unwrap(), LogRecordId::Revision(digest));
        for text in ["", "rcp_", "prn_0198c1aa000070000000000000000001", "sha256:", "é", "main/3"] {
            assert!(text.parse::<LogRecordId>().is_err(), "{text}");
        }
    }
}
