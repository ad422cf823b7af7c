//! Schedules: they start runs at times of their own.

use pinhole_core::{CronExpression, IdempotencyKey, RunSelectors, ScheduleId, Slug, Timestamp, Title, ZoneName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AutomationView, spec};
use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec};

/// Make a schedule. It is checked like the start of a run, enabled or not.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSchedule {
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from.
    pub run: RunSelectors,
    /// When: minute, hour, day of the month, month, day of the week.
    pub cron: CronExpression,
    /// On whose clock.
    pub time_zone: ZoneName,
    /// Whether it starts anything.
    pub enabled: bool,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A schedule.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleView {
    /// Its id.
    pub id: ScheduleId,
    /// When: minute, hour, day of the month, month, day of the week.
    pub cron: CronExpression,
    /// On whose clock.
    pub time_zone: ZoneName,
    /// When it is due next; null while it is not enabled.
    pub next_at: Option<Timestamp>,
    /// What all kinds show.
    #[serde(flatten)]
    pub automation: AutomationView,
}

impl Operation for CreateSchedule {
    type Output = ScheduleView;
    const SPEC: Spec = spec(
        "create_schedule",
        "Make a schedule that starts runs at the times of a cron expression.",
        Idempotency::Keyed,
        Method::Post,
        "/automations/schedules",
    );
}

/// Change a schedule as a whole. From then on it runs with the caller's grants.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSchedule {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// Its name for people.
    pub title: Title,
    /// What its runs are started from.
    pub run: RunSelectors,
    /// When: minute, hour, day of the month, month, day of the week.
    pub cron: CronExpression,
    /// On whose clock.
    pub time_zone: ZoneName,
    /// Whether it starts anything.
    pub enabled: bool,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for UpdateSchedule {
    type Output = ScheduleView;
    const SPEC: Spec = spec(
        "update_schedule",
        "Change a schedule as a whole; from then on it runs with the caller's grants.",
        Idempotency::Cas,
        Method::Put,
        "/automations/schedules/{schedule_id}",
    );
}

/// Read a schedule.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetSchedule {
    /// The schedule.
    pub schedule_id: ScheduleId,
}

impl Operation for GetSchedule {
    type Output = ScheduleView;
    const SPEC: Spec = spec(
        "get_schedule",
        "Read a schedule with its newest deliveries; a deleted one too.",
        Idempotency::Read,
        Method::Get,
        "/automations/schedules/{schedule_id}",
    );
}

/// List the schedules of a project, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSchedules {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// One page of schedules.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleList {
    /// The schedules.
    pub schedules: Vec<ScheduleView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListSchedules {
    type Output = ScheduleList;
    const SPEC: Spec = spec(
        "list_schedules",
        "List the schedules of a project whose environments the caller operates, newest first.",
        Idempotency::Read,
        Method::Get,
        "/automations/schedules",
    );
}

/// Delete a schedule. Its deliveries are kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSchedule {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The version that the caller read.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for DeleteSchedule {
    type Output = ScheduleView;
    const SPEC: Spec = spec(
        "delete_schedule",
        "Delete a schedule for good; its deliveries can still be read.",
        Idempotency::Cas,
        Method::Delete,
        "/automations/schedules/{schedule_id}",
    );
}
