//! One capture job: claim the cell, run it while the lease is kept, stage what it gave, submit.

use std::sync::Arc;

use pinhole_app::{App, Claim, Lease};
use pinhole_browser::{CapturedCheckpoint, CellOutcome, CellPlan, ExtractedValues, HostPort, run_cell};
use pinhole_core::{
    ArtifactKind, CellFailure, Clock as _, FailureReason, Result, SandboxFacts, StagedCheckpoint, StagedExtract,
    Submission, SystemClock, Timestamp, canonical_json,
};
use pinhole_jobs::CaptureJob;
use pinhole_scenario::EvidenceKind;
use tokio::time::{MissedTickBehavior, interval};

use crate::{fault::Fault, lane::Lanes};

pub(crate) async fn capture(app: App, lanes: Arc<Lanes>, job: CaptureJob, fault: Option<Fault>) -> Result<()> {
    let worker = format!("{}-{}", rustix::system::uname().nodename().to_string_lossy(), std::process::id());
    let Some(claim) = app.claim(job.cell, &worker).await? else { return Ok(()) };
    Fault::Claimed.reach(fault, claim.lease.attempt);
    let work = work(&app, &lanes, &claim, fault);
    tokio::select! {
        done = work => done,
        // Dropping the work kills the browser that it used; nothing that it might still say would count.
        () = lost(app.clone(), claim.lease) => {
            tracing::warn!(cell = %claim.lease.cell, attempt = claim.lease.attempt, "lease lost; the work is dropped");
            Ok(())
        }
    }
}

/// Keeps the lease, and returns when it is lost. An error counts as a loss once the lease would have run out.
async fn lost(app: App, lease: Lease) {
    let length = app.settings().lease;
    let keeping = tokio::spawn(async move {
        let mut tick = interval(length / 4);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut renewed = tokio::time::Instant::now();
        loop {
            tick.tick().await;
            match app.renew(&lease).await {
                Ok(true) => renewed = tokio::time::Instant::now(),
                Ok(false) => return,
                Err(error) if renewed.elapsed() < length - length / 4 => {
                    tracing::warn!(%error, "the lease could not be renewed yet");
                }
                Err(_) => return,
            }
        }
    });
    let _guard = AbortOnDrop(keeping.abort_handle());
    let _ended = keeping.await;
}

/// The renewal runs as a task of its own, so that no busy step delays it; it ends with the job.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn work(app: &App, lanes: &Lanes, claim: &Claim, fault: Option<Fault>) -> Result<()> {
    let submission = match lanes.take().await? {
        Err(error) => no_browser(error.to_string()),
        Ok(taken) => {
            let sandbox = taken.browser.facts().sandbox();
            let outcome = run_cell(&taken.browser, &plan(app, claim, &allowed_hosts(claim))).await;
            lanes.give_back(taken).await;
            match stage(app, claim, outcome, sandbox, fault).await {
                Ok(submission) => submission,
                Err(error) => {
                    tracing::warn!(?error, "the captures could not be staged");
                    not_stored()
                }
            }
        }
    };
    Fault::BeforeSubmit.reach(fault, claim.lease.attempt);
    if !app.submit(&claim.lease, &submission).await? {
        tracing::warn!(cell = %claim.lease.cell, "lease lost before the submission; nothing was recorded");
    }
    Ok(())
}

fn plan<'a>(app: &App, claim: &'a Claim, allowed_hosts: &'a [HostPort]) -> CellPlan<'a> {
    CellPlan {
        scenario: &claim.scenario,
        profile: &claim.profile,
        base_url: &claim.base_url,
        allowed_hosts,
        headers: &claim.headers,
        deadline: app.settings().cell_deadline,
        step_deadline: app.settings().step_deadline,
        known_pictures: &claim.known_pictures,
        proxy: None,
    }
}

fn allowed_hosts(claim: &Claim) -> Vec<HostPort> {
    claim.allowed_hosts.iter().map(|(host, port)| HostPort { host: host.clone(), port: *port }).collect()
}

async fn stage(
    app: &App,
    claim: &Claim,
    outcome: CellOutcome,
    sandbox: SandboxFacts,
    fault: Option<Fault>,
) -> Result<Submission> {
    let lease = &claim.lease;
    let captured_at = SystemClock.now();
    let mut checkpoints = Vec::with_capacity(outcome.checkpoints.len());
    for (index, checkpoint) in outcome.checkpoints.into_iter().enumerate() {
        checkpoints.push(stage_checkpoint(app, lease, index, checkpoint, captured_at).await?);
        Fault::Staged.reach(fault, lease.attempt);
    }
    let mut extracts = Vec::with_capacity(outcome.extracts.len());
    for (index, extract) in outcome.extracts.into_iter().enumerate() {
        extracts.push(stage_extract(app, lease, index, extract, captured_at).await?);
    }
    let mut evidence = Vec::new();
    let wanted = claim.scenario.evidence.contains(&EvidenceKind::Console) || outcome.failure.is_some();
    if wanted && !outcome.console.is_empty() {
        evidence.push(app.stage(lease, ArtifactKind::Console, "console", outcome.console).await?);
    }
    if let Some(picture) = outcome.failure_picture {
        evidence.push(app.stage(lease, ArtifactKind::FailurePicture, "failure", picture).await?);
    }
    Ok(Submission {
        checkpoints,
        extracts,
        evidence,
        failed_assertions: outcome.failed_assertions,
        sandbox,
        failure: outcome.failure,
    })
}

async fn stage_checkpoint(
    app: &App,
    lease: &Lease,
    index: usize,
    checkpoint: CapturedCheckpoint,
    captured_at: Timestamp,
) -> Result<StagedCheckpoint> {
    let name = format!("picture-{index}");
    Ok(StagedCheckpoint {
        name: checkpoint.name,
        picture: app.stage(lease, ArtifactKind::Picture, &name, checkpoint.png).await?,
        layout: checkpoint.layout,
        render: checkpoint.render,
        masked: checkpoint.masked,
        ignored: checkpoint.ignored,
        url: checkpoint.url,
        not_evidence: checkpoint.not_evidence,
        settled: checkpoint.settled,
        captured_at,
    })
}

async fn stage_extract(
    app: &App,
    lease: &Lease,
    index: usize,
    extract: ExtractedValues,
    captured_at: Timestamp,
) -> Result<StagedExtract> {
    let values = canonical_json(&extract.values)?;
    Ok(StagedExtract {
        name: extract.name,
        values: app.stage(lease, ArtifactKind::Values, &format!("values-{index}"), values).await?,
        render: extract.render,
        url: extract.url,
        not_evidence: extract.not_evidence,
        captured_at,
    })
}

fn no_browser(message: String) -> Submission {
    failed(FailureReason::BrowserCrashed, format!("the browser could not be started: {message}"))
}

fn not_stored() -> Submission {
    failed(FailureReason::StorageUnavailable, "the captures could not be written to the storage".into())
}

/// A submission that holds a failure and nothing else.
fn failed(reason: FailureReason, message: String) -> Submission {
    Submission {
        checkpoints: Vec::new(),
        extracts: Vec::new(),
        evidence: Vec::new(),
        failed_assertions: Vec::new(),
        sandbox: SandboxFacts { uid: 0, sandboxed: false },
        failure: Some(CellFailure { reason, step: None, message }),
    }
}
