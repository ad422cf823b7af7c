//! The baseline path: a registered capture becomes a candidate, is reviewed, requested, decided and consumed into a
//! catalog revision. Nothing here publishes.
//!
//! Every step is bound to exact digests, and each looks again at what the steps before it rested on. Only
//! [`Unit::human_authority`](crate::Unit) lets anybody review or decide, whatever the grants.

mod approval;
mod candidate;
mod catalog;
mod consume;
mod decide;
mod entry;
mod fork;
mod intent;
mod lifecycle;
mod line;
mod policy;
mod promote;
mod proposal;
mod rebaseline;
mod request;
mod review;
mod revision;
mod ticket;

use pinhole_core::{Error, ProjectId, Result, Role};
use pinhole_store::Candidate;

pub(crate) use self::{
    approval::{Requested, authorised as authorised_approval, get as get_approval, list as list_approvals},
    candidate::{capture_structured, capture_visual, check_line},
    catalog::{catalog_input, get_revision, list_revisions},
    consume::consume,
    decide::decide,
    entry::{get as get_entry, list as list_entries},
    fork::fork,
    lifecycle::{invalidate, retire},
    line::{get as get_line, list as list_lines},
    policy::{get as get_policy, update as update_policy},
    promote::promote,
    proposal::end_captures,
    rebaseline::rebaseline,
    request::request,
    review::{review_view, review_visual},
    ticket::create_ticket,
};
pub use ticket::NewTicket;

use crate::unit::Unit;

/// Refuses the candidates of other authors to everybody but an owner.
async fn authorise_authorship(unit: &mut Unit, project: ProjectId, candidates: &[Candidate]) -> Result<()> {
    let actor = unit.actor().principal;
    if candidates.iter().all(|candidate| candidate.author == actor) {
        return Ok(());
    }
    let grants = unit.own_grants(project).await?;
    let owns = |candidate: &Candidate| {
        grants.iter().any(|grant| {
            grant.role == Role::Owner && grant.environment_id.is_none_or(|id| id == candidate.environment_id)
        })
    };
    if candidates.iter().all(|candidate| candidate.author == actor || owns(candidate)) {
        return Ok(());
    }
    Err(Error::permission_denied("owner")
        .with_message("not allowed: only an owner may go on with the candidates of another author"))
}
