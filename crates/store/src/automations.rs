//! Schedules, webhooks and CI dispatches, and the ledger of their deliveries.

use std::collections::BTreeMap;

use pinhole_core::{
    AutomationId, AutomationKind, Code, CronExpression, DeliveryKey, DeliveryOutcome, Details, EnvironmentId,
    PrincipalId, ProjectId, Result, RunId, RunSelectors, Timestamp, Title, ZoneName,
};
use serde::{Deserialize, Serialize};

use crate::{
    Tx,
    row::Row,
    value::{Value, int, json, json_or_null, text, text_or_null, time, time_or_null},
};

/// An automation.
#[derive(Clone, Debug)]
pub struct Automation {
    /// Its id, which tells its kind.
    pub id: AutomationId,
    /// Its project.
    pub project_id: ProjectId,
    /// The environment that its runs are in.
    pub environment_id: EnvironmentId,
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from.
    pub selectors: RunSelectors,
    /// Whether it starts anything.
    pub enabled: bool,
    /// When a schedule is due.
    pub timing: Option<Timing>,
    /// When a schedule is due next; none while it is not enabled.
    pub next_at: Option<Timestamp>,
    /// What a webhook's deliveries are signed with.
    pub secrets: Option<WebhookSecrets>,
    /// Counts changes by people, from 1.
    pub version: u32,
    /// With whose grants it starts runs: who made it or changed it last.
    pub runs_as: PrincipalId,
    /// Who made it.
    pub created_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
}

/// When a schedule is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The times.
    pub cron: CronExpression,
    /// On whose clock.
    pub time_zone: ZoneName,
}

/// The sealed secrets of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecrets {
    /// The one that senders have now.
    pub current: SealedSecret,
    /// The one before, while it is still taken.
    pub previous: Option<SealedSecret>,
}

/// A sealed secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret {
    /// Counts the secrets of the webhook, from 1.
    pub number: u32,
    /// Its sealed form.
    pub sealed: String,
    /// Until when it is taken; none while it is the current one.
    pub until: Option<Timestamp>,
}

/// What one delivery came to. Never changes.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Whose delivery it is.
    pub automation_id: AutomationId,
    /// What tells it from the others.
    pub key: DeliveryKey,
    /// When it was dealt with.
    pub at: Timestamp,
    /// How it ended.
    pub outcome: DeliveryOutcome,
    /// The run that it started.
    pub run_id: Option<RunId>,
    /// Why it started none.
    pub refusal: Option<Refusal>,
    /// How many later times of a schedule passed before it was dealt with, and were not made up for.
    pub missed: u32,
    /// What the sender said about it.
    pub labels: BTreeMap<String, String>,
}

/// Why a delivery started nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The error's code.
    pub code: Code,
    /// For people.
    pub message: String,
    /// For programs.
    pub details: Details,
}

fn read(row: &Row) -> Result<Automation> {
    let cron: Option<CronExpression> = row.parse_or_null("cron")?;
    let time_zone: Option<ZoneName> = row.parse_or_null("time_zone")?;
    Ok(Automation {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        environment_id: row.parse("environment_id")?,
        title: row.parse("title")?,
        selectors: row.json("selectors")?,
        enabled: row.int::<u8>("enabled")? != 0,
        timing: cron.zip(time_zone).map(|(cron, time_zone)| Timing { cron, time_zone }),
        next_at: row.time_or_null("next_at")?,
        secrets: row.json_or_null("secrets")?,
        version: row.int("version")?,
        runs_as: row.parse("runs_as")?,
        created_by: row.parse("created_by")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        deleted_at: row.time_or_null("deleted_at")?,
    })
}

fn read_delivery(row: &Row) -> Result<Delivery> {
    Ok(Delivery {
        automation_id: row.parse("automation_id")?,
        key: row.parse("delivery_key")?,
        at: row.time("at")?,
        outcome: row.parse("outcome")?,
        run_id: row.parse_or_null("run_id")?,
        refusal: row.json_or_null("refusal")?,
        missed: row.int("missed")?,
        labels: row.json("labels")?,
    })
}

/// Everything that may change, behind the id.
fn changeable(automation: &Automation) -> Result<Vec<Value>> {
    let Automation { id, environment_id, title, selectors, enabled, timing, next_at, secrets, .. } = automation;
    let timing = timing.as_ref();
    Ok(vec![
        text(id),
        text(environment_id),
        text(title),
        json(selectors)?,
        int(*enabled),
        text_or_null(timing.map(|timing| &timing.cron)),
        text_or_null(timing.map(|timing| &timing.time_zone)),
        time_or_null(*next_at),
        json_or_null(secrets.as_ref())?,
        int(automation.version),
        text(automation.runs_as),
        time(automation.updated_at),
        time_or_null(automation.deleted_at),
    ])
}

impl Tx {
    /// Adds an automation.
    pub async fn insert_automation(&mut self, automation: &Automation) -> Result<()> {
        let mut values = changeable(automation)?;
        let Automation { id, project_id, created_by, created_at, .. } = automation;
        values.extend([text(id.kind()), text(project_id), text(created_by), time(*created_at)]);
        self.execute(
            "INSERT INTO automations (id, environment_id, title, selectors, enabled, cron, time_zone, next_at, secrets, \
             version, runs_as, updated_at, deleted_at, kind, project_id, created_by, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
            &values,
        )
        .await?;
        Ok(())
    }

