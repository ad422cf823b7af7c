//! States, verdicts and reasons: closed lists with one stable text each, as stored and as shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::text_enum;

text_enum! {
    /// State of a run and of a cell.
    RunState {
        /// Waits for a gate.
        PendingApproval = "pending_approval",
        /// Waits for a worker.
        Queued = "queued",
        /// A worker holds its lease.
        Running = "running",
        /// Waits for a person within a scenario.
        AwaitingHuman = "awaiting_human",
        /// Bytes are staged; the registrar works.
        Registering = "registering",
        /// Ended with a verdict.
        Completed = "completed",
        /// Ended with a failure reason.
        Failed = "failed",
        /// Ended by a person or a denied gate.
        Cancelled = "cancelled",
        /// A gate or human step ran out.
        Expired = "expired",
    }
}

impl RunState {
    /// Whether nothing will change any more.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Expired)
    }
}

text_enum! {
    /// Why a cell failed; the closed list of the contract.
    FailureReason {
        /// The browser process ended.
        BrowserCrashed = "browser_crashed",
        /// The page's renderer ended.
        RendererCrashed = "renderer_crashed",
        /// The lease ran out three times.
        WorkerLost = "worker_lost",
        /// The cell ran longer than it may.
        CellDeadline = "cell_deadline",
        /// A step ran longer than it may.
        StepDeadline = "step_deadline",
        /// A navigation did not lead to a document.
        NavigationFailed = "navigation_failed",
        /// A request was outside the environment's hosts.
        EgressDenied = "egress_denied",
        /// A locator matched nothing.
        TargetMissing = "target_missing",
        /// A locator matched more than one element.
        TargetAmbiguous = "target_ambiguous",
        /// The element cannot be acted on.
        TargetNotActionable = "target_not_actionable",
        /// The decision policy denies the action.
        PolicyDenied = "policy_denied",
        /// The page is beyond the picture limits.
        CaptureTooLarge = "capture_too_large",
        /// A secret would be visible in a picture.
        SecretVisible = "secret_visible",
        /// Another limit.
        LimitExceeded = "limit_exceeded",
        /// Staging could not be written.
        StorageUnavailable = "storage_unavailable",
        /// The registrar refused what was submitted.
        RegistrationRefused = "registration_refused",
    }
}

impl FailureReason {
    /// Whether another attempt may end differently through no change of the page or the scenario.
    pub const fn is_worth_retrying(self) -> bool {
        matches!(self, Self::BrowserCrashed | Self::WorkerLost | Self::StorageUnavailable)
    }
}

text_enum! {
    /// Verdict on one checkpoint.
    CheckpointVerdict {
        /// Equal to the pinned baseline within its rules.
        Matched = "matched",
        /// Differs from the pinned baseline.
        Changed = "changed",
        /// No baseline is pinned for it.
        New = "new",
        /// The pinned baseline was made under another render or rules digest.
        Incomparable = "incomparable",
        /// The capture proves nothing; the reasons say why.
        NotEvidence = "not_evidence",
    }
}

text_enum! {
    /// Verdict on a run.
    RunVerdict {
        /// An assertion did not hold.
        FailedAssertion = "failed_assertion",
        /// A capture proves nothing.
        NotEvidence = "not_evidence",
        /// A capture cannot be compared with its baseline.
        Incomparable = "incomparable",
        /// A capture differs.
        Changed = "changed",
        /// A checkpoint has no baseline.
        NeedsBaseline = "needs_baseline",
        /// Everything matched.
        Passed = "passed",
    }
}

impl RunVerdict {
    /// The first verdict that holds, in the contract's order.
    ///
    /// `reference_only` is true when the run is pinned to receipts or to `none`: then it is at best `needs_baseline`.
    pub fn of(failed_assertion: bool, checkpoints: &[CheckpointVerdict], reference_only: bool) -> Self {
        let some = |verdict| checkpoints.contains(&verdict);
        if failed_assertion {
            Self::FailedAssertion
        } else if some(CheckpointVerdict::NotEvidence) {
            Self::NotEvidence
        } else if some(CheckpointVerdict::Incomparable) {
            Self::Incomparable
        } else if some(CheckpointVerdict::Changed) {
            Self::Changed
        } else if some(CheckpointVerdict::New) || reference_only {
            Self::NeedsBaseline
        } else {
            Self::Passed
        }
    }
}

text_enum! {
    /// State of a candidate.
    CandidateState {
        /// Its run goes on.
        Capturing = "capturing",
        /// May be reviewed and requested.
        Ready = "ready",
        /// Its capture failed or is not evidence.
        Unusable = "unusable",
        /// Part of a consumed approval.
        Consumed = "consumed",
        /// Given up by its author.
        Withdrawn = "withdrawn",
    }
}

text_enum! {
    /// A human's disposition of a capture.
    Disposition {
        /// Right as it is.
        Accept = "accept",
        /// Wrong.
        Reject = "reject",
    }
}

text_enum! {
    /// The outcome of a decision on an approval.
    Outcome {
        /// Yes.
        Approve = "approve",
        /// No.
        Deny = "deny",
    }
}

text_enum! {
    /// State of an approval.
    ApprovalState {
        /// Waits for decisions.
        Pending = "pending",
        /// May be consumed once.
        Approved = "approved",
        /// Ended by a denial.
        Denied = "denied",
        /// Its lifetime ran out.
        Expired = "expired",
        /// A candidate, review or entry changed beneath it.
        Superseded = "superseded",
        /// Became a catalog revision.
        Consumed = "consumed",
    }
}

text_enum! {
    /// State of a baseline entry.
    EntryState {
        /// The present entry of its key.
        Active = "active",
        /// Replaced by a newer one.
        Superseded = "superseded",
        /// Taken out of use.
        Retired = "retired",
        /// Found wrong.
        Invalidated = "invalidated",
    }
}

text_enum! {
    /// State of a publication.
    PublicationState {
        /// Waits for the worker.
        Queued = "queued",
        /// The commit is being made.
        Committing = "committing",
        /// The commit is stored; the push is under way or its answer is unknown.
        Pushing = "pushing",
        /// The push was acknowledged; the read-back is due.
        Verifying = "verifying",
        /// The branch held the commit when it was read back.
        Published = "published",
        /// The branch holds a foreign commit.
        Conflict = "conflict",
        /// The remote's policy refused it.
        Rejected = "rejected",
        /// The attempts are spent.
        Failed = "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CheckpointVerdict as C;

    #[test]
    fn the_first_verdict_that_holds_wins() {
        let all = [C::Matched, C::New, C::Changed, C::Incomparable, C::NotEvidence];
        assert_eq!(RunVerdict::of(true, &all, false), RunVerdict::FailedAssertion);
        assert_eq!(RunVerdict::of(false, &all, false), RunVerdict::NotEvidence);
        assert_eq!(RunVerdict::of(false, &all[..4], false), RunVerdict::Incomparable);
        assert_eq!(RunVerdict::of(false, &all[..3], false), RunVerdict::Changed);
        assert_eq!(RunVerdict::of(false, &all[..2], false), RunVerdict::NeedsBaseline);
        assert_eq!(RunVerdict::of(false, &all[..1], false), RunVerdict::Passed);
        assert_eq!(RunVerdict::of(false, &all[..1], true), RunVerdict::NeedsBaseline);
    }

    #[test]
    fn texts_round_trip() {
        for state in RunState::ALL {
            assert_eq!(state.as_str().parse::<RunState>().unwrap(), *state);
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert!("done".parse::<RunState>().is_err());
    }
}
