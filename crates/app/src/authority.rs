//! Who may do what, decided within the transaction of the operation: live credentials, live grants, human authority.

use std::time::Duration;

use pinhole_core::{
    Actor, Authority, Code, EnvironmentId, Error, Permission, PrincipalClass, PrincipalId, ProjectId, Reason,
    RequestId, Result, SessionId, Sha256Digest, Slug, Timestamp, Via,
};
use pinhole_store::{Environment, Grant, Project, Session, Token, Tx};
use uuid::Uuid;

use crate::{App, unit::Unit};

/// How long after a sign-in a session carries human authority.
pub(crate) const FRESH_SESSION: Duration = Duration::from_secs(15 * 60);

/// How long a session goes on without being used.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

/// Where an object lies: in a project, and perhaps in environments of it, of which all count.
pub(crate) struct Place {
    project: ProjectId,
    environments: Vec<EnvironmentId>,
}

impl Place {
    /// In a project as a whole.
    pub(crate) fn project(project: ProjectId) -> Self {
        Self { project, environments: Vec::new() }
    }

    /// In these environments of a project; in the project as a whole when there are none.
    pub(crate) fn environments(project: ProjectId, environments: impl IntoIterator<Item = EnvironmentId>) -> Self {
        Self { project, environments: environments.into_iter().collect() }
    }

    /// Where nothing lies and nobody has a grant.
    fn nowhere() -> Self {
        Self::project(ProjectId::from_uuid(Uuid::nil()))
    }
}

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
        if !token_is_valid(&token, tx.now()) {
            return Err(Error::unauthenticated());
        }
        self.note_token_use(&token, tx.now());
        let authority = Authority::Token { id: token.id, scope: token.scope, secret };
        actor_of(&mut tx, token.principal_id, authority, request).await
    }

    /// The actor behind the secret of a browser session.
    ///
    /// # Errors
    /// `unauthenticated` for any session that does not go on; the error does not say why.
    pub async fn authenticate_session(&self, secret: &str, request: RequestId) -> Result<Actor> {
        let secret = Sha256Digest::of(secret.as_bytes());
        let mut tx = self.store().begin_read().await?;
        let session = tx.session_by_secret(secret).await?.ok_or_else(Error::unauthenticated)?;
        if !session_goes_on(&session, tx.now()) {
            return Err(Error::unauthenticated());
        }
        self.note_session_use(&session, tx.now());
        let authority = Authority::Session { id: session.id, secret, reauthenticated_at: session.reauthenticated_at };
        actor_of(&mut tx, session.principal_id, authority, request).await
    }
}

async fn actor_of(tx: &mut Tx, principal: PrincipalId, authority: Authority, request: RequestId) -> Result<Actor> {
    let principal = tx.principal(principal).await?.ok_or_else(Error::unauthenticated)?;
    if principal.disabled_at.is_some() {
        return Err(Error::unauthenticated());
    }
    Ok(Actor { principal: principal.id, class: principal.class, authority, request })
}

fn token_is_valid(token: &Token, now: Timestamp) -> bool {
    token.revoked_at.is_none() && token.expires_at > now
}

/// Whether a session goes on: not ended, not too old, not left alone for too long.
fn session_goes_on(session: &Session, now: Timestamp) -> bool {
    session.ended_at.is_none() && session.expires_at > now && now.since(session.last_used_at) <= SESSION_IDLE
}

impl Unit {
    /// The project with this slug, if the actor may see it and has `permission` in it.
    pub(crate) async fn authorised_project(&mut self, slug: &Slug, permission: Permission) -> Result<Project> {
        let project = self.project_by_slug(slug).await?;
        self.authorised(project, |project| Place::project(project.id), permission).await
    }

    /// What was looked up by its id, if the actor may see it where it lies and has `permission` there. Every read by id
    /// goes through here, so that a missing object takes the same queries as a hidden one.
    ///
    /// # Errors
    /// `not_found` for what is missing and what is hidden alike; else as [`Unit::authorise`].
    pub(crate) async fn authorised<T>(
        &mut self,
        found: Option<T>,
        place_of: impl FnOnce(&T) -> Place,
        permission: Permission,
    ) -> Result<T> {
        let place = found.as_ref().map_or_else(Place::nowhere, place_of);
        self.authorise_at(&place, permission).await?;
        found.ok_or_else(Error::not_found)
    }

