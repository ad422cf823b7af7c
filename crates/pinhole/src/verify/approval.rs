//! `pinhole verify approval`: that an approval was given, by the statements of its decisions.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use pinhole_core::{Error, Result};
use pinhole_receipt::{Behind, VerifiedApproval, VerifyError, verify_approval};

use super::{
    catalog::{Place, Tip},
    read, trusted,
};

/// Greatest number of files; an approval has as many decisions as its quorum, and none of ours is so large.
const MAX_FILES: usize = 100;

/// Checks an approval; the text says by whom it was given, for what, and what rests on it.
pub(super) fn approval(
    files: &[PathBuf],
    keys: &Path,
    catalog: Option<&Path>,
) -> Result<std::result::Result<String, VerifyError>> {
    let keys = trusted(keys)?;
    if files.len() > MAX_FILES {
        return Err(Error::too_large("files", MAX_FILES as u64));
    }
    let mut decisions = BTreeMap::new();
    for file in files {
        decisions.insert(file.display().to_string(), read(file)?);
    }
    let place = match catalog.map(|directory| Place::read(directory, &Tip::default())).transpose()? {
        Some(Err(wrong)) => return Ok(Err(wrong)),
        Some(Ok(place)) => Some(place),
        None => None,
    };
    let valid = place.as_ref().map_or(Ok(()), |place| place.verify(&keys).map(drop));
    let files = place.as_ref().map(|place| &place.files);
    Ok(valid.and_then(|()| verify_approval(&decisions, &keys, files)).map(|approval| told(&approval)))
}

fn told(verified: &VerifiedApproval) -> String {
    let persons: Vec<_> = verified
        .decisions
        .iter()
        .map(|decision| format!("{} ({}) at {}", decision.publication_name, decision.principal, decision.decided_at))
        .collect();
    let intent = verified.decisions.first().map_or_else(String::new, |first| {
        format!("for {} items ({}) with intent {}", first.intent.items.len(), first.intent.kind, first.intent_digest)
    });
    let behind = match &verified.behind {
        None => "no catalog was looked at".to_owned(),
        Some(Behind { entries, revisions }) => {
            let revisions: Vec<_> = revisions.iter().map(u32::to_string).collect();
            let caused = if revisions.is_empty() { "none".to_owned() } else { revisions.join(", ") };
            let keys: Vec<_> = entries.iter().map(|entry| entry.key.path()).collect();
            let named = if keys.is_empty() { String::new() } else { format!(": {}", keys.join(", ")) };
            format!("revisions of the catalog that it caused: {caused}; entries that rest on it: {}{named}", keys.len())
        }
    };
    format!("approval {} was given {intent}, by {}; {behind}", verified.approval, persons.join(" and "))
}
