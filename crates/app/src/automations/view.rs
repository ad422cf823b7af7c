//! What automations show.

use pinhole_contract::{AutomationView, Cursor, DeliveryView, Limit, RefusalView};
use pinhole_core::{AutomationId, AutomationKind, Permission, Result, Slug};
use pinhole_store::{Automation, Delivery, Refusal};

use crate::{page, unit::Unit};

/// How many deliveries are shown with an automation.
const SHOWN: u32 = 20;

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

/// One page of the automations of a kind in the environments where the actor keeps automations, and where the next one
/// starts.
pub(super) async fn page_of(
    unit: &mut Unit,
    kind: AutomationKind,
    (project, limit, cursor): (&Slug, Limit, Option<&Cursor>),
) -> Result<(Vec<Automation>, Option<Cursor>)> {
    let before = page::position::<AutomationId>(cursor)?;
    let project = unit.authorised_project(project, Permission::Read).await?;
    let environments = unit.environments_with(project.id, Permission::AutomationWrite).await?;
    let limit_to_load = page::to_load(limit);
    let mut found = unit.list_automations(project.id, kind, environments.as_deref(), before, limit_to_load).await?;
    let more = page::cut(&mut found, limit);
    let next_cursor = found.last().filter(|_| more).map(|last| Cursor::new(last.id.to_string()));
    Ok((found, next_cursor))
}