    /// Stores a changed automation when its version is still `expected`; false when it was not.
    pub async fn save_automation(&mut self, expected: u32, automation: &Automation) -> Result<bool> {
        let mut values = changeable(automation)?;
        values.push(int(expected));
        let changed = self
            .execute(
                "UPDATE automations SET environment_id = $2, title = $3, selectors = $4, enabled = $5, cron = $6, \
                 time_zone = $7, next_at = $8, secrets = $9, version = $10, runs_as = $11, updated_at = $12, \
                 deleted_at = $13 WHERE id = $1 AND version = $14",
                &values,
            )
            .await?;
        Ok(changed == 1)
    }

    /// Moves a schedule on from the time `due` to its next one; false when it was not due then, or was changed.
    pub async fn advance_schedule(
        &mut self,
        before: &Automation,
        due: Timestamp,
        next: Option<Timestamp>,
    ) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE automations SET next_at = $4 WHERE id = $1 AND version = $2 AND next_at = $3",
                &[text(before.id), int(before.version), time(due), time_or_null(next)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// The automation with this id, deleted or not.
    pub async fn automation(&mut self, id: AutomationId) -> Result<Option<Automation>> {
        self.fetch_optional("SELECT * FROM automations WHERE id = $1", &[text(id)], read).await
    }

    /// Automations of a project that were not deleted, newest first, starting before `before`; only in `environments`
    /// when they are given.
    pub async fn list_automations(
        &mut self,
        project: ProjectId,
        kind: AutomationKind,
        environments: Option<&[EnvironmentId]>,
        before: Option<AutomationId>,
        limit: u32,
    ) -> Result<Vec<Automation>> {
        // As for runs: the environments travel as one text, so that the statement stays fixed.
        let list = environments.map(|ids| ids.iter().map(|id| format!("/{id}/")).collect::<String>());
        self.fetch_all(
            "SELECT * FROM automations WHERE project_id = $1 AND kind = $2 AND deleted_at IS NULL \
             AND coalesce($3, '/' || environment_id || '/') LIKE ('%/' || environment_id || '/%') \
             AND ($4 IS NULL OR id < $4) ORDER BY id DESC LIMIT $5",
            &[text(project), text(kind), text_or_null(list), text_or_null(before), int(limit)],
            read,
        )
        .await
    }

    /// At most `limit` webhooks with a secret whose sealed text does not begin with `prefix`, which holds no quotation
    /// mark.
    pub async fn webhooks_sealed_otherwise(&mut self, prefix: &str, limit: u32) -> Result<Vec<Automation>> {
        // Without those that begin so, any that is left begins otherwise.
        self.fetch_all(
            "SELECT * FROM automations WHERE replace(secrets, '\"sealed\":\"' || $1, '') LIKE '%\"sealed\":\"%' \
             ORDER BY id LIMIT $2",
            &[text(prefix), int(limit)],
            read,
        )
        .await
    }

    /// Stores the same secrets of a webhook sealed anew; its version stays.
    pub async fn reseal_webhook(&mut self, id: AutomationId, secrets: &WebhookSecrets) -> Result<()> {
        let sql = "UPDATE automations SET secrets = $2 WHERE id = $1";
        self.execute(sql, &[text(id), json(secrets)?]).await?;
        Ok(())
    }

    /// Schedules that are due, the longest due first, at most 100.
    pub async fn due_schedules(&mut self) -> Result<Vec<Automation>> {
        let now = self.now();
        self.fetch_all(
            "SELECT * FROM automations WHERE next_at <= $1 ORDER BY next_at, id LIMIT 100",
            &[time(now)],
            read,
        )
        .await
    }

    /// Adds a delivery; `conflict` when there is one with this key.
    pub async fn insert_delivery(&mut self, delivery: &Delivery) -> Result<()> {
        let Delivery { automation_id, key, at, outcome, run_id, refusal, missed, labels } = delivery;
        self.execute(
            "INSERT INTO automation_deliveries (automation_id, delivery_key, at, outcome, run_id, refusal, missed, \
             labels) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                text(automation_id),
                text(key),
                time(*at),
                text(outcome),
                text_or_null(*run_id),
                json_or_null(refusal.as_ref())?,
                int(*missed),
                json(labels)?,
            ],
        )
        .await?;
        Ok(())
    }

    /// The delivery with this key.
    pub async fn delivery(&mut self, automation: AutomationId, key: &DeliveryKey) -> Result<Option<Delivery>> {
        self.fetch_optional(
            "SELECT * FROM automation_deliveries WHERE automation_id = $1 AND delivery_key = $2",
            &[text(automation), text(key)],
            read_delivery,
        )
        .await
    }

    /// The newest deliveries of an automation, newest first.
    pub async fn deliveries_of(&mut self, automation: AutomationId, limit: u32) -> Result<Vec<Delivery>> {
        self.fetch_all(
            "SELECT * FROM automation_deliveries WHERE automation_id = $1 ORDER BY at DESC, delivery_key DESC LIMIT $2",
            &[text(automation), int(limit)],
            read_delivery,
        )
        .await
    }
}
