//! What is the same for automations of every kind: how they are shown, read, listed and deleted.

use std::future::Future;

use pinhole_contract::{AutomationView, Cursor, DeliveryView, Limit, RefusalView};
use pinhole_core::{Actor, AutomationId, AutomationKind, Permission, Result, Slug};
use pinhole_store::{Automation, Delivery, Refusal};

use super::change;
use crate::{App, page, unit::Unit};

/// How many deliveries are shown with an automation.
const SHOWN: u32 = 20;

/// An automation of one kind, as it is shown.
pub(super) trait KindView: Sized + Send {
    /// The kind.
    const KIND: AutomationKind;

    /// The view of an automation of this kind.
    fn of(unit: &mut Unit, found: Automation, replayed: bool) -> impl Future<Output = Result<Self>> + Send;
}

/// One automation, if the actor keeps automations in its environment.
pub(super) async fn get<V: KindView>(app: &App, actor: &Actor, operation: &'static str, id: AutomationId) -> Result<V> {
    app.read(actor, operation, move |unit, _| {
        Box::pin(async move {
            let found = change::authorised(unit, id).await?;
            V::of(unit, found, false).await
        })
    })
    .await
}

/// One page of the automations of a kind in the environments where the actor keeps automations, and where the next one
/// starts.
pub(super) async fn list<V: KindView>(
    app: &App,
    actor: &Actor,
    operation: &'static str,
    (project, limit, cursor): (&Slug, Limit, Option<&Cursor>),
) -> Result<(Vec<V>, Option<Cursor>)> {
    let before = page::position::<AutomationId>(cursor)?;
    app.read(actor, operation, move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(project, Permission::Read).await?;
            let environments = unit.environments_with(project.id, Permission::AutomationWrite).await?;
            let (visible, load) = (environments.as_deref(), page::to_load(limit));
            let mut found = unit.list_automations(project.id, V::KIND, visible, before, load).await?;
            let next_cursor = page::cut(&mut found, limit, |last| last.id);
            let mut views = Vec::with_capacity(found.len());
            for automation in found {
                views.push(V::of(unit, automation, false).await?);
            }
            Ok((views, next_cursor))
        })
    })
    .await
}

/// Deletes one automation and shows it.
pub(super) async fn delete<V: KindView>(
    app: &App,
    actor: &Actor,
    operation: &'static str,
    (id, expected): (AutomationId, Option<u32>),
) -> Result<V> {
    app.write(actor, operation, move |unit, _| {
        Box::pin(async move {
            let deleted = change::delete(unit, id, expected).await?;
            V::of(unit, deleted, false).await
        })
    })
    .await
}

/// What all kinds show.
pub(super) async fn view_of(unit: &mut Unit, automation: &Automation, replayed: bool) -> Result<AutomationView> {
    let deliveries = unit.deliveries_of(automation.id, SHOWN).await?.into_iter().map(delivery_view).collect();
    Ok(AutomationView {
        title: automation.title.clone(),
        run: automation.selectors.clone(),
        enabled: automation.enabled,
        version: automation.version,
        runs_as: automation.runs_as,
        created_by: automation.created_by,
        created_at: automation.created_at,
        updated_at: automation.updated_at,
        deleted_at: automation.deleted_at,
        deliveries,
        replayed,
    })
}

fn delivery_view(delivery: Delivery) -> DeliveryView {
    let Delivery { key, at, outcome, run_id, refusal, missed, labels, .. } = delivery;
    let refusal = refusal.map(|Refusal { code, message, details }| RefusalView { code, message, details });
    DeliveryView { key, at, outcome, run_id, refusal, missed, labels }
}
