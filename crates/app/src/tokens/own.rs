//! A person's own tokens. Only a session makes or ends them, so that a token that leaked makes no others.

use pinhole_contract::{CreateMyToken, ListMyTokens, NewTokenView, RevokeMyToken, TokenList, TokenView};
use pinhole_core::{Actor, Error, Permission, Result, Scope, TokenId};
use pinhole_store::Principal;

use super::{Wanted, check_scope_shape, issue, lifetime, replay, token_list};
use crate::{App, idempotency::Keyed, page, unit::Unit};

pub(crate) async fn list(app: &App, actor: &Actor, command: ListMyTokens) -> Result<TokenList> {
    let before = page::position::<TokenId>(command.cursor.as_ref())?;
    app.read(actor, "list_my_tokens", move |unit, _| {
        Box::pin(async move {
            unit.authorise_session().await?;
            let principal = unit.actor().principal;
            let found = unit.tokens_of(principal, before, page::to_load(command.limit)).await?;
            Ok(token_list(found, command.limit))
        })
    })
    .await
}

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateMyToken) -> Result<NewTokenView> {
    check_scope_shape(&command.scope)?;
    let (command, random) = (&command, &app.secret_bytes()?);
    app.write(actor, "create_my_token", move |unit, _| {
        Box::pin(async move {
            unit.authorise_session().await?;
            let id = unit.actor().principal;
            let user = unit.principal(id).await?.ok_or_else(Error::unauthenticated)?;
            check_scope(unit, &user, &command.scope).await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => return replay(unit, &id).await,
            };
            let lifetime = lifetime(command.lifetime_days);
            let wanted = Wanted { label: command.label.as_ref(), scope: &command.scope, lifetime };
            issue(unit, call, (&user, &wanted), random).await
        })
    })
    .await
}

pub(crate) async fn revoke(app: &App, actor: &Actor, command: RevokeMyToken) -> Result<TokenView> {
    app.write(actor, "revoke_my_token", move |unit, _| {
        Box::pin(async move {
            unit.authorise_session().await?;
            let principal = unit.actor().principal;
            let token = unit.token(command.token_id).await?.filter(|token| token.principal_id == principal);
            super::revoke(unit, token.ok_or_else(Error::not_found)?).await
        })
    })
    .await
}

/// Refuses permissions that the user has nowhere: such a token would only begin to open something when a role is given
/// later, to the surprise of whoever gives it.
async fn check_scope(unit: &mut Unit, user: &Principal, scope: &Scope) -> Result<()> {
    let Scope::Only(permissions) = scope else { return Ok(()) };
    let roles = unit.roles_of(user.id).await?;
    let admin = user.admin_since.is_some();
    let has = |permission: Permission| match permission {
        Permission::Read => true,
        Permission::Admin => admin,
        _ => roles.iter().any(|role| role.allows(permission)),
    };
    match permissions.iter().find(|permission| !has(**permission)) {
        Some(permission) => Err(Error::permission_denied(permission.as_str())
            .with_message(format!("not allowed: you have {permission} nowhere, so no token of yours can have it"))),
        None => Ok(()),
    }
}
