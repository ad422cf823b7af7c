//! The baseline policy that an approval is under: quorum, two persons, lifetime. Until projects store policies of their
//! own, every one has the defaults, which are revision 0.

use std::time::Duration;

use pinhole_core::{Error, ProjectId, Result, Role};

use crate::unit::Unit;

/// The defaults' revision number.
const DEFAULTS: u32 = 0;
/// How many approvers make a project one in which "two persons" can be asked for.
const TWO: u32 = 2;

/// A revision of a project's baseline policy.
pub(super) struct Policy {
    /// Its number; an approval keeps the one that it was requested under.
    pub(super) revision: u32,
    /// How many persons have to approve.
    pub(super) quorum: u32,
    /// How long an approval may be decided and consumed.
    pub(super) lifetime: Duration,
}

impl Policy {
    /// The policy that new requests are under.
    pub(super) const fn present() -> Self {
        Self { revision: DEFAULTS, quorum: 1, lifetime: Duration::from_secs(7 * 24 * 3600) }
    }

    /// The policy of an earlier request.
    pub(super) fn at(revision: u32) -> Result<Self> {
        match revision {
            DEFAULTS => Ok(Self::present()),
            other => Err(Error::internal(format!("there is no baseline policy revision {other}"))),
        }
    }

    /// Whether decider, requester and authors must be different persons: `auto`, that is as soon as the project has two
    /// approvers.
    pub(super) async fn two_persons(&self, unit: &mut Unit, project: ProjectId) -> Result<bool> {
        Ok(unit.count_users_with_role(project, Role::Approver).await? >= TWO)
    }
}
