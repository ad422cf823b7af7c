//! Webhooks: make, change, read, list, delete, seal anew. Their secrets are sealed, and shown once.

use std::time::Duration;

use pinhole_contract::{
    CreateWebhook, DeleteWebhook, GetWebhook, ListWebhooks, SecretRotation, UpdateWebhook, WebhookList, WebhookView,
};
use pinhole_core::{Actor, AutomationId, AutomationKind, Error, Result, WebhookId};
use pinhole_store::{Automation, SealedSecret, WebhookSecrets};

use super::{
    change::{self, Draft},
    kinds::{self, KindView, view_of},
    signature::written,
};
use crate::{App, reseal::sealed_anew, unit::Unit};

/// How long a secret that was replaced is still taken.
const GRACE: Duration = Duration::from_secs(24 * 3600);

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateWebhook) -> Result<WebhookView> {
    let command = &command;
    app.write(actor, "create_webhook", move |unit, _| {
        Box::pin(async move {
            let CreateWebhook { title, run, enabled, idempotency_key } = command;
            let draft = Draft { title, run, enabled: *enabled, timing: None };
            let id = AutomationId::Webhook(WebhookId::from_uuid(unit.uuid()));
            let call = (idempotency_key.as_ref(), command);
            let mut shown = None;
            let secrets = |unit: &Unit| {
                let (secret, current) = new_secret(unit.app(), id, 1)?;
                shown = Some(secret);
                Ok(Some(WebhookSecrets { current, previous: None }))
            };
            let (webhook, replayed) = change::create(unit, id, &draft, call, secrets).await?;
            Ok(WebhookView { secret: shown, ..WebhookView::of(unit, webhook, replayed).await? })
        })
    })
    .await
}

pub(crate) async fn update(app: &App, actor: &Actor, command: UpdateWebhook) -> Result<WebhookView> {
    let command = &command;
    app.write(actor, "update_webhook", move |unit, _| {
        Box::pin(async move {
            let UpdateWebhook { webhook_id, title, run, enabled, rotate_secret, expected_version } = command;
            let draft = Draft { title, run, enabled: *enabled, timing: None };
            let mut shown = None;
            let secrets = |unit: &Unit, before: &Automation| match rotate_secret {
                None => Ok(before.secrets.clone()),
                Some(rotation) => {
                    let (secret, secrets) = rotated(unit, before, *rotation)?;
                    shown = Some(secret);
                    Ok(Some(secrets))
                }
            };
            let id = AutomationId::Webhook(*webhook_id);
            let webhook = change::update(unit, id, &draft, *expected_version, secrets).await?;
            Ok(WebhookView { secret: shown, ..WebhookView::of(unit, webhook, false).await? })
        })
    })
    .await
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetWebhook) -> Result<WebhookView> {
    kinds::get(app, actor, "get_webhook", AutomationId::Webhook(command.webhook_id)).await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListWebhooks) -> Result<WebhookList> {
    let page = (&command.project, command.limit, command.cursor.as_ref());
    let (webhooks, next_cursor) = kinds::list(app, actor, "list_webhooks", page).await?;
    Ok(WebhookList { webhooks, next_cursor })
}

pub(crate) async fn delete(app: &App, actor: &Actor, command: DeleteWebhook) -> Result<WebhookView> {
    let target = (AutomationId::Webhook(command.webhook_id), command.expected_version);
    kinds::delete(app, actor, "delete_webhook", target).await
}

/// A fresh secret, as it is shown and as it is stored.
fn new_secret(app: &App, id: AutomationId, number: u32) -> Result<(String, SealedSecret)> {
    let key = app.secret_bytes()?;
    let sealed = app.sealer()?.seal(&key, &context(id, number))?;
    Ok((written(&key), SealedSecret { number, sealed, until: None }))
}

fn rotated(unit: &Unit, before: &Automation, rotation: SecretRotation) -> Result<(String, WebhookSecrets)> {
    let replaced = before.secrets.as_ref().map(|secrets| secrets.current.clone());
    let replaced = replaced.ok_or_else(|| Error::internal("a webhook without a secret"))?;
    let (secret, current) = new_secret(unit.app(), before.id, replaced.number + 1)?;
    let until = Some(unit.now().plus(GRACE));
    let previous = (rotation == SecretRotation::KeepPrevious).then_some(SealedSecret { until, ..replaced });
    Ok((secret, WebhookSecrets { current, previous }))
}

/// Seals the secrets of at most `limit` webhooks anew that are not sealed under the present master key, and answers how
/// many webhooks these were. A secret that is no longer taken is dropped.
pub(crate) async fn reseal_some(unit: &mut Unit, limit: u32) -> Result<u32> {
    let app = unit.app().clone();
    let (sealer, now) = (app.sealer()?, unit.now());
    let mut count = 0;
    for webhook in unit.webhooks_sealed_otherwise(&sealer.prefix()?, limit).await? {
        let Some(WebhookSecrets { current, previous }) = webhook.secrets else { continue };
        let anew = |secret: SealedSecret| {
            let sealed = sealed_anew(sealer, &secret.sealed, &context(webhook.id, secret.number))?;
            Ok::<_, Error>(SealedSecret { sealed, ..secret })
        };
        let taken = previous.filter(|secret| secret.until.is_some_and(|until| until > now));
        let secrets = WebhookSecrets { current: anew(current)?, previous: taken.map(anew).transpose()? };
        unit.reseal_webhook(webhook.id, &secrets).await?;
        count += 1;
    }
    Ok(count)
}

/// What a sealed secret belongs to: it opens for nothing else.
pub(super) fn context(id: AutomationId, number: u32) -> String {
    format!("webhook/{id}/{number}")
}

impl KindView for WebhookView {
    const KIND: AutomationKind = AutomationKind::Webhook;

    async fn of(unit: &mut Unit, webhook: Automation, replayed: bool) -> Result<Self> {
        let AutomationId::Webhook(id) = webhook.id else { return Err(Error::internal("a webhook with another id")) };
        let automation = view_of(unit, &webhook, replayed).await?;
        let previous = webhook.secrets.and_then(|secrets| secrets.previous?.until);
        let previous_secret_until = previous.filter(|until| *until > unit.now());
        Ok(Self { id, path: format!("/api/v1/hooks/{id}"), secret: None, previous_secret_until, automation })
    }
}
