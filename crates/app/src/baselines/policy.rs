//! The baseline policy that an approval is under: quorum, two persons, lifetime. A project that never set one has the
//! defaults, which are revision 0. An approval keeps the revision that it was requested under.

use std::time::Duration;

use pinhole_contract::{BaselinePolicyView, GetBaselinePolicy, UpdateBaselinePolicy};
use pinhole_core::{Actor, Error, Gate, Permission, ProjectId, Result, Role, TwoPersons};
use pinhole_store::{BaselinePolicy, Project};
use serde_json::json;

use crate::{App, idempotency::expect_version, unit::Unit};

/// The defaults' revision number.
const DEFAULTS: u32 = 0;
/// Seconds in which an approval may be decided and consumed when nothing else was set: seven days.
const DEFAULT_LIFETIME_S: u32 = 7 * 24 * 3600;
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
    /// Whether an owner without human authority may ask for approval to retire or invalidate.
    pub(super) gate: bool,
    two_persons: TwoPersons,
}

impl Policy {
    /// The policy that new requests are under.
    pub(super) async fn present(unit: &mut Unit, project: ProjectId) -> Result<Self> {
        Ok(Self::of(unit.baseline_policy(project, None).await?))
    }

    /// The policy of an earlier request.
    pub(super) async fn at(unit: &mut Unit, project: ProjectId, revision: u32) -> Result<Self> {
        if revision == DEFAULTS {
            return Ok(Self::of(None));
        }
        match unit.baseline_policy(project, Some(revision)).await? {
            Some(stored) => Ok(Self::of(Some(stored))),
            None => Err(Error::internal(format!("there is no baseline policy revision {revision}"))),
        }
    }

    fn of(stored: Option<BaselinePolicy>) -> Self {
        let lifetime = |seconds: u32| Duration::from_secs(seconds.into());
        match stored {
            None => Self {
                revision: DEFAULTS,
                quorum: 1,
                lifetime: lifetime(DEFAULT_LIFETIME_S),
                gate: true,
                two_persons: TwoPersons::Auto,
            },
            Some(stored) => Self {
                revision: stored.revision,
                quorum: stored.quorum,
                lifetime: lifetime(stored.lifetime_s),
                gate: stored.gate == Gate::On,
                two_persons: stored.two_persons,
            },
        }
    }

    /// Whether decider, requester and authors must be different persons.
    pub(super) async fn two_persons(&self, unit: &mut Unit, project: ProjectId) -> Result<bool> {
        match self.two_persons {
            TwoPersons::On => Ok(true),
            TwoPersons::Off => Ok(false),
            TwoPersons::Auto => Ok(unit.count_users_with_role(project, Role::Approver).await? >= TWO),
        }
    }
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetBaselinePolicy) -> Result<BaselinePolicyView> {
    let command = &command;
    app.read(actor, "get_baseline_policy", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let stored = unit.baseline_policy(project.id, command.revision).await?;
            // Only the defaults have no row, and they are the present policy only as long as there is no other.
            match (stored, command.revision) {
                (Some(stored), _) => Ok(view(&project, stored)),
                (None, None | Some(DEFAULTS)) => Ok(defaults(&project)),
                (None, Some(_)) => Err(Error::not_found()),
            }
        })
    })
    .await
}

pub(crate) async fn update(app: &App, actor: &Actor, command: UpdateBaselinePolicy) -> Result<BaselinePolicyView> {
    let command = &command;
    app.write(actor, "update_baseline_policy", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::PolicyWrite).await?;
            unit.fresh_session().await?;
            let present = match unit.baseline_policy(project.id, None).await? {
                Some(stored) => view(&project, stored),
                None => defaults(&project),
            };
            expect_version(command.expected_version, present.revision)?;
            let next = BaselinePolicy {
                project_id: project.id,
                revision: present.revision + 1,
                quorum: command.quorum.unwrap_or(present.quorum),
                two_persons: command.two_persons.unwrap_or(present.two_persons),
                gate: command.gate.unwrap_or(present.gate),
                lifetime_s: command.approval_lifetime_s.unwrap_or(present.approval_lifetime_s),
                changed_by: unit.actor().principal,
                changed_at: unit.now(),
            };
            unit.insert_baseline_policy(&next).await?;
            let detail = json!({
                "revision": next.revision,
                "quorum": next.quorum,
                "two_persons": next.two_persons,
                "gate": next.gate,
                "approval_lifetime_s": next.lifetime_s,
            });
            unit.audit_with_event("baseline_policy.changed", project.id, project.id, detail).await?;
            Ok(view(&project, next))
        })
    })
    .await
}

fn defaults(project: &Project) -> BaselinePolicyView {
    BaselinePolicyView {
        project: project.slug.clone(),
        revision: DEFAULTS,
        quorum: 1,
        two_persons: TwoPersons::Auto,
        gate: Gate::On,
        approval_lifetime_s: DEFAULT_LIFETIME_S,
        changed_by: None,
        changed_at: None,
    }
}

fn view(project: &Project, stored: BaselinePolicy) -> BaselinePolicyView {
    BaselinePolicyView {
        project: project.slug.clone(),
        revision: stored.revision,
        quorum: stored.quorum,
        two_persons: stored.two_persons,
        gate: stored.gate,
        approval_lifetime_s: stored.lifetime_s,
        changed_by: Some(stored.changed_by),
        changed_at: Some(stored.changed_at),
    }
}