    /// The project with this slug, if the actor has `permission` in it or administers the installation. To everybody else
    /// a missing project looks like a hidden one. It is no authority to read the project.
    pub(crate) async fn administered_project(&mut self, slug: &Slug, permission: Permission) -> Result<Project> {
        let refused = match self.authorised_project(slug, permission).await {
            Err(error) if matches!(error.code(), Code::NotFound | Code::PermissionDenied) => error,
            outcome => return outcome,
        };
        match self.authorise_admin().await {
            Ok(()) => self.project_by_slug(slug).await?.ok_or_else(Error::not_found),
            Err(error) if error.code() == Code::PermissionDenied => Err(refused),
            Err(error) => Err(error),
        }
    }

    /// The environment with this slug, if the actor may see it and has `permission` in it.
    pub(crate) async fn authorised_environment(
        &mut self,
        project: ProjectId,
        slug: &Slug,
        permission: Permission,
    ) -> Result<Environment> {
        let environment = self.environment_by_slug(project, slug).await?;
        let id = environment.as_ref().map_or_else(|| EnvironmentId::from_uuid(Uuid::nil()), |found| found.id);
        self.authorise(project, Some(id), permission).await?;
        environment.ok_or_else(Error::not_found)
    }

    /// The environment with this id, if the actor may see it and has `permission` in it.
    pub(crate) async fn authorised_environment_by_id(
        &mut self,
        id: EnvironmentId,
        permission: Permission,
    ) -> Result<Environment> {
        let environment = self.environment(id).await?;
        self.authorised(environment, |found| Place::environments(found.project_id, [found.id]), permission).await
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
        self.authorise_at(&Place::environments(project, environment), permission).await
    }

    /// As [`Unit::authorise`], for all environments of a place at once and with the same queries for any number of them:
    /// one that is hidden hides the object, before any `permission_denied`.
    pub(crate) async fn authorise_at(&mut self, place: &Place, permission: Permission) -> Result<()> {
        if matches!(self.actor().authority, Authority::System) {
            return Ok(());
        }
        self.check_credential().await?;
        let grants = self.own_grants(place.project).await?;
        let shows = |wanted: Option<EnvironmentId>| {
            grants
                .iter()
                .any(|grant| grant.environment_id.is_none() || wanted.is_none() || grant.environment_id == wanted)
        };
        // A grant in one environment shows the project, but allows nothing on it.
        let covers = |grant: &&Grant, wanted| grant.environment_id.is_none() || grant.environment_id == wanted;
        let allows = |wanted: Option<EnvironmentId>| {
            grants.iter().filter(|grant| covers(grant, wanted)).any(|grant| grant.role.allows(permission))
        };
        let of_place = |rule: &dyn Fn(Option<EnvironmentId>) -> bool| match &place.environments[..] {
            [] => rule(None),
            environments => environments.iter().all(|environment| rule(Some(*environment))),
        };
        if !of_place(&shows) {
            return Err(Error::not_found());
        }
        let granted = permission == Permission::Read || of_place(&allows);
        if granted && self.actor().scope_allows(permission) {
            return Ok(());
        }
        Err(Error::permission_denied(permission.as_str()))
    }

