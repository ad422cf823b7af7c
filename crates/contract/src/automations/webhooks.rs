//! Webhooks: they start a run for each signed delivery.

use pinhole_core::{DeliveryKey, IdempotencyKey, RunId, RunSelectors, Slug, Timestamp, Title, WebhookId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AutomationView, spec};
use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec};

/// Make a webhook. It is checked like the start of a run, enabled or not.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhook {
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from.
    pub run: RunSelectors,
    /// Whether it starts anything.
    pub enabled: bool,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// What becomes of the secret that a new one replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretRotation {
    /// It is taken for another day, so that senders can change over.
    KeepPrevious,
    /// It is taken no more.
    Immediately,
}

/// What a verified delivery came to, as its sender is told.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeliveredView {
    /// The id that the sender gave.
    pub id: DeliveryKey,
    /// The run that it started.
    pub run_id: RunId,
    /// True when an earlier delivery with this id started it.
    pub replayed: bool,
}

/// A webhook.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WebhookView {
    /// Its id.
    pub id: WebhookId,
    /// Where senders deliver, on this server.
    pub path: String,
    /// What deliveries are signed with, as Standard Webhooks write it. Shown once: when it was made, here; else null.
    pub secret: Option<String>,
    /// Until when the secret before is still taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_secret_until: Option<Timestamp>,
    /// What all kinds show.
    #[serde(flatten)]
    pub automation: AutomationView,
}

impl Operation for CreateWebhook {
    type Output = WebhookView;
    const SPEC: Spec = spec(
        "create_webhook",
        "Make a webhook that starts a run for each delivery signed with its secret, which the answer shows once.",
        Idempotency::Keyed,
        Method::Post,
        "/automations/webhooks",
    );
}

/// Change a webhook as a whole. From then on it runs with the caller's grants.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWebhook {
    /// The webhook.
    pub webhook_id: WebhookId,
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from.
    pub run: RunSelectors,
    /// Whether it starts anything.
    pub enabled: bool,
    /// Makes a new secret, which the answer shows.
    #[serde(default)]
    pub rotate_secret: Option<SecretRotation>,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for UpdateWebhook {
    type Output = WebhookView;
    const SPEC: Spec = spec(
        "update_webhook",
        "Change a webhook as a whole; from then on it runs with the caller's grants.",
        Idempotency::Cas,
        Method::Put,
        "/automations/webhooks/{webhook_id}",
    );
}

/// Read a webhook.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetWebhook {
    /// The webhook.
    pub webhook_id: WebhookId,
}

impl Operation for GetWebhook {
    type Output = WebhookView;
    const SPEC: Spec = spec(
        "get_webhook",
        "Read a webhook with its newest deliveries; a deleted one too.",
        Idempotency::Read,
        Method::Get,
        "/automations/webhooks/{webhook_id}",
    );
}

/// List the webhooks of a project, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListWebhooks {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of webhooks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WebhookList {
    /// The webhooks.
    pub webhooks: Vec<WebhookView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListWebhooks {
    type Output = WebhookList;
    const SPEC: Spec = spec(
        "list_webhooks",
        "List the webhooks of a project whose environments the caller operates, newest first.",
        Idempotency::Read,
        Method::Get,
        "/automations/webhooks",
    );
}

/// Delete a webhook. Its deliveries are kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteWebhook {
    /// The webhook.
    pub webhook_id: WebhookId,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for DeleteWebhook {
    type Output = WebhookView;
    const SPEC: Spec = spec(
        "delete_webhook",
        "Delete a webhook for good; its deliveries can still be read.",
        Idempotency::Cas,
        Method::Delete,
        "/automations/webhooks/{webhook_id}",
    );
}
