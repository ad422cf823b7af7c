//! Who acts, and what each role allows. The permission table stands here and nowhere else.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Error, GroupId, PrincipalId, RequestId, SessionId, Sha256Digest, Timestamp, TokenId, form::text_enum, text_form,
};

text_enum! {
    /// What kind of principal acts.
    PrincipalClass {
        /// A person.
        User = "user",
        /// CI, an agent or a scheduler.
        Service = "service",
    }
}

text_enum! {
    /// A role within a project or environment. Roles do not include each other; each has `read`.
    Role {
        /// Reads.
        Viewer = "viewer",
        /// Writes scenarios and proposes baselines.
        Author = "author",
        /// Starts and cancels runs, keeps automations.
        Operator = "operator",
        /// Reviews captures.
        Reviewer = "reviewer",
        /// Decides approvals.
        Approver = "approver",
        /// Publishes catalogs.
        Publisher = "publisher",
        /// Administers the project.
        Owner = "owner",
    }
}

text_enum! {
    /// What an operation needs on its object.
    Permission {
        /// See the object.
        Read = "read",
        /// Create scenarios and submit revisions.
        ScenarioWrite = "scenario.write",
        /// Capture, request, consume, rebaseline.
        BaselineWrite = "baseline.write",
        /// Start a run.
        RunStart = "run.start",
        /// Cancel a run.
        RunCancel = "run.cancel",
        /// Answer a human step (human authority).
        HumanStepAnswer = "human_step.answer",
        /// Create, change and delete automations.
        AutomationWrite = "automation.write",
        /// Work on investigations.
        InvestigationWrite = "investigation.write",
        /// Review a capture (human authority).
        ReviewWrite = "review.write",
        /// Decide an approval (human authority).
        ApprovalDecide = "approval.decide",
        /// Publish a catalog.
        CatalogPublish = "catalog.publish",
        /// Create and change environments.
        EnvironmentWrite = "environment.write",
        /// Put and remove secrets of an environment.
        SecretWrite = "secret.write",
        /// Give and take roles.
        GrantWrite = "grant.write",
        /// Change the baseline policy (human authority).
        PolicyWrite = "policy.write",
        /// Retire or invalidate a baseline.
        BaselineRetire = "baseline.retire",
        /// Fork and promote lines.
        LineWrite = "line.write",
        /// Read the audit log of a project.
        AuditRead = "audit.read",
        /// Installation-wide administration; reads no project.
        Admin = "admin",
    }
}

impl Role {
    /// Whether this role allows `permission`.
    pub const fn allows(self, permission: Permission) -> bool {
        use Permission as P;
        match permission {
            P::Read => true,
            P::ScenarioWrite => matches!(self, Self::Author),
            P::BaselineWrite => matches!(self, Self::Author),
            P::RunStart | P::RunCancel | P::HumanStepAnswer | P::AutomationWrite | P::InvestigationWrite => {
                matches!(self, Self::Operator)
            }
            P::ReviewWrite => matches!(self, Self::Reviewer),
            P::ApprovalDecide => matches!(self, Self::Approver),
            P::CatalogPublish => matches!(self, Self::Publisher),
            P::EnvironmentWrite
            | P::SecretWrite
            | P::GrantWrite
            | P::PolicyWrite
            | P::BaselineRetire
            | P::LineWrite
            | P::AuditRead => matches!(self, Self::Owner),
            P::Admin => false,
        }
    }
}

/// Who holds a role: a principal, or a group of them. Written as the id, whose prefix tells which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A user or a service.
    Principal(PrincipalId),
    /// Everybody in a group.
    Group(GroupId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(id) => id.fmt(f),
            Self::Group(id) => id.fmt(f),
        }
    }
}

impl FromStr for Subject {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let principal = || text.parse().map(Self::Principal);
        let wrong = |_| Error::invalid("", "expected the id of a principal or of a group");
        text.parse().map(Self::Group).or_else(|_: Error| principal()).map_err(wrong)
    }
}

text_form!(Subject, { "type": "string", "pattern": "^(prn|grp)_[0-9a-f]{32}$" });

/// What a token may be used for: everything that its principal may, or a list of permissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// No narrowing.
    All,
    /// Only these permissions.
    Only(#[schemars(length(max = 50))] Vec<Permission>),
}

impl Scope {
    /// Whether the scope lets `permission` through. `read` needs no scope of its own.
    pub fn allows(&self, permission: Permission) -> bool {
        match self {
            Self::All => true,
            Self::Only(list) => permission == Permission::Read || list.contains(&permission),
        }
    }
}

text_enum! {
    /// How a person's authority over a decision reached us.
    Via {
        /// A browser session, re-authenticated a short while ago.
        Session = "session",
        /// A decision ticket made in such a session.
        Ticket = "ticket",
        /// A decision ticket made on the server's own machine.
        LocalTicket = "local_ticket",
    }
}

/// By what an actor was authenticated.
#[derive(Clone, Debug)]
pub enum Authority {
    /// A browser session of a user.
    Session {
        /// The session's row.
        id: SessionId,
        /// SHA-256 of its secret, by which each transaction looks whether it still goes on.
        secret: Sha256Digest,
        /// When the user last proved who they are.
        reauthenticated_at: Timestamp,
    },
    /// A bearer token.
    Token {
        /// The token's row.
        id: TokenId,
        /// What it may be used for.
        scope: Scope,
        /// SHA-256 of its secret, by which each transaction looks whether it is still valid.
        secret: Sha256Digest,
    },
    /// A schedule or webhook, for the principal that it runs as: that one's grants hold, and no person is there.
    Automation,
    /// Pinhole itself: the registrar, the sweeper, a worker.
    System,
}

/// Who calls, by what authority, in which request.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The principal.
    pub principal: PrincipalId,
    /// Its class.
    pub class: PrincipalClass,
    /// How it was authenticated.
    pub authority: Authority,
    /// The call.
    pub request: RequestId,
}

impl Actor {
    /// Pinhole itself.
    pub fn system(request: RequestId) -> Self {
        Self {
            principal: PrincipalId::from_uuid(uuid::Uuid::nil()),
            class: PrincipalClass::Service,
            authority: Authority::System,
            request,
        }
    }

    /// Whether the credential itself lets `permission` through; grants come on top.
    pub fn scope_allows(&self, permission: Permission) -> bool {
        match &self.authority {
            Authority::Token { scope, .. } => scope.allows(permission),
            Authority::Session { .. } | Authority::Automation | Authority::System => true,
        }
    }
}
