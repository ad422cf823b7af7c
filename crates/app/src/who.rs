//! Who the caller is, and what there is to call.

use pinhole_contract::{CATALOG_VERSION, ListOperations, OperationList, Whoami, WhoamiView, specs};
use pinhole_core::{Actor, Error, Result};

use crate::App;

pub(crate) async fn whoami(app: &App, actor: &Actor, _: Whoami) -> Result<WhoamiView> {
    let found = app.read(actor, "whoami", |unit, _| {
        Box::pin(async move {
            let id = unit.actor().principal;
            unit.principal(id).await
        })
    });
    let principal = found.await?.ok_or_else(Error::unauthenticated)?;
    Ok(WhoamiView {
        id: principal.id,
        class: principal.class,
        name: principal.name,
        admin: principal.admin_since.is_some(),
    })
}

pub(crate) async fn list_operations(_: &App, _: &Actor, _: ListOperations) -> Result<OperationList> {
    Ok(OperationList {
        catalog_version: CATALOG_VERSION.into(),
        operations: specs().iter().map(|operation| (&operation.spec).into()).collect(),
    })
}
