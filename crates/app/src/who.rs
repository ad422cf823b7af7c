//! Who the caller is, and what there is to call.

use pinhole_contract::{
    CATALOG_VERSION, CredentialView, GroupRef, ListOperations, OperationList, Whoami, WhoamiView, specs,
};
use pinhole_core::{Actor, Authority, Error, Result};

use crate::{App, unit::Unit};

pub(crate) async fn whoami(app: &App, actor: &Actor, _: Whoami) -> Result<WhoamiView> {
    app.read(actor, "whoami", |unit, _| {
        Box::pin(async move {
            unit.check_credential().await?;
            let (id, now) = (unit.actor().principal, unit.now());
            let principal = unit.principal(id).await?.ok_or_else(Error::unauthenticated)?;
            let groups = unit.groups_of(id).await?;
            Ok(WhoamiView {
                id: principal.id,
                class: principal.class,
                name: principal.name,
                admin: principal.admin_since.is_some(),
                groups: groups.into_iter().map(|group| GroupRef { id: group.id, name: group.name }).collect(),
                credential: credential(unit).await?,
                human_authority_until: unit.human_authority_until().filter(|until| now <= *until),
            })
        })
    })
    .await
}

async fn credential(unit: &mut Unit) -> Result<CredentialView> {
    match unit.actor().authority {
        Authority::Session { id, secret, .. } => {
            let session = unit.session_by_secret(secret).await?.ok_or_else(Error::unauthenticated)?;
            Ok(CredentialView::Session { id, expires_at: session.expires_at })
        }
        Authority::Token { id, secret, .. } => {
            let token = unit.token_by_secret(secret).await?.ok_or_else(Error::unauthenticated)?;
            Ok(CredentialView::Token { id, scope: token.scope, expires_at: token.expires_at })
        }
        // Pinhole itself has none.
        Authority::Automation | Authority::System => Err(Error::unauthenticated()),
    }
}

pub(crate) async fn list_operations(_: &App, _: &Actor, _: ListOperations) -> Result<OperationList> {
    Ok(OperationList {
        catalog_version: CATALOG_VERSION.into(),
        operations: specs().iter().map(|operation| (&operation.spec).into()).collect(),
    })
}
