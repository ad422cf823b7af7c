//! Making, changing and deleting automations of any kind: the one check that all of them pass.

use pinhole_core::{AutomationId, Error, IdempotencyKey, Permission, Result, RunSelectors, Timestamp, Title};
use pinhole_store::{Automation, Timing, WebhookSecrets};
use serde::Serialize;
use serde_json::json;

use crate::{
    authority::Place,
    idempotency::{Keyed, expect_version},
    runs::{Admissible, admissible},
    unit::Unit,
};

/// What a person says an automation is to be.
pub(super) struct Draft<'a> {
    pub(super) title: &'a Title,
    pub(super) run: &'a RunSelectors,
    pub(super) enabled: bool,
    pub(super) timing: Option<Timing>,
}

impl Draft<'_> {
    /// When it is due after `now`; never while it is not enabled.
    fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        let timing = self.timing.as_ref().filter(|_| self.enabled)?;
        timing.cron.next_after(now, &timing.time_zone)
    }
}

/// Makes an automation, or finds the one that an earlier call with the key made; whether it was found comes with it.
/// `secrets` are for webhooks, and made when nothing stands in the way any more.
pub(super) async fn create(
    unit: &mut Unit,
    id: AutomationId,
    draft: &Draft<'_>,
    (key, intent): (Option<&IdempotencyKey>, &impl Serialize),
    secrets: impl FnOnce(&Unit) -> Result<Option<WebhookSecrets>>,
) -> Result<(Automation, bool)> {
    let target = target(unit, draft.run).await?;
    let call = match unit.keyed(key, intent).await? {
        Keyed::First(call) => call,
        Keyed::Replay(id) => {
            // It may have been moved since to where the actor sees nothing.
            return Ok((authorised(unit, id.parse()?).await?, true));
        }
    };
    target.check_state()?;
    let (now, principal) = (unit.now(), unit.actor().principal);
    let automation = Automation {
        id,
        project_id: target.project.id,
        environment_id: target.pins.environment,
        title: draft.title.clone(),
        selectors: draft.run.clone(),
        enabled: draft.enabled,
        timing: draft.timing.clone(),
        next_at: draft.next_at(now),
        secrets: secrets(unit)?,
        version: 1,
        runs_as: principal,
        created_by: principal,
        created_at: now,
        updated_at: now,
        deleted_at: None,
    };
    unit.insert_automation(&automation).await?;
    unit.remember(call, id).await?;
    audit(unit, &automation).await?;
    Ok((automation, false))
}

/// Changes an automation as a whole. `secrets` replace those of a webhook.
pub(super) async fn update(
    unit: &mut Unit,
    id: AutomationId,
    draft: &Draft<'_>,
    expected: Option<u32>,
    secrets: impl FnOnce(&Unit, &Automation) -> Result<Option<WebhookSecrets>>,
) -> Result<Automation> {
    let before = authorised(unit, id).await?;
    let target = target(unit, draft.run).await?;
    expect_version(expected, before.version)?;
    check_present(&before)?;
    if target.project.id != before.project_id {
        return Err(Error::conflict("other_project", "an automation stays in its project: make another one there"));
    }
    target.check_state()?;
    let now = unit.now();
    // What was due stays due, unless the times themselves are others.
    let same_times = before.timing == draft.timing && before.next_at.is_some() && draft.enabled;
    let after = Automation {
        environment_id: target.pins.environment,
        title: draft.title.clone(),
        selectors: draft.run.clone(),
        enabled: draft.enabled,
        timing: draft.timing.clone(),
        next_at: if same_times { before.next_at } else { draft.next_at(now) },
        secrets: secrets(unit, &before)?,
        version: before.version + 1,
        runs_as: unit.actor().principal,
        updated_at: now,
        ..before
    };
    save(unit, &after).await?;
    Ok(after)
}

/// Deletes an automation; its row and its deliveries stay.
pub(super) async fn delete(unit: &mut Unit, id: AutomationId, expected: Option<u32>) -> Result<Automation> {
    let before = authorised(unit, id).await?;
    expect_version(expected, before.version)?;
    check_present(&before)?;
    let now = unit.now();
    let after = Automation {
        enabled: false,
        next_at: None,
        secrets: None,
        version: before.version + 1,
        updated_at: now,
        deleted_at: Some(now),
        ..before
    };
    save(unit, &after).await?;
    Ok(after)
}

/// The automation, if the actor keeps automations in its environment.
pub(super) async fn authorised(unit: &mut Unit, id: AutomationId) -> Result<Automation> {
    with_permission(unit, id, Permission::AutomationWrite).await
}

/// The automation, if the actor may see its environment and has `permission` there.
pub(super) async fn with_permission(unit: &mut Unit, id: AutomationId, permission: Permission) -> Result<Automation> {
    let found = unit.automation(id).await?;
    unit.authorised(found, |found| Place::environments(found.project_id, [found.environment_id]), permission).await
}

/// What the selectors lead to, if the actor keeps automations there and may start runs itself: nobody gets more out of
/// an automation than out of a call.
async fn target(unit: &mut Unit, selectors: &RunSelectors) -> Result<Admissible> {
    let needs = [Permission::AutomationWrite, Permission::RunStart];
    let target = admissible(unit, selectors, &needs).await.map_err(|error| error.within("run"))?;
    check_persons(&target)?;
    Ok(target)
}

/// No automation brings a person along.
pub(super) fn check_persons(target: &Admissible) -> Result<()> {
    if target.needs_person() {
        return Err(Error::conflict(
            "human_step",
            "the scenario waits for a person in a step: only a person starts it",
        ));
    }
    Ok(())
}

fn check_present(automation: &Automation) -> Result<()> {
    match automation.deleted_at {
        None => Ok(()),
        Some(_) => Err(Error::conflict("deleted", "the automation was deleted: make another one")),
    }
}

async fn save(unit: &mut Unit, after: &Automation) -> Result<()> {
    if !unit.save_automation(after.version - 1, after).await? {
        return Err(Error::transient("the automation changed within the transaction"));
    }
    audit(unit, after).await
}

async fn audit(unit: &mut Unit, after: &Automation) -> Result<()> {
    let timing = after.timing.as_ref().map(|timing| json!({ "cron": timing.cron, "time_zone": timing.time_zone }));
    let detail = json!({
        "version": after.version, "enabled": after.enabled, "run": after.selectors, "timing": timing,
        "secret": after.secrets.as_ref().map(|secrets| secrets.current.number),
    });
    unit.audit(Some(after.project_id), Some(after.id.to_string()), detail).await
}
