//! Users and services, as an administrator makes, lists, disables and promotes them.

use pinhole_contract::{CreatePrincipal, ListPrincipals, PrincipalList, PrincipalView, UpdatePrincipal};
use pinhole_core::{Actor, Error, Name, PrincipalClass, PrincipalId, Result};
use pinhole_store::Principal;
use serde_json::json;

use crate::{App, idempotency::Keyed, page, unit::Unit};

pub(crate) async fn create(app: &App, actor: &Actor, command: CreatePrincipal) -> Result<PrincipalView> {
    let command = &command;
    app.write(actor, "create_principal", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let principal = unit.principal(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(PrincipalView { replayed: true, ..principal_view(principal) });
                }
            };
            if let Some(owner) = command.owner_id {
                check_owner(unit, command.class, owner).await?;
            }
            let principal = insert(unit, command.class, &command.name, command.admin, command.owner_id).await?;
            unit.remember(call, principal.id).await?;
            Ok(principal_view(principal))
        })
    })
    .await
}

/// Refuses an owner who is no user, or of somebody who is no service.
async fn check_owner(unit: &mut Unit, class: PrincipalClass, owner: PrincipalId) -> Result<()> {
    let found = unit.principal(owner).await?;
    let fits = class == PrincipalClass::Service && found.is_some_and(|owner| owner.class == PrincipalClass::User);
    if fits { Ok(()) } else { Err(Error::invalid("owner_id", "expected a user, and that for a service")) }
}

/// Adds a principal with its audit row; `conflict` when the name is taken.
pub(crate) async fn insert(
    unit: &mut Unit,
    class: PrincipalClass,
    name: &Name,
    admin: bool,
    owner: Option<PrincipalId>,
) -> Result<Principal> {
    let principal = Principal {
        id: PrincipalId::from_uuid(unit.uuid()),
        class,
        name: name.clone(),
        admin_since: admin.then(|| unit.now()),
        created_at: unit.now(),
        disabled_at: None,
        owner_id: owner,
    };
    unit.insert_principal(&principal).await?;
    let detail = json!({ "class": class, "name": name, "admin": admin, "owner": owner });
    unit.audit(None, Some(principal.id.to_string()), detail).await?;
    Ok(principal)
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListPrincipals) -> Result<PrincipalList> {
    let after = page::position::<PrincipalId>(command.cursor.as_ref())?;
    app.read(actor, "list_principals", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let after = match after {
                Some(id) => Some(unit.principal(id).await?.ok_or_else(page::bad_cursor)?.name),
                None => None,
            };
            let mut found = unit.list_principals(after.as_ref(), page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.id);
            Ok(PrincipalList { principals: found.into_iter().map(principal_view).collect(), next_cursor })
        })
    })
    .await
}

pub(crate) async fn update(app: &App, actor: &Actor, command: UpdatePrincipal) -> Result<PrincipalView> {
    let command = &command;
    app.write(actor, "update_principal", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let before = unit.principal(command.principal_id).await?.ok_or_else(Error::not_found)?;
            let disable = command.disabled.filter(|disabled| *disabled != before.disabled_at.is_some());
            let promote = command.admin.filter(|admin| *admin != before.admin_since.is_some());
            let owner = command.owner_id.filter(|owner| Some(*owner) != before.owner_id);
            if disable.is_none() && promote.is_none() && owner.is_none() {
                unit.unaudited();
                return Ok(principal_view(before));
            }
            if let Some(owner) = owner {
                check_owner(unit, before.class, owner).await?;
                unit.set_principal_owner(before.id, owner).await?;
            }
            let ended = change(unit, before.id, disable, promote).await?;
            if !unit.has_administrator().await? {
                let message = "the installation would have no administrator who may sign in: make another one first";
                return Err(Error::conflict("last_admin", message));
            }
            let detail = json!({ "disabled": disable, "admin": promote, "owner": owner, "ended": ended });
            unit.audit(None, Some(before.id.to_string()), detail).await?;
            unit.principal(before.id).await?.map(principal_view).ok_or_else(Error::not_found)
        })
    })
    .await
}

/// Writes what changes; answers how many tokens and sessions ended with it.
async fn change(unit: &mut Unit, id: PrincipalId, disable: Option<bool>, promote: Option<bool>) -> Result<u64> {
    let now = unit.now();
    let mut ended = 0;
    if let Some(disable) = disable {
        unit.set_principal_disabled(id, disable.then_some(now)).await?;
        if disable {
            ended = unit.revoke_tokens_of(id).await? + unit.end_sessions_of(id).await?;
        }
    }
    if let Some(promote) = promote {
        unit.set_principal_admin(id, promote.then_some(now)).await?;
    }
    Ok(ended)
}

fn principal_view(principal: Principal) -> PrincipalView {
    let Principal { id, class, name, admin_since, created_at, disabled_at, owner_id } = principal;
    PrincipalView { id, class, name, admin_since, disabled_at, owner_id, created_at, replayed: false }
}
