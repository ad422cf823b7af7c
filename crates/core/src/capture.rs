//! What a capture worker submits and what a receipt is made of. None of it is believed before the registrar looked.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ArtifactId, Blake3Digest, FailureReason, Profile, Sha256Digest, Slug, Timestamp, form::text_enum};

text_enum! {
    /// What an artifact holds; its media type follows from this and from nothing else.
    ArtifactKind {
        /// The picture of a checkpoint.
        Picture = "picture",
        /// The difference picture of a comparison.
        Difference = "difference",
        /// The values of an extract.
        Values = "values",
        /// Console messages and page errors of a cell.
        Console = "console",
        /// The page when a step failed.
        FailurePicture = "failure_picture",
    }
}

impl ArtifactKind {
    /// The media type that the server sends.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Picture | Self::Difference | Self::FailurePicture => "image/png",
            Self::Values | Self::Console => "application/json",
        }
    }

    /// The file extension in names shown to people.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Picture | Self::Difference | Self::FailurePicture => "png",
            Self::Values | Self::Console => "json",
        }
    }
}

/// An artifact as it is named in results and receipts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactRef {
    /// The artifact.
    pub id: ArtifactId,
    /// What it holds.
    pub kind: ArtifactKind,
    /// Bytes.
    pub size_bytes: u64,
    /// SHA-256 of the bytes.
    pub sha256: Sha256Digest,
    /// BLAKE3 of the bytes, which keys their storage.
    pub blake3: Blake3Digest,
}

/// Bytes that a worker has put into staging.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagedArtifact {
    /// What the worker says it is.
    pub kind: ArtifactKind,
    /// Name within the lease's staging folder: digits, letters and hyphens.
    pub name: String,
    /// What the worker says its size is.
    pub size_bytes: u64,
    /// What the worker says its digest is; the registrar refuses the submission when it differs.
    pub sha256: Sha256Digest,
}

/// Why a capture proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum NotEvidence {
    /// The main document's status is 400 or above.
    ErrorStatus {
        /// The HTTP status.
        status: u16,
    },
    /// The document's final host or path is not the one asked for.
    WrongLocation {
        /// Where it ended, without query.
        url: String,
    },
    /// A `ready` rule did not hold within the budget.
    ReadyNeverHeld {
        /// The rule's index.
        index: u32,
    },
    /// Fonts failed or did not load.
    FontsNotReady,
    /// A mask, hide or ignore matched nothing.
    UnmatchedMask {
        /// The rule as written.
        locator: String,
    },
    /// The picture has one colour only.
    OneColour,
    /// The frame was still moving at the end of the budget.
    StillMoving {
        /// What moved, as far as known.
        what: String,
    },
    /// A part of the page from the environment's own hosts broke off or was answered with a server's error: the
    /// document, a frame, a style sheet, a script or an image.
    PartMissing {
        /// Which part, and what became of it.
        what: String,
    },
    /// The picture's size disagrees with the layout.
    SizeDisagrees {
        /// Expected device pixels.
        expected: [u32; 2],
        /// Found device pixels.
        actual: [u32; 2],
    },
}

impl fmt::Display for NotEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ErrorStatus { status } => write!(f, "the page was answered with status {status}"),
            Self::WrongLocation { url } => write!(f, "the browser ended at {url} instead"),
            Self::ReadyNeverHeld { index } => {
                write!(f, "condition {} of what makes the page ready never held", u64::from(*index) + 1)
            }
            Self::FontsNotReady => f.write_str("fonts did not load"),
            Self::UnmatchedMask { locator } => write!(f, "a rule fits nothing on the page: {locator}"),
            Self::OneColour => f.write_str("the picture has one colour only"),
            Self::StillMoving { what } => write!(f, "the page still moved: {what}"),
            Self::PartMissing { what } => write!(f, "a part of the page is missing: {what}"),
            Self::SizeDisagrees { expected: [width, height], actual: [w, h] } => {
                write!(f, "the picture is {w} x {h} pixels and the page {width} x {height}")
            }
        }
    }
}

/// Everything that the look of a picture depends on beside the page: captures compare only when it is equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenderFacts {
    /// Product and version as the browser says it, such as `HeadlessChrome/156.0.8078.73`.
    pub browser: String,
    /// The browser's build revision.
    pub browser_revision: String,
    /// Command-line flags that change pixels, sorted.
    pub flags: Vec<String>,
    /// Digest over the installed font files' names and sizes.
    pub fonts: Sha256Digest,
    /// The device that the page saw.
    pub profile: Profile,
    /// Version of the settling and freezing rules.
    pub stabiliser: u32,
    /// Processor architecture.
    pub architecture: String,
}

/// The capture rules of a checkpoint: what is masked, hidden, ignored and tolerated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulesFacts {
    /// The capture step in canonical form, without its name.
    pub capture: serde_json::Value,
}

/// One checkpoint of a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagedCheckpoint {
    /// The capture's name in the scenario.
    pub name: Slug,
    /// The picture.
    pub picture: StagedArtifact,
    /// Size that the layout asks for, in device pixels.
    pub layout: [u32; 2],
    /// What the renderer was.
    pub render: RenderFacts,
    /// Rectangles painted over, in device pixels: x, y, width, height.
    pub masked: Vec<[u32; 4]>,
    /// Rectangles left in the picture and not compared, in device pixels: x, y, width, height.
    pub ignored: Vec<[u32; 4]>,
    /// Where the document was, without query and fragment.
    pub url: String,
    /// Why it is not evidence, as the worker found; empty when it is.
    pub not_evidence: Vec<NotEvidence>,
    /// The page's state just before and just after the picture.
    pub settled: serde_json::Value,
    /// When the picture was taken, by the worker's own clock.
    pub captured_at: Timestamp,
}

/// One extract of a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagedExtract {
    /// The extract's name in the scenario.
    pub name: Slug,
    /// The values: one object in canonical JSON.
    pub values: StagedArtifact,
    /// What the renderer was.
    pub render: RenderFacts,
    /// Where the document was, without query and fragment.
    pub url: String,
    /// Why it is not evidence, as the worker found; empty when it is.
    pub not_evidence: Vec<NotEvidence>,
    /// When the values were read, by the worker's own clock.
    pub captured_at: Timestamp,
}

/// What a worker says about a cell that it has finished. Bounded by the scenario's own bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// Checkpoints in scenario order.
    pub checkpoints: Vec<StagedCheckpoint>,
    /// Extracts in scenario order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extracts: Vec<StagedExtract>,
    /// Evidence of the whole cell.
    pub evidence: Vec<StagedArtifact>,
    /// Assertions that did not hold: step index and what was found.
    pub failed_assertions: Vec<FailedAssertion>,
    /// What the browser ran as.
    pub sandbox: SandboxFacts,
    /// Why the cell failed; the checkpoints before the failure are kept.
    pub failure: Option<CellFailure>,
}

/// An assertion that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailedAssertion {
    /// Index of the step, from 0.
    pub step: u32,
    /// What was expected and found, at most 500 characters.
    pub message: String,
}

/// Why and where a cell failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellFailure {
    /// The closed reason.
    pub reason: FailureReason,
    /// Index of the step, from 0, when it was in one.
    pub step: Option<u32>,
    /// What a person needs to mend it, at most 2000 characters.
    pub message: String,
}

/// How the browser was contained, as its worker saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxFacts {
    /// The uid that the browser ran under.
    pub uid: u32,
    /// Whether Chromium's own sandbox was on.
    pub sandboxed: bool,
}
