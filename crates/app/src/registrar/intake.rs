//! Taking in: reads each staged artifact once, checks it against the submission and the scenario, stores the bytes that
//! were read, and compares pictures. An error that is not ours refuses the submission.

use pinhole_blobs::StagingFolder;
use pinhole_compare::{DecodeLimits, Picture, decode_png};
use pinhole_core::{
    ArtifactId, ArtifactKind, ArtifactRef, BaselineKind, Blake3Digest, Error, NotEvidence, RenderFacts, Result,
    RulesFacts, Sha256Digest, Slug, StagedArtifact, StagedCheckpoint, Submission, Timestamp, canonical_json_digest,
};
use pinhole_scenario::{Capture, Extract, Scenario};

use super::{
    Registration,
    compare::{Compared, spawn},
};
use crate::App;

/// The greatest artifact.
const MAX_ARTIFACT_BYTES: u64 = 256 << 20;
/// The greatest console evidence.
const MAX_CONSOLE_BYTES: u64 = 4 << 20;
/// The most rectangles that a checkpoint may name; the comparison's work grows with them.
const MAX_RECTANGLES: usize = 1000;
/// The most reasons against evidence that a checkpoint may name.
pub(super) const MAX_REASONS: usize = 200;
/// The most evidence of a cell beside its checkpoints.
const MAX_EVIDENCE: usize = 10;
/// Characters of an assertion's message at most.
const MAX_ASSERTION_CHARS: usize = 500;
/// Characters of a failure's message at most.
const MAX_FAILURE_CHARS: usize = 2000;

/// A submission whose bytes are ours now.
pub(crate) struct Taken {
    pub(crate) checkpoints: Vec<TakenCheckpoint>,
    pub(crate) evidence: Vec<ArtifactRef>,
}

/// One checkpoint, hashed and decoded by us.
pub(crate) struct TakenCheckpoint {
    pub(crate) name: Slug,
    pub(crate) kind: BaselineKind,
    pub(crate) captured_at: Timestamp,
    pub(crate) render: RenderFacts,
    /// The picture, or the file of values.
    pub(crate) content: ArtifactRef,
    pub(crate) pixel_digest: Sha256Digest,
    pub(crate) render_digest: Sha256Digest,
    pub(crate) rules: RulesFacts,
    pub(crate) rules_digest: Sha256Digest,
    pub(crate) not_evidence: Vec<NotEvidence>,
    pub(crate) compared: Compared,
}

impl App {
    pub(super) async fn take_in(&self, registration: &Registration, folder: &StagingFolder) -> Result<Taken> {
        let submission = &registration.submission;
        check_bounds(submission)?;
        let captures = expected_captures(registration)?;
        let mut checkpoints = Vec::with_capacity(captures.len());
        for (index, (checkpoint, capture)) in submission.checkpoints.iter().zip(captures).enumerate() {
            checkpoints.push(self.take_checkpoint(registration, folder, index, checkpoint, capture).await?);
        }
        let extracts = expected_extracts(registration)?;
        for (index, (staged, extract)) in submission.extracts.iter().zip(extracts).enumerate() {
            let baseline = registration.value_baselines.get(index).and_then(Option::as_ref);
            checkpoints.push(self.take_extract(registration, folder, staged, (extract, baseline)).await?);
        }
        let mut evidence = Vec::new();
        for staged in &submission.evidence {
            let limit = match staged.kind {
                ArtifactKind::Console => MAX_CONSOLE_BYTES,
                ArtifactKind::FailurePicture => MAX_ARTIFACT_BYTES,
                kind => return Err(Error::invalid("evidence", format!("{kind} is no evidence of a cell"))),
            };
            let bytes = self.read_once(folder, staged, limit).await?;
            if staged.kind == ArtifactKind::FailurePicture {
                decode(bytes.clone()).await?;
            }
            evidence.push(self.keep(staged.kind, bytes).await?);
        }
        Ok(Taken { checkpoints, evidence })
    }

