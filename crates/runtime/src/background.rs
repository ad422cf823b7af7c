//! Work that runs beside the server: the registrar, the sweeper, the scheduler, the sequencer of the transparency log, the
//! removal of finished jobs, and the trial of the storage.

use std::{num::NonZeroUsize, time::Duration};

use pinhole_app::App;
use pinhole_jobs::{RegisterJob, RunnerSettings};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

/// How often unfinished cells are looked at.
const SWEEP: Duration = Duration::from_secs(2);
/// How often schedules are looked at.
const SCHEDULES: Duration = Duration::from_secs(1);
/// How often it is looked whether anything is to go into the transparency log.
const SEQUENCE: Duration = Duration::from_secs(1);
/// How long the log is left alone after it failed.
const SEQUENCE_PAUSE: Duration = Duration::from_secs(10);
/// How often the storage is tried out.
const PROBE: Duration = Duration::from_secs(60);
/// Sweeps between two removals of finished jobs.
const REMOVE_EVERY: u32 = 150;

/// Registers submissions until `stop`, as many at a time as there are cores; decoding is what costs.
pub async fn registrar(app: App, stop: CancellationToken) {
    let concurrency = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let wake = Some(app.wake().receiver());
    let settings = RunnerSettings { concurrency, wake, ..RunnerSettings::default() };
    let store = app.store().clone();
    pinhole_jobs::run(&store, settings, stop, move |job: RegisterJob| {
        let app = app.clone();
        async move { app.register(job.cell, job.attempt).await }
    })
    .await;
}

/// Tries the storage out at once and then every minute until `stop`, and records how it went.
pub async fn storage_prober(app: App, stop: CancellationToken) {
    let mut tick = interval(PROBE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if let Some(Err(error)) = stop.run_until_cancelled(app.probe_storage()).await {
            tracing::warn!(?error, "the storage probe could not be recorded");
        }
    }
}

/// Sweeps until `stop`. An error is logged, and the next sweep goes on.
pub async fn sweeper(app: App, stop: CancellationToken) {
    let mut tick = interval(SWEEP);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sweeps: u32 = 0;
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if let Err(error) = app.sweep().await {
            tracing::warn!(?error, "the sweep did not end");
        }
        sweeps = sweeps.wrapping_add(1);
        if sweeps.is_multiple_of(REMOVE_EVERY)
            && let Err(error) = pinhole_jobs::sweep_finished(app.store()).await
        {
            tracing::warn!(?error, "finished jobs were not removed");
        }
    }
}

/// Starts what schedules are due until `stop`. An error is logged, and the next look goes on.
pub async fn scheduler(app: App, stop: CancellationToken) {
    let mut tick = interval(SCHEDULES);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if let Err(error) = app.fire_due_schedules().await {
            tracing::warn!(?error, "not every schedule was dealt with");
        }
    }
}

/// Takes what is committed into the transparency log until `stop`. When the log is refused, the reason is logged again
/// and again, because nothing is published until it is dealt with.
pub async fn sequencer(app: App, stop: CancellationToken) {
    let mut tick = interval(SEQUENCE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if let Err(error) = app.keep_log().await {
            tracing::error!(?error, "the transparency log does not go on");
            stop.run_until_cancelled(sleep(SEQUENCE_PAUSE)).await;
        }
    }
}
