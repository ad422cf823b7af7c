//! CI dispatches: make, change, read, list, delete, and start their runs. CI is a service that comes with its own token,
//! so its own grants count.

use std::collections::BTreeMap;

use pinhole_contract::{
    CiDispatchList, CiDispatchView, CreateCiDispatch, DeleteCiDispatch, DispatchCi, GetCiDispatch, ListCiDispatches,
    RunView, UpdateCiDispatch,
};
use pinhole_core::{Actor, AutomationId, AutomationKind, CiDispatchId, Error, Permission, PrincipalClass, Result};
use pinhole_store::Automation;

use super::{
    change::{self, Draft, authorised, check_persons, with_permission},
    delivery::record,
    view::{page_of, view_of},
};
use crate::{
    App,
    idempotency::Keyed,
    readiness::check_space,
    runs::{Trigger, admissible, run_view},
    unit::Unit,
};

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateCiDispatch) -> Result<CiDispatchView> {
    let command = &command;
    app.write(actor, "create_ci_dispatch", move |unit, _| {
        Box::pin(async move {
            let CreateCiDispatch { title, run, enabled, idempotency_key } = command;
            let draft = Draft { title, run, enabled: *enabled, timing: None };
            let id = AutomationId::CiDispatch(CiDispatchId::from_uuid(unit.uuid()));
            let call = (idempotency_key.as_ref(), command);
            let (dispatch, replayed) = change::create(unit, id, &draft, call, None).await?;
            view(unit, dispatch, replayed).await
        })
    })
    .await
}

pub(crate) async fn update(app: &App, actor: &Actor, command: UpdateCiDispatch) -> Result<CiDispatchView> {
    let command = &command;
    app.write(actor, "update_ci_dispatch", move |unit, _| {
        Box::pin(async move {
            let UpdateCiDispatch { ci_dispatch_id, title, run, enabled, expected_version } = command;
            let draft = Draft { title, run, enabled: *enabled, timing: None };
            let id = AutomationId::CiDispatch(*ci_dispatch_id);
            let dispatch = change::update(unit, id, &draft, *expected_version, |_, _| Ok(None)).await?;
            view(unit, dispatch, false).await
        })
    })
    .await
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetCiDispatch) -> Result<CiDispatchView> {
    app.read(actor, "get_ci_dispatch", move |unit, _| {
        Box::pin(async move {
            let dispatch = authorised(unit, AutomationId::CiDispatch(command.ci_dispatch_id)).await?;
            view(unit, dispatch, false).await
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListCiDispatches) -> Result<CiDispatchList> {
    let command = &command;
    app.read(actor, "list_ci_dispatches", move |unit, _| {
        Box::pin(async move {
            let page = (&command.project, command.limit, command.cursor.as_ref());
            let (found, next_cursor) = page_of(unit, AutomationKind::CiDispatch, page).await?;
            let mut ci_dispatches = Vec::with_capacity(found.len());
            for dispatch in found {
                ci_dispatches.push(view(unit, dispatch, false).await?);
            }
            Ok(CiDispatchList { ci_dispatches, next_cursor })
        })
    })
    .await
}

pub(crate) async fn delete(app: &App, actor: &Actor, command: DeleteCiDispatch) -> Result<CiDispatchView> {
    let DeleteCiDispatch { ci_dispatch_id, expected_version } = command;
    app.write(actor, "delete_ci_dispatch", move |unit, _| {
        Box::pin(async move {
            let dispatch = change::delete(unit, AutomationId::CiDispatch(ci_dispatch_id), expected_version).await?;
            view(unit, dispatch, false).await
        })
    })
    .await
}

pub(crate) async fn dispatch(app: &App, actor: &Actor, command: DispatchCi) -> Result<RunView> {
    // A look at the file system, before the transaction is open.
    let space = &app.blobs().free_space_percent();
    let command = &command;
    app.write(actor, "dispatch_ci", move |unit, _| {
        Box::pin(async move {
            let id = AutomationId::CiDispatch(command.ci_dispatch_id);
            let dispatch = with_permission(unit, id, Permission::RunStart).await?;
            if unit.actor().class != PrincipalClass::Service {
                return Err(Error::permission_denied("service")
                    .with_message("not allowed: CI is a service; a person starts a run with start_scenario_run"));
            }
            let admissible = admissible(unit, &dispatch.selectors, &[Permission::RunStart]).await?;
            check_space(unit.app().settings(), space)?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), &(command, &admissible.pins)).await? {
                Keyed::First(call) => call,
                Keyed::Replay(run) => {
                    unit.unaudited();
                    let run = unit.run(run.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(RunView { replayed: true, ..run_view(unit, run).await? });
                }
            };
            if !dispatch.enabled {
                return Err(Error::conflict("disabled", "the CI dispatch is switched off or deleted"));
            }
            check_persons(&admissible)?;
            let run = admissible.queue(unit, Trigger::Ci).await?;
            unit.remember(call, run.id).await?;
            let labels = [("commit", command.commit.to_string()), ("ref", command.git_ref.to_string())];
            let labels: BTreeMap<_, _> = labels.map(|(name, text)| (name.to_owned(), text)).into();
            record(unit, &dispatch, run.id.to_string().parse()?, Ok(&run), (0, labels)).await?;
            run_view(unit, run).await
        })
    })
    .await
}

async fn view(unit: &mut Unit, dispatch: Automation, replayed: bool) -> Result<CiDispatchView> {
    let AutomationId::CiDispatch(id) = dispatch.id else {
        return Err(Error::internal("a CI dispatch with another id"));
    };
    let automation = view_of(unit, &dispatch, replayed).await?;
    Ok(CiDispatchView { id, automation })
}
