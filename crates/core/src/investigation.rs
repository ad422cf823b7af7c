//! Investigation cases: their states, how they end, and the signature by which failures are told to be the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    CheckpointVerdict, EnvironmentId, FailureReason, Result, RunVerdict, ScenarioId, Sha256Digest, Slug, bounded_texts,
    canonical_json_digest, form::text_enum,
};

text_enum! {
    /// State of a case.
    CaseState {
        /// Waits in its queue.
        Open = "open",
        /// Somebody works on it.
        Claimed = "claimed",
        /// Ended with a disposition.
        Disposed = "disposed",
    }
}

text_enum! {
    /// What a case turned out to be.
    CaseDisposition {
        /// The product is wrong.
        Defect = "defect",
        /// The product changed on purpose.
        ExpectedChange = "expected_change",
        /// It fails now and then.
        Flaky = "flaky",
        /// Where it ran was at fault.
        Environment = "environment",
        /// Another case is about the same.
        Duplicate = "duplicate",
    }
}

bounded_texts! {
    /// What somebody found out, as plain text; recorded for ever.
    FindingText, 1..=8192,
        "^[^\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]*$", is_finding,
        "expected 1 to 8192 characters of text, not only white space, without control characters";
}

fn is_finding(text: &str) -> bool {
    let plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    text.chars().all(plain) && !text.trim().is_empty()
}

/// What failed in a run, without anything that differs from run to run: two runs with the same signature failed in the
/// same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureSignature {
    /// The scenario.
    pub scenario: ScenarioId,
    /// The environment.
    pub environment: EnvironmentId,
    /// The run's verdict, when it came to one.
    pub verdict: Option<RunVerdict>,
    /// Cells that failed, in the order of the matrix.
    pub failures: Vec<FailedCell>,
    /// Assertions that did not hold, as cell and step, in that order.
    pub assertions: Vec<(Slug, u32)>,
    /// Checkpoints that did not match, in the order of cells and steps.
    pub checkpoints: Vec<FailedCheckpoint>,
}

/// A cell that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedCell {
    /// The cell's name.
    pub cell: Slug,
    /// Why.
    pub reason: FailureReason,
    /// In which step, from 0, where that is known.
    pub step: Option<u32>,
}

/// A checkpoint that did not match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedCheckpoint {
    /// Its name.
    pub checkpoint: Slug,
    /// The profile's name.
    pub profile: Slug,
    /// Its verdict.
    pub verdict: CheckpointVerdict,
}

impl FailureSignature {
    /// Its digest, by which cases are found.
    pub fn digest(&self) -> Result<Sha256Digest> {
        canonical_json_digest(self)
    }

    /// One line for people, such as `changed: cart (default)`; at most 200 characters.
    pub fn summary(&self) -> String {
        let failures = self.failures.iter().map(|failed| format!("{} in {}", failed.reason, failed.cell));
        let assertions = self.assertions.iter().map(|(cell, step)| format!("assertion at step {step} in {cell}"));
        let checkpoints = self
            .checkpoints
            .iter()
            .map(|failed| format!("{} {} ({})", failed.checkpoint, failed.verdict, failed.profile));
        let parts: Vec<_> = failures.chain(assertions).chain(checkpoints).collect();
        let text = parts.join(", ");
        let shown = if text.is_empty() { self.verdict.map_or("failed", RunVerdict::as_str) } else { &text };
        shown.chars().take(200).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn signature(step: u32) -> FailureSignature {
        FailureSignature {
            scenario: ScenarioId::from_uuid(Uuid::from_u128(1)),
            environment: EnvironmentId::from_uuid(Uuid::from_u128(2)),
            verdict: None,
            failures: vec![FailedCell {
                cell: "phone".parse().unwrap(),
                reason: FailureReason::TargetMissing,
                step: Some(step),
            }],
            assertions: Vec::new(),
            checkpoints: vec![FailedCheckpoint {
                checkpoint: "cart".parse().unwrap(),
                profile: "default".parse().unwrap(),
                verdict: CheckpointVerdict::Changed,
            }],
        }
    }

    #[test]
    fn the_same_failure_has_the_same_digest() {
        assert_eq!(signature(2).digest().unwrap(), signature(2).digest().unwrap());
        assert_ne!(signature(2).digest().unwrap(), signature(3).digest().unwrap());
        assert_eq!(signature(2).summary(), "target_missing in phone, cart changed (default)");
    }

    #[test]
    fn a_finding_is_bounded_in_characters() {
        assert!("line\n\tline".parse::<FindingText>().is_ok());
        assert!("é".repeat(8192).parse::<FindingText>().is_ok());
        for wrong in ["", " \n", "bell\u{7}", &"é".repeat(8193)] {
            assert!(wrong.parse::<FindingText>().is_err());
        }
    }
}
