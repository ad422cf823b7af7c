//! Verification of an approval from the statements of its decisions, and of what rests on it in a published catalog.

use std::collections::BTreeMap;

use pinhole_core::{ApprovalId, DecisionId};

use crate::{
    ApprovalDecision, CatalogEntry, Predicate as _, RevisionCause, TrustedKeys, VerifyError,
    catalog::envelope_path,
    evidence::Evidence,
    verify::{read_entries, read_revisions, verified_statement},
};

type Files = BTreeMap<String, Vec<u8>>;

/// An approval that was given.
#[derive(Clone, Debug)]
pub struct VerifiedApproval {
    /// The approval.
    pub approval: ApprovalId,
    /// The decisions on it, each by a person of their own, all of them for it, on one intent.
    pub decisions: Vec<ApprovalDecision>,
    /// What rests on it, when a catalog was at hand.
    pub behind: Option<Behind>,
}

/// What rests on an approval in a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The entries that it was given for, whatever their state.
    pub entries: Vec<CatalogEntry>,
    /// The revisions that it caused.
    pub revisions: Vec<u32>,
}

/// Verifies that an approval was given: by as many persons as its policy asks for, on one intent, with none denying.
/// `decisions` are the envelopes of decisions on it, by the names of their files.
///
/// With `catalog`, a tree that was verified before, every one of these decisions must be in it byte for byte, those of its
/// decisions that are not at hand are taken from there, and something in it must rest on the approval.
pub fn verify_approval(
    decisions: &Files,
    keys: &TrustedKeys,
    catalog: Option<&Files>,
) -> Result<VerifiedApproval, VerifyError> {
    let mut found: BTreeMap<DecisionId, ApprovalDecision> = BTreeMap::new();
    for (name, bytes) in decisions {
        let decision = read(bytes, keys).map_err(|error| error.within(name))?;
        if let Some(path) = catalog.map(|files| missing_from(files, &decision, bytes)).transpose()?.flatten() {
            return Err(VerifyError::new(name, format!("the catalog does not have this decision at {path}")));
        }
        if let Some(other) = found.values().find(|other| other.approval != decision.approval) {
            let reason = format!("it is on {}, and another one is on {}", decision.approval, other.approval);
            return Err(VerifyError::new(name, reason));
        }
        if found.insert(decision.decision, decision).is_some() {
            return Err(VerifyError::new(name, "the same decision is given twice"));
        }
    }
    let approval = found.values().next().map(|decision| decision.approval);
    let approval = approval.ok_or_else(|| VerifyError::new("", "expected at least one decision"))?;
    if let Some(files) = catalog {
        found.extend(decisions_in(files, approval, keys)?);
    }
    Evidence::of_decisions(found.values().cloned()).approved(approval)?;
    let behind = catalog.map(|files| behind(files, approval)).transpose()?;
    Ok(VerifiedApproval { approval, decisions: found.into_values().collect(), behind })
}

fn read(bytes: &[u8], keys: &TrustedKeys) -> Result<ApprovalDecision, VerifyError> {
    ApprovalDecision::from_statement(&verified_statement(bytes, keys)?)
}

/// Where a decision should be in a catalog, when it is not there.
fn missing_from(
    files: &Files,
    decision: &ApprovalDecision,
    bytes: &[u8],
) -> Result<Option<String>, VerifyError> {
    let path = envelope_path(&decision.decision.to_string())
        .ok_or_else(|| VerifyError::new("decision", "this is no id of a decision"))?;
    Ok((files.get(&path).map(Vec::as_slice) != Some(bytes)).then_some(path))
}

/// Every decision on `approval` that a catalog has.
fn decisions_in(
    files: &Files,
    approval: ApprovalId,
    keys: &TrustedKeys,
) -> Result<BTreeMap<DecisionId, ApprovalDecision>, VerifyError> {
    let is_decision = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("dec_"));
    let mut found = BTreeMap::new();
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with("receipts/") && is_decision(path)) {
        let decision = read(bytes, keys).map_err(|error| error.within(path))?;
        if decision.approval == approval {
            found.insert(decision.decision, decision);
        }
    }
    Ok(found)
}

fn behind(files: &Files, approval: ApprovalId) -> Result<Behind, VerifyError> {
    let mut entries = read_entries(files)?;
    entries.retain(|entry| entry.approval == approval);
    let caused = |cause: &RevisionCause| match cause {
        RevisionCause::Consumed { approval } => Some(*approval),
        RevisionCause::Retired { approval, .. } | RevisionCause::Invalidated { approval, .. } => *approval,
        RevisionCause::Forked { .. } => None,
    };
    let revisions = read_revisions(files)?.into_iter().filter(|signed| caused(&signed.revision.cause) == Some(approval));
    let revisions: Vec<u32> = revisions.map(|signed| signed.revision.number).collect();
    if entries.is_empty() && revisions.is_empty() {
        return Err(VerifyError::new(approval.to_string(), "nothing in this catalog rests on this approval"));
    }
    Ok(Behind { entries, revisions })
}
