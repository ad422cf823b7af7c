//! The statements behind baselines, and whether they support an entry.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_core::{
    ApprovalId, ApprovalItem, ApprovalKind, BaselineKey, BaselineKind, DecisionId, Disposition, EntryState, Outcome,
    Reason, ReceiptId, ReviewId, Slug,
};

use crate::{
    ApprovalDecision, CaptureReceipt, CatalogEntry, Predicate as _, ReviewDisposition, RevisionCause, TrustedKeys,
    VerifyError, predicate_type, verify::verified_statement,
};

/// Verified receipts, reviews and decisions of one project.
#[derive(Default)]
pub(crate) struct Evidence {
    receipts: BTreeMap<ReceiptId, CaptureReceipt>,
    reviews: BTreeMap<ReviewId, ReviewDisposition>,
    decisions: BTreeMap<ApprovalId, BTreeMap<DecisionId, ApprovalDecision>>,
}

impl Evidence {
    /// Verifies the envelopes at `files` (path and bytes); a path must name the object that its envelope is about.
    pub(crate) fn read<'a>(
        project: &Slug,
        files: impl Iterator<Item = (&'a String, &'a Vec<u8>)>,
        keys: &TrustedKeys,
    ) -> Result<Self, VerifyError> {
        let mut evidence = Self::default();
        for (path, bytes) in files {
            let (id, of_project) = evidence.add(bytes, keys).map_err(|error| error.within(path))?;
            if crate::catalog::envelope_path(&id).as_ref() != Some(path) {
                return Err(VerifyError::new(path, format!("the envelope is about {id}")));
            }
            if of_project != *project {
                return Err(VerifyError::new(path, format!("the envelope is of project {of_project}")));
            }
        }
        Ok(evidence)
    }

    /// Decisions that were verified before, and nothing else.
    pub(crate) fn of_decisions(decisions: impl Iterator<Item = ApprovalDecision>) -> Self {
        let mut evidence = Self::default();
        for decision in decisions {
            evidence.decisions.entry(decision.approval).or_default().insert(decision.decision, decision);
        }
        evidence
    }

    /// Verifies and keeps one envelope; answers with the id and the project that it is about.
    fn add(&mut self, bytes: &[u8], keys: &TrustedKeys) -> Result<(String, Slug), VerifyError> {
        let statement = verified_statement(bytes, keys)?;
        match statement.predicate_type.as_str() {
            predicate_type::CAPTURE_RECEIPT => {
                let receipt = CaptureReceipt::from_statement(&statement)?;
                let named = (receipt.receipt.to_string(), receipt.project.clone());
                self.receipts.insert(receipt.receipt, receipt);
                Ok(named)
            }
            predicate_type::REVIEW_DISPOSITION => {
                let review = ReviewDisposition::from_statement(&statement)?;
                let named = (review.review.to_string(), review.project.clone());
                self.reviews.insert(review.review, review);
                Ok(named)
            }
            predicate_type::APPROVAL_DECISION => {
                let decision = ApprovalDecision::from_statement(&statement)?;
                let named = (decision.decision.to_string(), decision.project.clone());
                self.decisions.entry(decision.approval).or_default().insert(decision.decision, decision);
                Ok(named)
            }
            other => Err(VerifyError::new("predicateType", format!("expected a receipt, review or decision: {other}"))),
        }
    }

    /// How many statements there are.
    pub(crate) fn len(&self) -> usize {
        self.receipts.len() + self.reviews.len() + self.decisions.values().map(BTreeMap::len).sum::<usize>()
    }

    /// Whether `approval` was approved: by as many persons as its policy asks for, all on one intent, none denying.
    /// Answers with one of the decisions.
    pub(crate) fn approved(&self, approval: ApprovalId) -> Result<&ApprovalDecision, VerifyError> {
        let wrong = |reason: &str| VerifyError::new(approval.to_string(), reason);
        let decisions = self.decisions.get(&approval).ok_or_else(|| wrong("no decision on it is here"))?;
        let first = decisions.values().next().ok_or_else(|| wrong("no decision on it is here"))?;
        if decisions.values().any(|decision| decision.outcome != Outcome::Approve) {
            return Err(wrong("a decision denies it"));
        }
        // Versions differ: every decision of a quorum is a version of its own.
        let same = |d: &ApprovalDecision| (d.intent_digest, d.quorum) == (first.intent_digest, first.quorum);
        if !decisions.values().all(same) {
            return Err(wrong("the decisions are on different intents or quorums"));
        }
        let persons: BTreeSet<_> = decisions.values().map(|decision| decision.principal).collect();
        if persons.len() < usize::try_from(first.quorum.max(1)).unwrap_or(usize::MAX) {
            return Err(wrong("fewer persons approved it than its policy asks for"));
        }
        Ok(first)
    }

    /// Whether the approval behind a revision was given, if its cause names one, and for what the revision says.
    pub(crate) fn caused(&self, cause: &RevisionCause, entries: &[CatalogEntry]) -> Result<(), VerifyError> {
        match cause {
            RevisionCause::Consumed { approval } => self.approved_as(*approval, ApprovalKind::Baseline).map(drop),
            RevisionCause::Retired { entry, reason, approval: Some(approval), .. } => self.check_ended(
                *approval,
                ApprovalKind::Retire,
                reason,
                entries.iter().find(|found| found.id == *entry),
            ),
            RevisionCause::Invalidated { entry, reason, approval: Some(approval), .. } => {
                let entry = entries.iter().find(|found| found.id == *entry);
                self.check_ended(*approval, ApprovalKind::Invalidate, reason, entry)
            }
            RevisionCause::Retired { .. } | RevisionCause::Invalidated { .. } | RevisionCause::Forked { .. } => Ok(()),
        }
    }

    fn approved_as(&self, approval: ApprovalId, kind: ApprovalKind) -> Result<&ApprovalDecision, VerifyError> {
        let decision = self.approved(approval)?;
        if decision.intent.kind == kind {
            return Ok(decision);
        }
        Err(VerifyError::new(approval.to_string(), format!("it was approved to {}", decision.intent.kind)))
    }

    /// Whether the end of an entry was approved with this reason. An entry that another has replaced since is no longer
    /// in the tree.
    fn check_ended(
        &self,
        approval: ApprovalId,
        kind: ApprovalKind,
        reason: &Reason,
        entry: Option<&CatalogEntry>,
    ) -> Result<(), VerifyError> {
        let decision = self.approved_as(approval, kind)?;
        let wrong = || {
            VerifyError::new(
                approval.to_string(),
                "what was approved is the end of another entry, or for another reason",
            )
        };
        if decision.intent.reason.as_ref() != Some(reason) {
            return Err(wrong());
        }
        let Some(entry) = entry else { return Ok(()) };
        let active = CatalogEntry { state: EntryState::Active, ..entry.clone() }.digest();
        let active = active.map_err(|error| VerifyError::from_error(&entry.key.path(), &error))?;
        let named = decision.intent.items.iter().any(|item| item.current_entry == Some(active));
        if named { Ok(()) } else { Err(wrong()) }
    }

    /// Whether receipt, review and decisions support `entry`. For one that came along with a fork, what was approved for
    /// another line counts.
    pub(crate) fn supports(&self, entry: &CatalogEntry, came_along: bool) -> Result<(), VerifyError> {
        self.check_receipt(entry)?;
        self.check_review(entry)?;
        let decision = self.approved_as(entry.approval, ApprovalKind::Baseline)?;
        let is_this = |item: &ApprovalItem| {
            same_key(&item.key, &entry.key, came_along)
                && item.capture_digest == entry.capture_digest
                && item.review == entry.review
        };
        if !decision.intent.items.iter().any(is_this) {
            return Err(VerifyError::new(entry.approval.to_string(), "what was approved does not hold this entry"));
        }
        Ok(())
    }

    fn check_receipt(&self, entry: &CatalogEntry) -> Result<(), VerifyError> {
        let wrong = |reason: &str| Err(VerifyError::new(entry.receipt.to_string(), reason));
        let Some(receipt) = self.receipts.get(&entry.receipt) else { return wrong("the signed receipt is missing") };
        let content = receipt.content().map(|(kind, artifact)| (kind, artifact.sha256));
        if content != Some((entry.key.kind, entry.capture_digest)) {
            return wrong("the receipt is for another capture");
        }
        if !receipt.not_evidence.is_empty() {
            return wrong("the receipt says that its capture is not evidence");
        }
        let digests = (receipt.pixel_digest, receipt.render_digest, receipt.rules_digest);
        if digests != (entry.pixel_digest, entry.render_digest, entry.rules_digest) {
            return wrong("the receipt has other pixel, render or rules digests");
        }
        let place =
            (&receipt.pins.scenario_slug, &receipt.pins.environment_slug, &receipt.checkpoint, &receipt.profile);
        let BaselineKey { scenario, environment, checkpoint, profile, .. } = &entry.key;
        if place != (scenario, environment, checkpoint, profile) {
            return wrong("the receipt is for another scenario, environment, checkpoint or profile");
        }
        Ok(())
    }

    fn check_review(&self, entry: &CatalogEntry) -> Result<(), VerifyError> {
        let Some(id) = entry.review else {
            return if entry.key.kind == BaselineKind::Visual {
                Err(VerifyError::new("review", "a picture without a review"))
            } else {
                Ok(())
            };
        };
        let wrong = |reason: &str| Err(VerifyError::new(id.to_string(), reason));
        let Some(review) = self.reviews.get(&id) else { return wrong("the signed review is missing") };
        if review.disposition != Disposition::Accept {
            return wrong("the review does not accept");
        }
        let seen = (review.receipt, review.capture_digest, review.render_digest, review.rules_digest);
        if seen != (entry.receipt, entry.capture_digest, entry.render_digest, entry.rules_digest) {
            return wrong("the review is of another capture");
        }
        Ok(())
    }
}

fn same_key(approved: &BaselineKey, published: &BaselineKey, came_along: bool) -> bool {
    if came_along {
        BaselineKey { line: published.line.clone(), ..approved.clone() } == *published
    } else {
        approved == published
    }
}
