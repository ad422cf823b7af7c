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
    change::{self, Draft, check_persons, with_permission},
    delivery::record,
    kinds::{self, KindView, view_of},
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
            let (dispatch, replayed) = change::create(unit, id, &draft, call, |_| Ok(None)).await?;
            CiDispatchView::of(unit, dispatch, replayed).await
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
            CiDispatchView::of(unit, dispatch, false).await
        })
    })
    .await
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetCiDispatch) -> Result<CiDispatchView> {
    kinds::get(app, actor, "get_ci_dispatch", AutomationId::CiDispatch(command.ci_dispatch_id)).await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListCiDispatches) -> Result<CiDispatchList> {
    let page = (&command.project, command.limit, command.cursor.as_ref());
    let (ci_dispatches, next_cursor) = kinds::list(app, actor, "list_ci_dispatches", page).await?;
    Ok(CiDispatchList { ci_dispatches, next_cursor })
}

pub(crate) async fn delete(app: &App, actor: &Actor, command: DeleteCiDispatch) -> Result<CiDispatchView> {
    let target = (AutomationId::CiDispatch(command.ci_dispatch_id), command.expected_version);
    kinds::delete(app, actor, "delete_ci_dispatch", target).await
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

impl KindView for CiDispatchView {
    const KIND: AutomationKind = AutomationKind::CiDispatch;

    async fn of(unit: &mut Unit, dispatch: Automation, replayed: bool) -> Result<Self> {
        let AutomationId::CiDispatch(id) = dispatch.id else {
            return Err(Error::internal("a CI dispatch with another id"));
        };
        let automation = view_of(unit, &dispatch, replayed).await?;
        Ok(Self { id, automation })
    }
}