    async fn take_checkpoint(
        &self,
        registration: &Registration,
        folder: &StagingFolder,
        index: usize,
        checkpoint: &StagedCheckpoint,
        capture: &Capture,
    ) -> Result<TakenCheckpoint> {
        let rectangles = checkpoint.masked.len() + checkpoint.ignored.len();
        if rectangles > MAX_RECTANGLES || checkpoint.not_evidence.len() > MAX_REASONS {
            return Err(Error::invalid(checkpoint.name.as_str(), "more rectangles or reasons than a capture can have"));
        }
        let unasked = |rectangles: &[_], rules: &[_]| !rectangles.is_empty() && rules.is_empty();
        if unasked(&checkpoint.masked, &capture.mask) || unasked(&checkpoint.ignored, &capture.ignore) {
            return Err(Error::invalid(checkpoint.name.as_str(), "rectangles that the scenario has no rule for"));
        }
        if checkpoint.render.profile != registration.cell.profile {
            return Err(Error::invalid(checkpoint.name.as_str(), "the profile is not the cell's"));
        }
        if checkpoint.picture.kind != ArtifactKind::Picture {
            return Err(Error::invalid(checkpoint.name.as_str(), "the picture is of another kind"));
        }
        let bytes = self.read_once(folder, &checkpoint.picture, MAX_ARTIFACT_BYTES).await?;
        let picture = decode(bytes.clone()).await?;
        let reference = self.keep(ArtifactKind::Picture, bytes).await?;
        let rules = RulesFacts { capture: capture.rules() };
        let mut taken = TakenCheckpoint {
            name: checkpoint.name.clone(),
            kind: BaselineKind::Visual,
            captured_at: checkpoint.captured_at,
            render: checkpoint.render.clone(),
            content: reference,
            pixel_digest: pixel_digest(&picture),
            render_digest: canonical_json_digest(&checkpoint.render)?,
            rules_digest: canonical_json_digest(&rules)?,
            rules,
            not_evidence: not_evidence(checkpoint, &picture),
            compared: Compared::not_evidence(),
        };
        if taken.not_evidence.is_empty() {
            let baseline = registration.baselines.get(index).and_then(Option::as_ref);
            taken.compared = self.compare_checkpoint(&taken, picture, baseline, checkpoint, capture).await?;
        }
        Ok(taken)
    }

    /// Reads staged bytes once; these very bytes are what is hashed, decoded and stored.
    pub(super) async fn read_once(
        &self,
        folder: &StagingFolder,
        staged: &StagedArtifact,
        limit: u64,
    ) -> Result<Vec<u8>> {
        let bytes = self.blobs().read_staged(folder, &staged.name, limit).await?;
        if bytes.len() as u64 != staged.size_bytes {
            let found = bytes.len();
            let message = format!("says {} bytes, but {found} are staged", staged.size_bytes);
            return Err(Error::invalid(&staged.name, message));
        }
        let sha256 = Sha256Digest::of(&bytes);
        if sha256 != staged.sha256 {
            return Err(Error::invalid(&staged.name, format!("says {}, but the bytes have {sha256}", staged.sha256)));
        }
        Ok(bytes)
    }

    /// Stores bytes under the server's own prefix.
    pub(super) async fn keep(&self, kind: ArtifactKind, bytes: Vec<u8>) -> Result<ArtifactRef> {
        let (size_bytes, sha256, blake3) = (bytes.len() as u64, Sha256Digest::of(&bytes), Blake3Digest::of(&bytes));
        self.blobs().put(bytes).await?;
        Ok(ArtifactRef { id: ArtifactId::from_uuid(self.ids().uuid()), kind, size_bytes, sha256, blake3 })
    }
}

