//! Schedules that are due. Any number of processes may look at the same time, and each may end at any moment: moving the
//! schedule on, its run and the ledger's row are one transaction.

use pinhole_core::{DeliveryKey, Error, Result, Timestamp};
use pinhole_store::{Automation, Refusal, Timing};

use super::delivery::{actor_of, is_final, record, refusal_of, start};
use crate::{App, runs::Trigger, unit::Unit};

/// Up to how many times that passed unseen are counted.
const MAX_MISSED: u32 = 1000;

impl App {
    /// Deals once with every schedule that is due, at most 100 of them, and says how many there were. Times that passed
    /// while nobody looked start one run together.
    ///
    /// # Errors
    /// The last of the database's, when all the others have been dealt with: no schedule holds up another.
    pub async fn fire_due_schedules(&self) -> Result<usize> {
        let mut tx = self.store().begin_read().await?;
        let due = tx.due_schedules().await?;
        drop(tx);
        let mut failed = None;
        for schedule in &due {
            if let Err(error) = self.fire(schedule).await {
                tracing::warn!(schedule = %schedule.id, ?error, "the schedule was not dealt with");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(due.len()), Err)
    }

    async fn fire(&self, schedule: &Automation) -> Result<()> {
        match self.fire_once(schedule, None).await {
            // Our own fault, which the next look would meet again: it is told, and the schedule goes on.
            Err(error) if error.code() == pinhole_core::Code::Internal => {
                tracing::error!(schedule = %schedule.id, ?error, "the schedule started nothing");
                self.fire_once(schedule, Some(&refusal_of(&error))).await
            }
            outcome => outcome,
        }
    }

    async fn fire_once(&self, schedule: &Automation, fault: Option<&Refusal>) -> Result<()> {
        // A look at the file system, before the transaction is open.
        let space = &self.blobs().free_space_percent();
        let actor = actor_of(self, schedule);
        self.write(&actor, "fire_schedule", move |unit, _| {
            Box::pin(async move { deal_with(unit, schedule, fault, space).await })
        })
        .await
    }
}

/// Starts the run of a schedule as it was when it was found due, unless another process has dealt with that time or a
/// person has changed the schedule.
async fn deal_with(
    unit: &mut Unit,
    schedule: &Automation,
    fault: Option<&Refusal>,
    space: &Result<Option<f64>>,
) -> Result<()> {
    let (Some(due), Some(timing)) = (schedule.next_at, &schedule.timing) else {
        return Err(Error::internal("a schedule that is due has its times"));
    };
    let (next, missed) = following(timing, due, unit.now());
    if !unit.advance_schedule(schedule, due, next).await? {
        unit.unaudited();
        return Ok(());
    }
    let key: DeliveryKey = due.to_string().parse()?;
    if unit.delivery(schedule.id, &key).await?.is_some() {
        // The clock went back, and with it a schedule that was changed meanwhile.
        unit.unaudited();
        return Ok(());
    }
    let started = match fault {
        Some(fault) => Err(fault.clone()),
        None => match start(unit, schedule, Trigger::Schedule, space).await {
            Ok(run) => Ok(run),
            Err(error) if is_final(&error) || error.reason() == Some("free_space") => Err(refusal_of(&error)),
            Err(error) => return Err(error),
        },
    };
    record(unit, schedule, key, started.as_ref().map_err(Clone::clone), (missed, Default::default())).await?;
    Ok(())
}

/// The first time after `now`, and how many there are between `due` and then.
fn following(timing: &Timing, due: Timestamp, now: Timestamp) -> (Option<Timestamp>, u32) {
    let next_after = |time| timing.cron.next_after(time, &timing.time_zone);
    let (mut missed, mut time) = (0, due);
    while let Some(next) = next_after(time).filter(|next| *next <= now && missed < MAX_MISSED) {
        (missed, time) = (missed + 1, next);
    }
    (next_after(now.max(due)), missed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_that_passed_are_counted_and_not_made_up_for() {
        let timing = Timing { cron: "*/10 * * * *".parse().unwrap(), time_zone: pinhole_core::ZoneName::utc() };
        let due = Timestamp::from_micros(1_767_225_600_000_000);
        let after = |minutes: u64| due.plus(Duration::from_secs(60 * minutes));
        assert_eq!(following(&timing, due, due), (Some(after(10)), 0));
        assert_eq!(following(&timing, due, after(9)), (Some(after(10)), 0));
        assert_eq!(following(&timing, due, after(10)), (Some(after(20)), 1));
        assert_eq!(following(&timing, due, after(35)), (Some(after(40)), 3));
        let (next, missed) = following(&timing, due, after(100_000));
        assert_eq!((next, missed), (Some(after(100_010)), MAX_MISSED));
    }
}
