//! The capture worker: takes capture jobs, drives a browser, stages bytes, and hands them to the registrar.
//!
//! It runs in a process of its own and holds no key. Whatever it says counts only under a lease that lasts; it must
//! not decide, compare or sign anything.

mod canary;
mod fault;
mod job;
mod lane;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use pinhole_app::App;
use pinhole_browser::{BrowserConfig, clear_abandoned};
use pinhole_core::{Error, Result};
use pinhole_jobs::{CaptureJob, RunnerSettings};
use pinhole_runtime::{WorkerConfig, WorkerLink};
use tokio_util::sync::CancellationToken;

use crate::{fault::Fault, job::capture, lane::Lanes};

/// How long a cell under way may go on after the stop.
const GRACE: Duration = Duration::from_secs(10);

/// Runs a worker process: reads its configuration from standard input and works until that ends.
///
/// # Errors
/// `invalid_arguments` without a configuration, `provider_unavailable` when the database is away.
pub async fn run_process() -> Result<()> {
    let link = WorkerLink::open().await?;
    let (app, config) = (link.app.clone(), link.config.clone());
    let stop = CancellationToken::new();
    let (worked, ()) = tokio::join!(run(app, &config, stop.clone()), link.attend(stop));
    worked
}

/// Ends the browsers of workers that were killed; a server that had to kill one calls it when it ends.
pub async fn end_abandoned_browsers() {
    match tokio::task::spawn_blocking(clear_abandoned).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "what killed workers left could not be looked for"),
        Err(error) => tracing::warn!(%error, "looking for what killed workers left ended early"),
    }
}

/// Takes capture jobs until `stop`. Each lane has a browser of its own.
///
/// # Errors
/// `invalid_arguments` when the browser's settings cannot work here.
pub async fn run(app: App, config: &WorkerConfig, stop: CancellationToken) -> Result<()> {
    let concurrency = NonZeroUsize::new(config.lanes as usize)
        .ok_or_else(|| Error::invalid("capture.lanes", "expected at least one"))?;
    let settings = &config.browser;
    let browser = BrowserConfig {
        executable: settings.executable.clone(),
        uid: Some(settings.uid),
        allow_no_sandbox: settings.allow_no_sandbox,
    };
    let fault = config.crash_at.as_deref().map(str::parse::<Fault>).transpose()?;
    end_abandoned_browsers().await;
    let lanes = Arc::new(Lanes::new(browser, concurrency.get()));
    let wake = Some(app.wake().receiver());
    let runner = RunnerSettings { concurrency, wake, grace: GRACE, ..RunnerSettings::default() };
    let (store, wake) = (app.store().clone(), app.wake().clone());
    let canary = canary::watch(app.clone(), Arc::clone(&lanes), stop.clone());
    let handler = {
        let lanes = Arc::clone(&lanes);
        move |job: CaptureJob| capture(app.clone(), Arc::clone(&lanes), job, fault)
    };
    let listening = pinhole_jobs::listen(&store, &wake, stop.clone());
    tokio::join!(pinhole_jobs::run(&store, runner, stop.clone(), handler), listening, canary);
    lanes.close().await;
    Ok(())
}
