//! What we sign, as types. Each predicate has one URI, and its subjects follow from its content, so that a statement
//! whose subjects say something else than its predicate is refused.
//!
//! Version 1 of each is closed: a reader refuses members that it does not know, because what it would ignore might be
//! what matters. A new member is a new version of the URI.

mod capture;
mod decision;
mod revision;

use pinhole_core::{Result, Sha256Digest, canonical_json_digest};
use serde::{Serialize, de::DeserializeOwned};

pub use self::{
    capture::{CaptureReceipt, ReceiptReference, RunResult},
    decision::{ApprovalDecision, ReviewDisposition},
    revision::{CatalogRevision, PublicationReceipt, RevisionCause, RevisionContent},
};
use crate::{STATEMENT_TYPE, Statement, Subject, VerifyError};

/// The URIs of the predicates.
pub mod predicate_type {
    /// [`super::CaptureReceipt`].
    pub const CAPTURE_RECEIPT: &str = "https://pinhole.dev/attestation/capture-receipt/v1";
    /// [`super::RunResult`].
    pub const RUN_RESULT: &str = "https://pinhole.dev/attestation/run-result/v1";
    /// [`super::ReviewDisposition`].
    pub const REVIEW_DISPOSITION: &str = "https://pinhole.dev/attestation/review-disposition/v1";
    /// [`super::ApprovalDecision`].
    pub const APPROVAL_DECISION: &str = "https://pinhole.dev/attestation/approval-decision/v1";
    /// [`super::CatalogRevision`].
    pub const CATALOG_REVISION: &str = "https://pinhole.dev/attestation/catalog-revision/v1";
    /// [`super::PublicationReceipt`].
    pub const PUBLICATION_RECEIPT: &str = "https://pinhole.dev/attestation/publication-receipt/v1";
}

/// A predicate that we sign.
pub trait Predicate: Serialize + DeserializeOwned {
    /// Its URI.
    const TYPE: &'static str;

    /// What it is about.
    fn subjects(&self) -> Vec<Subject>;

    /// Digests that it states over its own content are right.
    fn check(&self) -> Result<(), VerifyError> {
        Ok(())
    }

    /// The statement to sign.
    fn statement(&self) -> Result<Statement> {
        self.check()?;
        Ok(Statement {
            kind: STATEMENT_TYPE.into(),
            subject: self.subjects(),
            predicate_type: Self::TYPE.into(),
            predicate: serde_json::to_value(self).map_err(pinhole_core::Error::internal)?,
        })
    }

    /// Reads it from a verified statement: type, members, subjects and stated digests must all agree.
    fn from_statement(statement: &Statement) -> Result<Self, VerifyError> {
        if statement.predicate_type != Self::TYPE {
            let reason = format!("expected {}, found {}", Self::TYPE, statement.predicate_type);
            return Err(VerifyError::new("predicateType", reason));
        }
        let predicate: Self = serde_json::from_value(statement.predicate.clone())
            .map_err(|error| VerifyError::new("predicate", error.to_string()))?;
        predicate.check()?;
        // Compared as bytes: 1 and 1.0 are the same number, but not the same `Value`.
        let bytes = |statement: &Statement| statement.to_bytes().map_err(|e| VerifyError::from_error("predicate", &e));
        let own = predicate.statement().map_err(|error| VerifyError::from_error("predicate", &error))?;
        if own.subject != statement.subject {
            return Err(VerifyError::new("subject", "the subjects are not those of the predicate"));
        }
        if bytes(&own)? != bytes(statement)? {
            return Err(VerifyError::new("predicate", "it has members that this version does not know"));
        }
        Ok(predicate)
    }
}

fn same_digest<T: Serialize>(member: &str, value: &T, stated: Sha256Digest) -> Result<(), VerifyError> {
    match canonical_json_digest(value) {
        Ok(actual) if actual == stated => Ok(()),
        Ok(actual) => Err(VerifyError::new(member, format!("says {stated}, but the content has {actual}"))),
        Err(error) => Err(VerifyError::from_error(member, &error)),
    }
}
