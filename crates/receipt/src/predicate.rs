//! What we sign, as types. Each predicate has one URI, and its subjects follow from its content, so that a statement
//! whose subjects say something else than its predicate is refused.
//!
//! Version 1 of each is closed: a reader refuses members that it does not know, because what it would ignore might be
//! what matters. A new member is a new version of the URI.

use pinhole_core::{
    ApprovalId, ApprovalIntent, ArtifactRef, BaselineEntryId, CellId, DecisionId, Disposition, LineName, Name,
    NotEvidence, Outcome, Pins, PrincipalId, PublicationId, Reason, ReceiptId, RenderFacts, Result, ReviewId,
    RulesFacts, RunId, RunState, RunVerdict, SandboxFacts, Sha256Digest, Slug, Timestamp, canonical_json_digest,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

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

/// What the registrar signs for one checkpoint of a cell. It proves what a named worker submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureReceipt {
    /// The receipt.
    pub receipt: ReceiptId,
    /// The project's slug.
    pub project: Slug,
    /// The run.
    pub run: RunId,
    /// The cell.
    pub cell: CellId,
    /// The cell's attempt, from 1.
    pub attempt: u32,
    /// The checkpoint's name in the scenario.
    pub checkpoint: Slug,
    /// The profile's name: the matrix row, or `default`.
    pub profile: Slug,
    /// What the run is pinned to.
    pub pins: Pins,
    /// The artifacts, the picture first; they are the subjects.
    pub artifacts: Vec<ArtifactRef>,
    /// What the renderer was.
    pub render: RenderFacts,
    /// SHA-256 over the canonical bytes of `render`.
    pub render_digest: Sha256Digest,
    /// What was masked, hidden, ignored and tolerated.
    pub rules: RulesFacts,
    /// SHA-256 over the canonical bytes of `rules`.
    pub rules_digest: Sha256Digest,
    /// SHA-256 over the decoded picture, as the comparison defines it.
    pub pixel_digest: Sha256Digest,
    /// Why it is not evidence; empty when it is.
    pub not_evidence: Vec<NotEvidence>,
    /// How the browser was contained.
    pub sandbox: SandboxFacts,
    /// The worker's id.
    pub worker: String,
    /// When the worker took the picture, by its own clock.
    pub captured_at: Timestamp,
    /// When the registrar took it in.
    pub registered_at: Timestamp,
}

impl CaptureReceipt {
    /// The picture's artifact: the first of its kind.
    pub fn picture(&self) -> Option<&ArtifactRef> {
        self.artifacts.iter().find(|artifact| artifact.kind == pinhole_core::ArtifactKind::Picture)
    }
}

impl Predicate for CaptureReceipt {
    const TYPE: &'static str = predicate_type::CAPTURE_RECEIPT;

    fn subjects(&self) -> Vec<Subject> {
        let name = |artifact: &ArtifactRef| format!("{}.{}", artifact.id, artifact.kind.extension());
        self.artifacts.iter().map(|artifact| Subject::sha256(name(artifact), artifact.sha256)).collect()
    }

    fn check(&self) -> Result<(), VerifyError> {
        same_digest("render_digest", &self.render, self.render_digest)?;
        same_digest("rules_digest", &self.rules, self.rules_digest)?;
        let picture = self.picture().map(|picture| picture.id);
        if picture.is_none() || picture != self.artifacts.first().map(|artifact| artifact.id) {
            return Err(VerifyError::new("artifacts", "the first artifact is not the picture"));
        }
        Ok(())
    }
}

/// A receipt as another statement names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptReference {
    /// The receipt.
    pub receipt: ReceiptId,
    /// SHA-256 of its envelope's payload.
    pub payload_sha256: Sha256Digest,
}

/// The outcome of a run over its receipts. One for each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The run.
    pub run: RunId,
    /// The project's slug.
    pub project: Slug,
    /// What the run was pinned to.
    pub pins: Pins,
    /// How the run ended.
    pub state: RunState,
    /// The verdict; `None` when the run did not complete.
    pub verdict: Option<RunVerdict>,
    /// The receipts, in the order of cells and checkpoints; they are subjects.
    pub receipts: Vec<ReceiptReference>,
    /// Verdicts of the checkpoints.
    pub verdicts: serde_json::Value,
    /// Pixel accounts of the comparisons.
    pub accounts: serde_json::Value,
    /// When the result was fixed.
    pub finished_at: Timestamp,
}

impl Predicate for RunResult {
    const TYPE: &'static str = predicate_type::RUN_RESULT;

    /// The receipts and, so that a run without any has a subject too, the scenario revision.
    fn subjects(&self) -> Vec<Subject> {
        let scenario = Subject::sha256(format!("scenario/{}", self.pins.scenario_slug), self.pins.scenario_sha256);
        let receipts = self.receipts.iter().map(|r| Subject::sha256(r.receipt.to_string(), r.payload_sha256));
        std::iter::once(scenario).chain(receipts).collect()
    }
}

