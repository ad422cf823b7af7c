//! Baseline keys, approval intents and publication intents: what a person decides on, in the form that is digested.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CandidateId, LineName, Name, Reason, ReviewId, Sha256Digest, Slug, form::text_enum};

text_enum! {
    /// What a baseline entry holds; part of its key.
    BaselineKind {
        /// A picture.
        Visual = "visual",
        /// Typed values.
        Structured = "structured",
        /// Performance figures.
        Performance = "performance",
    }
}

text_enum! {
    /// What an approval is for.
    ApprovalKind {
        /// Candidates become baselines.
        Baseline = "baseline",
        /// An entry is taken out of use.
        Retire = "retire",
        /// An entry is found wrong.
        Invalidate = "invalidate",
    }
}

impl ApprovalKind {
    /// Whether candidates become baselines by it.
    pub fn is_baseline(&self) -> bool {
        *self == Self::Baseline
    }
}

/// The key of a baseline entry within a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineKey {
    /// The catalog line.
    pub line: LineName,
    /// The scenario.
    pub scenario: Slug,
    /// The environment.
    pub environment: Slug,
    /// The checkpoint's name in the scenario.
    pub checkpoint: Slug,
    /// The profile's name: the matrix row, or `default`.
    pub profile: Slug,
    /// What the entry holds.
    pub kind: BaselineKind,
}

impl BaselineKey {
    /// The path of this entry in a published catalog.
    pub fn path(&self) -> String {
        let Self { scenario, environment, checkpoint, profile, kind, .. } = self;
        format!("baselines/{environment}/{scenario}/{kind}/{checkpoint}@{profile}.json")
    }
}

/// One item of an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalItem {
    /// Where it goes.
    pub key: BaselineKey,
    /// The candidate; `None` where an entry is retired or invalidated.
    pub candidate: Option<CandidateId>,
    /// SHA-256 of the picture of the candidate, or of the entry that is to end.
    pub capture_digest: Sha256Digest,
    /// The accepting review; `None` only where the contract allows it.
    pub review: Option<ReviewId>,
    /// Digest of the key's present entry; `None` when it has none.
    pub current_entry: Option<Sha256Digest>,
}

/// Where the resulting revision is to be published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicationIntent {
    /// The remote's slug.
    pub remote: Slug,
    /// The branch, without `refs/heads/`.
    pub branch: LineName,
}

/// The revision of a line that another one comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineOrigin {
    /// The line.
    pub line: LineName,
    /// Its revision's number.
    pub revision: u32,
    /// That revision's digest.
    pub digest: Sha256Digest,
}

/// What exactly is approved: its canonical digest is what a decision names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalIntent {
    /// What it is for; left out where candidates become baselines.
    #[serde(default = "baseline", skip_serializing_if = "ApprovalKind::is_baseline")]
    pub kind: ApprovalKind,
    /// 1 to 500 items over different keys, sorted by key.
    pub items: Vec<ApprovalItem>,
    /// The catalog line.
    pub line: LineName,
    /// The baseline policy revision that the request was made under.
    pub policy_revision: u32,
    /// A label for people, such as a release.
    pub release_label: Option<Name>,
    /// Where the revision is to be published, if it is.
    pub publication: Option<PublicationIntent>,
    /// Why an entry is to end; left out where candidates become baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The revision whose entries are carried to this line; left out where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<LineOrigin>,
}

fn baseline() -> ApprovalKind {
    ApprovalKind::Baseline
}
