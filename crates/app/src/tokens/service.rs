//! The tokens of services, which an administrator makes and ends. Services have no session to do it in.

use pinhole_contract::{CreateServiceToken, ListServiceTokens, NewTokenView, RevokeServiceToken, TokenList, TokenView};
use pinhole_core::{Actor, Error, PrincipalClass, PrincipalId, Result, TokenId};
use pinhole_store::Principal;

use super::{Wanted, check_scope_shape, issue, lifetime, replay, token_list};
use crate::{App, idempotency::Keyed, page, unit::Unit};

pub(crate) async fn list(app: &App, actor: &Actor, command: ListServiceTokens) -> Result<TokenList> {
    let before = page::position::<TokenId>(command.cursor.as_ref())?;
    app.read(actor, "list_service_tokens", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let limit = page::to_load(command.limit);
            let found = unit.list_service_tokens(command.principal_id, before, limit).await?;
            Ok(token_list(found, command.limit))
        })
    })
    .await
}

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateServiceToken) -> Result<NewTokenView> {
    check_scope_shape(&command.scope)?;
    let (command, random) = (&command, &app.secret_bytes()?);
    app.write(actor, "create_service_token", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let service = service(unit, command.principal_id).await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => return replay(unit, &id).await,
            };
            if service.disabled_at.is_some() {
                return Err(Error::conflict("disabled", "the service is disabled: enable it first"));
            }
            let lifetime = lifetime(command.lifetime_days);
            let wanted = Wanted { label: command.label.as_ref(), scope: &command.scope, lifetime };
            issue(unit, call, (&service, &wanted), random).await
        })
    })
    .await
}

pub(crate) async fn revoke(app: &App, actor: &Actor, command: RevokeServiceToken) -> Result<TokenView> {
    app.write(actor, "revoke_service_token", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let token = unit.token(command.token_id).await?.ok_or_else(Error::not_found)?;
            service(unit, token.principal_id).await?;
            super::revoke(unit, token).await
        })
    })
    .await
}

/// The service with this id. A person's tokens are theirs alone: to an administrator they look like none.
async fn service(unit: &mut Unit, id: PrincipalId) -> Result<Principal> {
    let found = unit.principal(id).await?;
    found.filter(|principal| principal.class == PrincipalClass::Service).ok_or_else(Error::not_found)
}
