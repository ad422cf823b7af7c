//! What an operator does on the server's own machine: principals, tokens, grants. No transport offers these.

use std::{fmt::Display, time::Duration};

use pinhole_contract::TokenView;
use pinhole_core::{Error, Name, PrincipalClass, PrincipalId, Result, Role, Scope, Slug, Subject, Timestamp, TokenId};
use pinhole_store::{Grant, Principal};

use crate::{App, grants, principals, tokens, tokens::Wanted, unit::Unit};

/// The most tokens that are listed.
const MAX_LISTED: u32 = 200;

/// A fresh token. The secret is shown once and stored nowhere.
#[derive(Clone)]
pub struct NewToken {
    /// The bearer secret.
    pub secret: String,
    /// The token's row.
    pub id: TokenId,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Who holds a role, by name.
#[derive(Clone, Copy, Debug)]
pub enum Holder<'a> {
    /// A user or a service.
    Principal(&'a Name),
    /// Everybody in a group.
    Group(&'a Name),
}

impl<'a> From<&'a Name> for Holder<'a> {
    fn from(principal: &'a Name) -> Self {
        Self::Principal(principal)
    }
}

impl App {
    /// Makes a principal, or finds the one with this name and class.
    ///
    /// # Errors
    /// `conflict` when the name belongs to a principal of the other class.
    pub async fn ensure_principal(&self, class: PrincipalClass, name: &Name, admin: bool) -> Result<PrincipalId> {
        let actor = self.system_actor();
        self.write(&actor, "create_principal", move |unit, _| {
            Box::pin(async move {
                if let Some(found) = unit.principal_by_name(name).await? {
                    unit.unaudited();
                    let same = found.class == class && found.admin_since.is_some() == admin;
                    let other =
                        || Error::conflict("exists", "a principal of this name exists: name it with the class, and as an administrator only if it is one");
                    return if same { Ok(found.id) } else { Err(other()) };
                }
                let principal = principals::insert(unit, class, name, admin, None).await?;
                Ok(principal.id)
            })
        })
        .await
    }

    /// Makes a bearer token for the principal of this name.
    ///
    /// # Errors
    /// `not_found` without such a principal.
    pub async fn create_token(&self, name: &Name, scope: &Scope, lifetime: Duration) -> Result<NewToken> {
        let (actor, random) = (self.system_actor(), &self.secret_bytes()?);
        self.write(&actor, "create_token", move |unit, _| {
            Box::pin(async move {
                let principal = principal(unit, name).await?;
                let wanted = Wanted { label: None, scope, lifetime };
                let (token, secret) = tokens::insert(unit, &principal, &wanted, random).await?;
                Ok(NewToken { secret, id: token.id, expires_at: token.expires_at })
            })
        })
        .await
    }

    /// Ends a token now; the next call with it is refused. One that has ended stays as it is.
    ///
    /// # Errors
    /// `not_found` without such a token.
    pub async fn revoke_token(&self, id: TokenId) -> Result<()> {
        let actor = self.system_actor();
        self.write(&actor, "revoke_token", move |unit, _| {
            Box::pin(async move {
                let absent = || Error::not_found().with_message(format!("there is no token {id}"));
                let token = unit.token(id).await?.ok_or_else(absent)?;
                tokens::revoke(unit, token).await.map(drop)
            })
        })
        .await
    }

    /// The tokens of the principal of this name that were not revoked, newest first, at most 200.
    ///
    /// # Errors
    /// `not_found` without such a principal.
    pub async fn tokens_of(&self, name: &Name) -> Result<Vec<TokenView>> {
        let actor = self.system_actor();
        self.read(&actor, "list_tokens", move |unit, _| {
            Box::pin(async move {
                let principal = principal(unit, name).await?;
                let found = unit.tokens_of(principal.id, None, MAX_LISTED).await?;
                Ok(found.into_iter().map(tokens::token_view).collect())
            })
        })
        .await
    }

    /// Gives a role in a project, or in one environment of it.
    ///
    /// # Errors
    /// `not_found` when the holder, project or environment does not exist.
    pub async fn grant(
        &self,
        holder: impl Into<Holder<'_>>,
        project: &Slug,
        environment: Option<&Slug>,
        role: Role,
    ) -> Result<()> {
        let (actor, holder) = (self.system_actor(), &holder.into());
        self.write(&actor, "grant_role", move |unit, _| {
            Box::pin(async move {
                let grant = find_grant(unit, holder, project, environment, role).await?;
                grants::give(unit, &grant).await
            })
        })
        .await
    }

    /// Takes a role away; the next transaction sees it.
    ///
    /// # Errors
    /// `not_found` when there was no such grant, `conflict` when it was that of the project's last owner.
    pub async fn revoke_grant(
        &self,
        holder: impl Into<Holder<'_>>,
        project: &Slug,
        environment: Option<&Slug>,
        role: Role,
    ) -> Result<()> {
        let (actor, holder) = (self.system_actor(), &holder.into());
        self.write(&actor, "revoke_role", move |unit, _| {
            Box::pin(async move {
                let grant = find_grant(unit, holder, project, environment, role).await?;
                if grants::take(unit, &grant).await? { Ok(()) } else { Err(Error::not_found()) }
            })
        })
        .await
    }
}

/// The principal of this name. Who is at the server's own machine may be told that there is none.
pub(crate) async fn principal(unit: &mut Unit, name: &Name) -> Result<Principal> {
    let found = unit.principal_by_name(name).await?;
    let message = || format!("there is no principal {name}: `pinhole token create --name` makes one");
    found.ok_or_else(|| Error::not_found().with_message(message()))
}

async fn find_grant(
    unit: &mut Unit,
    holder: &Holder<'_>,
    project: &Slug,
    environment: Option<&Slug>,
    role: Role,
) -> Result<Grant> {
    let absent = |what: &str, name: &dyn Display| Error::not_found().with_message(format!("there is no {what} {name}"));
    let subject = match holder {
        Holder::Principal(name) => Subject::Principal(principal(unit, name).await?.id),
        Holder::Group(name) => {
            let found = unit.group_by_name(name).await?;
            Subject::Group(found.ok_or_else(|| absent("group", name))?.id)
        }
    };
    let project = unit.project_by_slug(project).await?.ok_or_else(|| absent("project", project))?;
    let environment_id = match environment {
        None => None,
        Some(slug) => {
            let found = unit.environment_by_slug(project.id, slug).await?;
            Some(found.ok_or_else(|| absent("environment", slug))?.id)
        }
    };
    Ok(Grant { subject, project_id: project.id, environment_id, role })
}
