//! What people decide: reviews of captures and decisions on approvals.

use pinhole_core::{
    ApprovalId, ApprovalIntent, DecisionId, Disposition, Name, Outcome, PrincipalId, Reason, ReceiptId, ReviewId,
    Sha256Digest, Slug, Timestamp, Via,
};
use serde::{Deserialize, Serialize};

use super::{Predicate, predicate_type, same_digest};
use crate::{Subject, VerifyError};

/// What a person said about a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewDisposition {
    /// The review.
    pub review: ReviewId,
    /// The project's slug.
    pub project: Slug,
    /// The receipt that was looked at.
    pub receipt: ReceiptId,
    /// SHA-256 of the picture; it is the subject.
    pub capture_digest: Sha256Digest,
    /// The receipt's render digest.
    pub render_digest: Sha256Digest,
    /// The receipt's rules digest.
    pub rules_digest: Sha256Digest,
    /// Accepted or rejected.
    pub disposition: Disposition,
    /// Why.
    pub reason: Reason,
    /// Who.
    pub principal: PrincipalId,
    /// The name that they chose for publication.
    pub publication_name: Name,
    /// How their authority reached us.
    pub via: Via,
    /// When.
    pub decided_at: Timestamp,
}

impl Predicate for ReviewDisposition {
    const TYPE: &'static str = predicate_type::REVIEW_DISPOSITION;

    fn subjects(&self) -> Vec<Subject> {
        vec![Subject::sha256(self.receipt.to_string(), self.capture_digest)]
    }
}

/// One person's decision on an approval. An approval with a quorum has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// The decision.
    pub decision: DecisionId,
    /// The approval.
    pub approval: ApprovalId,
    /// The approval's version that was decided on.
    pub version: u32,
    /// The project's slug.
    pub project: Slug,
    /// What was decided on.
    pub intent: ApprovalIntent,
    /// SHA-256 over the canonical bytes of `intent`; it is the subject.
    pub intent_digest: Sha256Digest,
    /// Yes or no.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// Who.
    pub principal: PrincipalId,
    /// The name that they chose for publication.
    pub publication_name: Name,
    /// How their authority reached us.
    pub via: Via,
    /// Whether "two persons" applied.
    pub two_persons: bool,
    /// How many approving persons the policy revision asks for, from 1.
    pub quorum: u32,
    /// When.
    pub decided_at: Timestamp,
}

impl Predicate for ApprovalDecision {
    const TYPE: &'static str = predicate_type::APPROVAL_DECISION;

    fn subjects(&self) -> Vec<Subject> {
        vec![Subject::sha256(format!("{}/intent", self.approval), self.intent_digest)]
    }

    fn check(&self) -> Result<(), VerifyError> {
        same_digest("intent_digest", &self.intent, self.intent_digest)
    }
}