/// What is kept of a submission beside its artifacts has to be as short as a worker makes it.
fn check_bounds(submission: &Submission) -> Result<()> {
    let longer = |text: &str, limit: usize| text.chars().nth(limit).is_some();
    let assertions = &submission.failed_assertions;
    if submission.evidence.len() > MAX_EVIDENCE {
        return Err(Error::invalid("evidence", format!("more than {MAX_EVIDENCE} artifacts")));
    }
    if assertions.len() > Scenario::MAX_STEPS
        || assertions.iter().any(|failed| longer(&failed.message, MAX_ASSERTION_CHARS))
    {
        return Err(Error::invalid("failed_assertions", "more or longer ones than a scenario can have"));
    }
    if submission.failure.as_ref().is_some_and(|failure| longer(&failure.message, MAX_FAILURE_CHARS)) {
        return Err(Error::invalid("failure", format!("its message is longer than {MAX_FAILURE_CHARS} characters")));
    }
    Ok(())
}

/// The scenario's captures that the submission must hold, in order: all of them, or as far as it came when it failed.
fn expected_captures(registration: &Registration) -> Result<Vec<&Capture>> {
    let submission = &registration.submission;
    let captures: Vec<_> = registration.scenario.captures().collect();
    let submitted = submission.checkpoints.len();
    let complete = submitted == captures.len() || (submission.failure.is_some() && submitted < captures.len());
    let same =
        submission.checkpoints.iter().zip(&captures).all(|(checkpoint, capture)| checkpoint.name == capture.name);
    if complete && same {
        return Ok(captures.into_iter().take(submitted).collect());
    }
    Err(Error::invalid("checkpoints", "the submission does not hold the scenario's captures in their order"))
}

/// The same for the scenario's extracts.
fn expected_extracts(registration: &Registration) -> Result<Vec<&Extract>> {
    let submission = &registration.submission;
    let extracts: Vec<_> = registration.scenario.extracts().collect();
    let submitted = submission.extracts.len();
    let complete = submitted == extracts.len() || (submission.failure.is_some() && submitted < extracts.len());
    let same = submission.extracts.iter().zip(&extracts).all(|(staged, extract)| staged.name == extract.name);
    if complete && same {
        return Ok(extracts.into_iter().take(submitted).collect());
    }
    Err(Error::invalid("extracts", "the submission does not hold the scenario's extracts in their order"))
}

/// Decodes a picture.
pub(super) async fn decode(bytes: Vec<u8>) -> Result<Picture> {
    let decoded = spawn(move || decode_png(&bytes, &DecodeLimits::default())).await?;
    decoded.map_err(|error| Error::invalid("picture", error.to_string()))
}

/// SHA-256 over a tag, the size and the RGBA bytes of a picture.
fn pixel_digest(picture: &Picture) -> Sha256Digest {
    let (width, height) = (picture.width().to_be_bytes(), picture.height().to_be_bytes());
    Sha256Digest::of_parts(&[b"pinhole.pixels.v1\0", &width, &height, picture.pixels()])
}

/// What the worker found against it, and what the picture itself shows.
fn not_evidence(checkpoint: &StagedCheckpoint, picture: &Picture) -> Vec<NotEvidence> {
    let mut reasons = checkpoint.not_evidence.clone();
    let actual = [picture.width(), picture.height()];
    if actual != checkpoint.layout && !reasons.iter().any(|reason| matches!(reason, NotEvidence::SizeDisagrees { .. }))
    {
        reasons.push(NotEvidence::SizeDisagrees { expected: checkpoint.layout, actual });
    }
    if picture.is_one_colour() {
        reasons.push(NotEvidence::OneColour);
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pixel_digest_is_over_tag_size_and_pixels() {
        let picture = Picture::new(2, 1, vec![7; 8]).unwrap();
        let mut bytes = b"pinhole.pixels.v1\0".to_vec();
        bytes.extend([0, 0, 0, 2, 0, 0, 0, 1]);
        bytes.extend([7; 8]);
        assert_eq!(pixel_digest(&picture), Sha256Digest::of(&bytes));
        assert_ne!(pixel_digest(&picture), pixel_digest(&Picture::new(1, 2, vec![7; 8]).unwrap()));
    }
}
