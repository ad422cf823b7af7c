//! Who may do what, decided within the transaction of the operation: live credentials, live grants, human authority.

use std::time::Duration;

use pinhole_core::{
    Actor, Authority, EnvironmentId, Error, Permission, PrincipalClass, ProjectId, Reason, RequestId, Result,
    Sha256Digest, Slug, Via,
};
use pinhole_store::{Environment, Grant, Project};

use crate::{App, unit::Unit};

/// How long after a sign-in a session carries human authority.
const FRESH_SESSION: Duration = Duration::from_secs(15 * 60);

/// What a human decision is about; a ticket must name exactly this.
pub(crate) struct DecisionClaim<'a> {
    pub(crate) ticket: Option<&'a str>,
    pub(crate) object: String,
    pub(crate) version: u32,
    pub(crate) intent: Sha256Digest,
    pub(crate) outcome: &'a str,
    pub(crate) reason: &'a Reason,
}

impl App {
    /// The actor behind a bearer token.
    ///
    /// # Errors
    /// `unauthenticated` for any token that is not valid now; the error does not say why.
    pub async fn authenticate(&self, bearer: &str, request: RequestId) -> Result<Actor> {
        let secret = Sha256Digest::of(bearer.as_bytes());
        let mut tx = self.store().begin_read().await?;
        let token = tx.token_by_secret(secret).await?.ok_or_else(Error::unauthenticated)?;
        if token.revoked_at.is_some() || token.expires_at <= tx.now() {
            return Err(Error::unauthenticated());
        }
        let principal = tx.principal(token.principal_id).await?.ok_or_else(Error::unauthenticated)?;
        Ok(Actor {
            principal: principal.id,
            class: principal.class,
            authority: Authority::Token { id: token.id, scope: token.scope, secret },
            request,
        })
    }
}

impl Unit {
    /// The project with this slug, if the actor may see it and has `permission` in it.
    pub(crate) async fn authorised_project(&mut self, slug: &Slug, permission: Permission) -> Result<Project> {
        let project = self.project_by_slug(slug).await?;
        // The same queries for a missing project as for a hidden one.
        let id = project.as_ref().map_or_else(|| ProjectId::from_uuid(uuid::Uuid::nil()), |project| project.id);
        self.authorise(id, None, permission).await?;
        project.ok_or_else(Error::not_found)
    }

    /// The environment with this slug, if the actor may see it and has `permission` in it.
    pub(crate) async fn authorised_environment(
        &mut self,
        project: ProjectId,
        slug: &Slug,
        permission: Permission,
    ) -> Result<Environment> {
        let environment = self.environment_by_slug(project, slug).await?;
        let id = environment.as_ref().map_or_else(|| EnvironmentId::from_uuid(uuid::Uuid::nil()), |found| found.id);
        self.authorise(project, Some(id), permission).await?;
        environment.ok_or_else(Error::not_found)
    }

    /// Lets the actor through when its credential is still valid and a grant covers `permission` on the object: a
    /// project, or one environment of it.
    ///
    /// # Errors
    /// `unauthenticated` when the credential ended meanwhile, `not_found` when no grant lets the actor see the object,
    /// `permission_denied` when it sees it and may not.
    pub(crate) async fn authorise(
        &mut self,
        project: ProjectId,
        environment: Option<EnvironmentId>,
        permission: Permission,
    ) -> Result<()> {
        if matches!(self.actor().authority, Authority::System) {
            return Ok(());
        }
        self.check_credential().await?;
        let principal = self.actor().principal;
        let grants = self.grants_in(principal, project).await?;
        let visible = |grant: &&Grant| match (grant.environment_id, environment) {
            (None, _) | (Some(_), None) => true,
            (Some(granted), Some(wanted)) => granted == wanted,
        };
        // A grant in one environment shows the project, but allows nothing on it.
        let covers = |grant: &&Grant| grant.environment_id.is_none() || grant.environment_id == environment;
        if !grants.iter().any(|grant| visible(&grant)) {
            return Err(Error::not_found());
        }
        let readable = permission == Permission::Read;
        let granted = readable || grants.iter().filter(covers).any(|grant| grant.role.allows(permission));
        if granted && self.actor().scope_allows(permission) {
            return Ok(());
        }
        Err(Error::permission_denied(permission.as_str()))
    }

    /// Lets an administrator of the installation through.
    pub(crate) async fn authorise_admin(&mut self) -> Result<()> {
        if matches!(self.actor().authority, Authority::System) {
            return Ok(());
        }
        self.check_credential().await?;
        let principal = self.actor().principal;
        let admin = self.principal(principal).await?.is_some_and(|principal| principal.admin_since.is_some());
        if admin && self.actor().scope_allows(Permission::Admin) {
            return Ok(());
        }
        Err(Error::permission_denied(Permission::Admin.as_str()))
    }

    /// A token that was revoked or ran out since the call was authenticated opens nothing.
    async fn check_credential(&mut self) -> Result<()> {
        let Authority::Token { secret, .. } = self.actor().authority else { return Ok(()) };
        let now = self.now();
        let token = self.token_by_secret(secret).await?;
        match token {
            Some(token) if token.revoked_at.is_none() && token.expires_at > now => Ok(()),
            _ => Err(Error::unauthenticated()),
        }
    }

    /// Human authority: a user's fresh session, or a decision ticket for exactly this, which is used up by it.
    ///
    /// # Errors
    /// `permission_denied` with reason `human_authority` when there is neither, `decision_ticket` when the ticket is
    /// another's, for something else, used or expired. It does not say which.
    pub(crate) async fn human_authority(&mut self, claim: &DecisionClaim<'_>) -> Result<Via> {
        let needed = || {
            Error::permission_denied("human_authority")
                .with_message("not allowed: a person has to decide this; send a decision ticket with their own token")
        };
        if self.actor().class != PrincipalClass::User {
            return Err(needed());
        }
        if let Authority::Session { reauthenticated_at } = self.actor().authority {
            let fresh = self.now().since(reauthenticated_at) <= FRESH_SESSION;
            return if fresh { Ok(Via::Session) } else { Err(needed()) };
        }
        let secret = claim.ticket.ok_or_else(needed)?;
        let refused = || {
            Error::permission_denied("decision_ticket").with_message(
                "not allowed: the ticket is used, expired, or for another person, object, version, outcome or reason; \
                 have another made",
            )
        };
        let ticket = self.ticket_by_secret(Sha256Digest::of(secret.as_bytes())).await?.ok_or_else(refused)?;
        let taken = match ticket.via {
            Via::Ticket => true,
            Via::LocalTicket => self.app().settings().local_tickets,
            Via::Session => false,
        };
        let valid = taken
            && ticket.principal_id == self.actor().principal
            && ticket.used_at.is_none()
            && ticket.expires_at > self.now()
            && ticket.object_id == claim.object
            && ticket.object_version == claim.version
            && ticket.intent_sha256 == claim.intent
            && ticket.outcome == claim.outcome
            && ticket.reason == *claim.reason;
        if !valid || !self.use_ticket(ticket.id).await? {
            return Err(refused());
        }
        Ok(ticket.via)
    }
}
