//! Automations: schedules, webhooks and CI dispatches, which start runs without a person.

mod ci_dispatches;
mod schedules;
mod webhooks;

use std::collections::BTreeMap;

use pinhole_core::{
    Code, DeliveryKey, DeliveryOutcome, Details, Permission, PrincipalId, RunId, RunSelectors, Timestamp, Title,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Idempotency, Method, Spec, Surfaces, Who};

pub use ci_dispatches::{
    CiDispatchList, CiDispatchView, CreateCiDispatch, DeleteCiDispatch, DispatchCi, GetCiDispatch, ListCiDispatches,
    UpdateCiDispatch,
};
pub use schedules::{
    CreateSchedule, DeleteSchedule, GetSchedule, ListSchedules, ScheduleList, ScheduleView, UpdateSchedule,
};
pub use webhooks::{
    CreateWebhook, DeleteWebhook, DeliveredView, GetWebhook, ListWebhooks, SecretRotation, UpdateWebhook, WebhookList,
    WebhookView,
};

/// What all kinds of automations show.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AutomationView {
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from; resolved to pins anew for each run.
    pub run: RunSelectors,
    /// Whether it starts anything.
    pub enabled: bool,
    /// Counts changes by people.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// Its newest deliveries, newest first; at most 20.
    pub deliveries: Vec<DeliveryView>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

/// What one delivery of an automation came to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryView {
    /// What tells it from the others: the time of a schedule, the id that a webhook's sender gave, or the run that CI
    /// started.
    pub key: DeliveryKey,
    /// When it was dealt with.
    pub at: Timestamp,
    /// How it ended.
    pub outcome: DeliveryOutcome,
    /// The run that it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Why it started none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalView>,
    /// How many later times of a schedule passed before it was dealt with, and were not made up for; counted up to 1000.
    pub missed: u32,
    /// What the sender said about it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Why a delivery started no run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RefusalView {
    /// The error's code.
    pub code: Code,
    /// For people.
    pub message: String,
    /// For programs.
    pub details: Details,
}

/// An operation on automations.
const fn spec(
    name: &'static str,
    summary: &'static str,
    idempotency: Idempotency,
    method: Method,
    path: &'static str,
) -> Spec {
    let permission = Some(Permission::AutomationWrite);
    Spec { name, summary, permission, who: Who::Any, idempotency, surfaces: Surfaces::RestAndMcp, method, path }
}
