//! Whether an attempt may still go where it was asked to go. An administrator may have closed the remote meanwhile, or moved
//! it: what the caller has seen of the branch was seen at the old place.

use pinhole_core::{Error, Result};
use pinhole_store::{Publication, PublicationAttempt};

use super::publish::check_branch;
use crate::unit::Unit;

/// Why the attempt goes nowhere any more; a further one can be asked for when the remote is right.
pub(super) async fn barred(
    unit: &mut Unit,
    publication: &Publication,
    attempt: &PublicationAttempt,
) -> Result<Option<String>> {
    let remote = unit.remote(publication.remote_id).await?;
    let remote = remote.ok_or_else(|| Error::internal("a publication without its remote"))?;
    if let Err(refusal) = check_branch(&remote, &publication.branch) {
        return Ok(Some(refusal.message().to_owned()));
    }
    let has_moved = attempt.remote_url.as_ref().is_some_and(|asked| *asked != remote.url);
    Ok(has_moved.then(|| {
        format!("the remote {} was moved after this was asked for: look at its branch and name the head", remote.slug)
    }))
}