/// How a person's authority reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A browser session, re-authenticated a short while ago.
    Session,
    /// A decision ticket made in such a session.
    Ticket,
    /// A decision ticket made on the server's own machine.
    LocalTicket,
}

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

/// Why a catalog revision was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RevisionCause {
    /// An approval was consumed.
    Consumed {
        /// The approval.
        approval: ApprovalId,
    },
    /// An entry was taken out of use.
    Retired {
        /// The entry.
        entry: BaselineEntryId,
        /// Who.
        principal: PrincipalId,
        /// Why.
        reason: Reason,
    },
    /// An entry was found wrong.
    Invalidated {
        /// The entry.
        entry: BaselineEntryId,
        /// Who.
        principal: PrincipalId,
        /// Why.
        reason: Reason,
    },
    /// The line was forked; only the first revision of a line has this cause.
    Forked {
        /// The line that it was forked from.
        line: LineName,
        /// That line's revision.
        revision: u32,
        /// That revision's digest; it is the previous digest too.
        digest: Sha256Digest,
    },
}

/// The part of a catalog revision whose digest is the revision's digest. It knows nothing of the published files, so
/// that `catalog.json` can name the digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionContent {
    /// The project's slug.
    pub project: Slug,
    /// The line.
    pub line: LineName,
    /// The revision's number, from 1.
    pub number: u32,
    /// Digest of the revision before, or of the one that the line was forked from; `None` for a fresh line's first.
    pub previous_digest: Option<Sha256Digest>,
    /// See the digest over the entries.
    pub entries_digest: Sha256Digest,
    /// Why it was made.
    pub cause: RevisionCause,
    /// When it was made.
    pub created_at: Timestamp,
}

impl RevisionContent {
    /// The revision's digest: SHA-256 over the canonical bytes of this value.
    pub fn digest(&self) -> Result<Sha256Digest> {
        canonical_json_digest(self)
    }
}

/// A signed catalog revision: the hash-chained content, and the published files that stand for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogRevision {
    /// The content.
    pub revision: RevisionContent,
    /// [`RevisionContent::digest`].
    pub digest: Sha256Digest,
    /// SHA-256 of `manifest.json`; it is a subject.
    pub manifest_digest: Sha256Digest,
}

impl CatalogRevision {
    /// Computes the digest of `revision`; `manifest_digest` comes from `manifest`.
    pub fn new(revision: RevisionContent, manifest_digest: Sha256Digest) -> Result<Self> {
        Ok(Self { digest: revision.digest()?, revision, manifest_digest })
    }
}

impl Predicate for CatalogRevision {
    const TYPE: &'static str = predicate_type::CATALOG_REVISION;

    fn subjects(&self) -> Vec<Subject> {
        let RevisionContent { project, line, number, .. } = &self.revision;
        vec![
            Subject::sha256("manifest.json", self.manifest_digest),
            Subject::sha256(format!("{project}/{line}/{number}"), self.digest),
        ]
    }

    fn check(&self) -> Result<(), VerifyError> {
        same_digest("digest", &self.revision, self.digest)
    }
}

/// What the server signs after its own look at the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicationReceipt {
    /// The publication.
    pub publication: PublicationId,
    /// The project's slug.
    pub project: Slug,
    /// The catalog line.
    pub line: LineName,
    /// The revision's number.
    pub revision: u32,
    /// The revision's digest; it is a subject.
    pub digest: Sha256Digest,
    /// The remote's slug.
    pub remote: Slug,
    /// The branch, without `refs/heads/`.
    pub branch: LineName,
    /// The commit's object id in hexadecimal; it is a subject.
    pub commit: String,
    /// When the branch was seen to hold the commit.
    pub read_back_at: Timestamp,
}

impl Predicate for PublicationReceipt {
    const TYPE: &'static str = predicate_type::PUBLICATION_RECEIPT;

    fn subjects(&self) -> Vec<Subject> {
        let Self { project, line, revision, remote, branch, .. } = self;
        vec![
            Subject::git_commit(format!("{remote}/{branch}"), &self.commit),
            Subject::sha256(format!("{project}/{line}/{revision}"), self.digest),
        ]
    }
}

fn same_digest<T: Serialize>(member: &str, value: &T, stated: Sha256Digest) -> Result<(), VerifyError> {
    match canonical_json_digest(value) {
        Ok(actual) if actual == stated => Ok(()),
        Ok(actual) => Err(VerifyError::new(member, format!("says {stated}, but the content has {actual}"))),
        Err(error) => Err(VerifyError::from_error(member, &error)),
    }
}
