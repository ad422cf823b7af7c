//! Publications: asking for one, reading it, and what the worker that drives Git may do with it.
//!
//! Every write of the worker carries the claim token and counts only while the lease lasts. Git is never run from
//! here; the receipt is signed here, after the read-back, because the worker's Git process has no statement key.

mod claim;
mod confirm;
mod earlier;
mod end;
mod head;
mod log;
mod observe;
mod place;
mod publish;
mod steps;
mod sweep;
mod view;

use std::time::Duration;

use pinhole_core::PublicationState;

pub use claim::{PublicationLease, PublicationWork};
pub(crate) use publish::{check_branch, publish};
pub use steps::Unpublished;
pub(crate) use view::{get, list};

/// How often one attempt is taken by a worker at most; with the back-off these are about seven minutes.
pub(crate) const MAX_TRIES: u32 = 12;
/// When the sweeper queues the job of a publication again if no worker has taken it.
pub(crate) const REQUEUE: Duration = Duration::from_secs(10);

/// Whether only a further attempt would change anything.
pub(crate) const fn is_over(state: PublicationState) -> bool {
    use PublicationState as S;
    match state {
        S::Queued | S::Committing | S::Pushing | S::Verifying => false,
        S::Published | S::Conflict | S::Rejected | S::Failed => true,
    }
}