    /// The environments of a project in which the actor has `permission`; `None` for the whole project.
    ///
    /// # Errors
    /// As [`Unit::authorise`]; `permission_denied` when there is no such environment.
    pub(crate) async fn environments_with(
        &mut self,
        project: ProjectId,
        permission: Permission,
    ) -> Result<Option<Vec<EnvironmentId>>> {
        self.authorise(project, None, Permission::Read).await?;
        if matches!(self.actor().authority, Authority::System) {
            return Ok(None);
        }
        let mut grants = self.own_grants(project).await?;
        grants.retain(|grant| grant.role.allows(permission));
        if grants.is_empty() || !self.actor().scope_allows(permission) {
            return Err(Error::permission_denied(permission.as_str()));
        }
        Ok(grants.iter().map(|grant| grant.environment_id).collect())
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

    /// A credential that ended since the call was authenticated opens nothing. Whoever is disabled has lost all of
    /// theirs.
    pub(crate) async fn check_credential(&mut self) -> Result<()> {
        if self.authority_read().credential_valid {
            return Ok(());
        }
        let now = self.now();
        let valid = match self.actor().authority {
            Authority::System => true,
            Authority::Automation => {
                let principal = self.actor().principal;
                self.principal(principal).await?.is_some_and(|principal| principal.disabled_at.is_none())
            }
            Authority::Token { secret, .. } => {
                self.token_by_secret(secret).await?.is_some_and(|token| token_is_valid(&token, now))
            }
            Authority::Session { secret, .. } => {
                self.session_by_secret(secret).await?.is_some_and(|session| session_goes_on(&session, now))
            }
        };
        self.authority_read().credential_valid = valid;
        if valid { Ok(()) } else { Err(Error::unauthenticated()) }
    }

    /// The actor's grants in a project.
    pub(crate) async fn own_grants(&mut self, project: ProjectId) -> Result<Vec<Grant>> {
        if let Some((of, grants)) = &self.authority_read().grants
            && *of == project
        {
            return Ok(grants.clone());
        }
        let principal = self.actor().principal;
        let grants = self.grants_in(principal, project).await?;
        self.authority_read().grants = Some((project, grants.clone()));
        Ok(grants)
    }

    /// Lets a user in a browser session through: what a token may never do, whatever its scope.
    ///
    /// # Errors
    /// `unauthenticated` when the session ended meanwhile, `permission_denied` with reason `session` for others.
    pub(crate) async fn authorise_session(&mut self) -> Result<SessionId> {
        self.check_credential().await?;
        match self.actor().authority {
            Authority::Session { id, .. } => Ok(id),
            _ => Err(Error::permission_denied("session")
                .with_message("not allowed: this needs a browser session; sign in instead of sending a token")),
        }
    }

    /// Lets a user in a session through that was re-authenticated a short while ago: human authority over something
    /// that no decision ticket is made for.
    ///
    /// # Errors
    /// As [`Unit::authorise_session`]; `permission_denied` with reason `human_authority` when it is too long ago.
    pub(crate) async fn fresh_session(&mut self) -> Result<()> {
        self.check_credential().await?;
        if self.has_fresh_session() { Ok(()) } else { Err(human_authority_needed()) }
    }

    /// Whether a user acts in a session that was re-authenticated a short while ago.
    pub(crate) fn has_fresh_session(&self) -> bool {
        self.human_authority_until().is_some_and(|until| self.now() <= until)
    }

    /// Until when the actor's session carries human authority, if it is one that can.
    pub(crate) fn human_authority_until(&self) -> Option<Timestamp> {
        let Authority::Session { reauthenticated_at, .. } = self.actor().authority else { return None };
        (self.actor().class == PrincipalClass::User).then(|| reauthenticated_at.plus(FRESH_SESSION))
    }

    /// Human authority: a user's fresh session, or a decision ticket for exactly this, which is used up by it.
    ///
    /// # Errors
    /// `permission_denied` with reason `human_authority` when there is neither, `decision_ticket` when the ticket is
    /// another's, for something else, used or expired. It does not say which.
    pub(crate) async fn human_authority(&mut self, claim: &DecisionClaim<'_>) -> Result<Via> {
        if self.has_fresh_session() {
            return Ok(Via::Session);
        }
        if self.actor().class != PrincipalClass::User || !matches!(self.actor().authority, Authority::Token { .. }) {
            return Err(human_authority_needed());
        }
        let secret = claim.ticket.ok_or_else(human_authority_needed)?;
        let refused = || {
            Error::permission_denied("decision_ticket").with_message(
                "not allowed: the ticket is used, expired, or for another person, object, version, outcome or reason; \
                 have another made",
            )
        };
        let ticket = self.ticket_by_secret(Sha256Digest::of(secret.as_bytes())).await?.ok_or_else(refused)?;
        let taken = match ticket.via {
            Via::Ticket => self.app().settings().session_tickets,
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

fn human_authority_needed() -> Error {
    Error::permission_denied("human_authority").with_message(
        "not allowed: a person has to decide this, in a session re-authenticated within 15 minutes or with a decision \
         ticket and their own token",
    )
}
