//! What the catalog says of itself: its revisions and where they were seen published.

use pinhole_core::{
    ApprovalId, BaselineEntryId, LineName, LineOrigin, PrincipalId, PublicationId, Reason, Result, Sha256Digest, Slug,
    Timestamp, canonical_json_digest,
};
use serde::{Deserialize, Serialize};

use super::{Predicate, predicate_type, same_digest};
use crate::{Subject, VerifyError};

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
        /// The approval that was consumed; `None` when the principal had human authority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalId>,
    },
    /// An entry was found wrong.
    Invalidated {
        /// The entry.
        entry: BaselineEntryId,
        /// Who.
        principal: PrincipalId,
        /// Why.
        reason: Reason,
        /// The approval that was consumed; `None` when the principal had human authority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalId>,
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

impl RevisionCause {
    /// The revision that the line was forked from, if this is the cause of a fork.
    pub fn forked_from(&self) -> Option<LineOrigin> {
        match self {
            Self::Forked { line, revision, digest } => {
                Some(LineOrigin { line: line.clone(), revision: *revision, digest: *digest })
            }
            Self::Consumed { .. } | Self::Retired { .. } | Self::Invalidated { .. } => None,
        }
    }
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
