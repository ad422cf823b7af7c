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
fn missing_from(files: &Files, decision: &ApprovalDecision, bytes: &[u8]) -> Result<Option<String>, VerifyError> {
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
    let revisions =
        read_revisions(files)?.into_iter().filter(|signed| caused(&signed.revision.cause) == Some(approval));
    let revisions: Vec<u32> = revisions.map(|signed| signed.revision.number).collect();
    if entries.is_empty() && revisions.is_empty() {
        return Err(VerifyError::new(approval.to_string(), "nothing in this catalog rests on this approval"));
    }
    Ok(Behind { entries, revisions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        KeyStatus, KeyUse,
        fixture::{Files, envelope, files, id, key, parts, trust_with_log},
    };

    fn keys() -> TrustedKeys {
        trust_with_log(&key(7), KeyUse::Statement, KeyStatus::Active)
    }

    /// The decisions on the approval of an entry, by their names in the tree.
    fn decisions(number: u64, change: impl Fn(&mut ApprovalDecision)) -> Files {
        let mut decisions = parts(number, ["", "cart", "pay", "done"][number as usize], number).decisions;
        decisions.iter_mut().for_each(change);
        decisions.iter().map(|made| (made.decision.to_string(), envelope(made, &key(7)))).collect()
    }

    fn wrong(decisions: &Files, catalog: Option<&Files>) -> String {
        verify_approval(decisions, &keys(), catalog).unwrap_err().to_string()
    }

    #[test]
    fn an_approval_is_what_all_persons_of_its_quorum_decided() {
        let both = decisions(1, |_| {});
        let verified = verify_approval(&both, &keys(), None).unwrap();
        assert_eq!((verified.approval, verified.decisions.len()), (id("apr", 1), 2));
        assert_eq!(verified.behind, None);
        let mut one = both.clone();
        one.pop_first();
        assert!(wrong(&one, None).contains("fewer persons"));
        assert!(wrong(&decisions(1, |made| made.outcome = pinhole_core::Outcome::Deny), None).contains("denies"));
        assert!(wrong(&decisions(1, |made| made.principal = id("prn", 1)), None).contains("fewer persons"));
        let mut mixed = decisions(2, |_| {});
        mixed.pop_first();
        mixed.extend(one);
        assert!(wrong(&mixed, None).contains("another one is on"));
        assert!(wrong(&Files::new(), None).contains("at least one"));
        let twice = Files::from([("a".into(), both.values().next().unwrap().clone())]);
        let twice = twice.into_iter().chain(both.clone()).collect();
        assert!(wrong(&twice, None).contains("twice"));
    }

    #[test]
    fn a_catalog_tells_what_rests_on_an_approval_and_completes_its_quorum() {
        let catalog = files();
        let mut one = decisions(3, |_| {});
        one.pop_first();
        let behind = verify_approval(&one, &keys(), Some(&catalog)).unwrap().behind.unwrap();
        assert_eq!(behind.revisions, [2]);
        assert_eq!(behind.entries.len(), 1);
        assert_eq!(behind.entries[0].key.checkpoint.as_str(), "done");
        let other = decisions(3, |made| made.reason = "for another release".parse().unwrap());
        assert!(wrong(&other, Some(&catalog)).contains("does not have this decision"));
    }

    #[test]
    fn what_is_no_decision_and_who_is_not_trusted_is_refused() {
        let receipt = envelope(&parts(1, "cart", 1).receipt, &key(7));
        assert!(wrong(&Files::from([("x".into(), receipt)]), None).starts_with("x: predicateType: "));
        let stranger = trust_with_log(&key(8), KeyUse::Statement, KeyStatus::Active);
        let error = verify_approval(&decisions(1, |_| {}), &stranger, None).unwrap_err().to_string();
        assert!(error.contains(&key(7).public_key().key_id) && error.contains("does not have"), "{error}");
    }
}
