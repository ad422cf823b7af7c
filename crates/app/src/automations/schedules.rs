//! Schedules: make, change, read, list, delete.

use pinhole_contract::{
    CreateSchedule, DeleteSchedule, GetSchedule, ListSchedules, ScheduleList, ScheduleView, UpdateSchedule,
};
use pinhole_core::{Actor, AutomationId, AutomationKind, Error, Result, ScheduleId};
use pinhole_store::{Automation, Timing};

use super::{
    change::{self, Draft},
    kinds::{self, KindView, view_of},
};
use crate::{App, unit::Unit};

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateSchedule) -> Result<ScheduleView> {
    let command = &command;
    app.write(actor, "create_schedule", move |unit, _| {
        Box::pin(async move {
            let CreateSchedule { title, run, cron, time_zone, enabled, idempotency_key } = command;
            let timing = Some(Timing { cron: cron.clone(), time_zone: time_zone.clone() });
            let draft = Draft { title, run, enabled: *enabled, timing };
            let id = AutomationId::Schedule(ScheduleId::from_uuid(unit.uuid()));
            let call = (idempotency_key.as_ref(), command);
            let (schedule, replayed) = change::create(unit, id, &draft, call, |_| Ok(None)).await?;
            ScheduleView::of(unit, schedule, replayed).await
        })
    })
    .await
}

pub(crate) async fn update(app: &App, actor: &Actor, command: UpdateSchedule) -> Result<ScheduleView> {
    let command = &command;
    app.write(actor, "update_schedule", move |unit, _| {
        Box::pin(async move {
            let UpdateSchedule { schedule_id, title, run, cron, time_zone, enabled, expected_version } = command;
            let timing = Some(Timing { cron: cron.clone(), time_zone: time_zone.clone() });
            let draft = Draft { title, run, enabled: *enabled, timing };
            let id = AutomationId::Schedule(*schedule_id);
            let schedule = change::update(unit, id, &draft, *expected_version, |_, _| Ok(None)).await?;
            ScheduleView::of(unit, schedule, false).await
        })
    })
    .await
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetSchedule) -> Result<ScheduleView> {
    kinds::get(app, actor, "get_schedule", AutomationId::Schedule(command.schedule_id)).await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListSchedules) -> Result<ScheduleList> {
    let page = (&command.project, command.limit, command.cursor.as_ref());
    let (schedules, next_cursor) = kinds::list(app, actor, "list_schedules", page).await?;
    Ok(ScheduleList { schedules, next_cursor })
}

pub(crate) async fn delete(app: &App, actor: &Actor, command: DeleteSchedule) -> Result<ScheduleView> {
    let target = (AutomationId::Schedule(command.schedule_id), command.expected_version);
    kinds::delete(app, actor, "delete_schedule", target).await
}

impl KindView for ScheduleView {
    const KIND: AutomationKind = AutomationKind::Schedule;

    async fn of(unit: &mut Unit, schedule: Automation, replayed: bool) -> Result<Self> {
        let automation = view_of(unit, &schedule, replayed).await?;
        let (AutomationId::Schedule(id), Some(Timing { cron, time_zone })) = (schedule.id, schedule.timing) else {
            return Err(Error::internal("a schedule without its times"));
        };
        Ok(Self { id, cron, time_zone, next_at: schedule.next_at, automation })
    }
}
