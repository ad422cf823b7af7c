//! What a capture worker may do: claim a cell, keep its lease, stage bytes, hand over a submission. Every write carries
//! the claim token and counts only while the lease lasts; the worker is believed in nothing else.

use std::{collections::BTreeMap, time::Duration};

use pinhole_blobs::StagingFolder;
use pinhole_core::{
    Actor, ArtifactKind, BaselineKind, BaselinePin, CellId, ClaimToken, Error, Profile, RequestId, Result, RunId,
    RunState, Sha256Digest, Slug, StagedArtifact, Submission,
};
use pinhole_jobs::{CaptureJob, RegisterJob};
use pinhole_scenario::Scenario;
use pinhole_store::{Cell, Run};
use url::Url;

use crate::{
    App,
    environments::{allowed_hosts, document_of},
    registrar::baseline_receipt,
    unit::Unit,
};

/// How often a cell is tried at most.
pub(crate) const MAX_ATTEMPTS: u32 = 3;
/// When the sweeper queues the register job again if nothing came of it.
pub(crate) const REGISTER_DUE: Duration = Duration::from_secs(10);

/// The right to work on a cell, for as long as it is renewed.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    /// The cell.
    pub cell: CellId,
    /// The token that every write carries.
    pub token: ClaimToken,
    /// Which attempt it is, from 1.
    pub attempt: u32,
}

/// A claimed cell with everything that its worker needs, and nothing more.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The lease.
    pub lease: Lease,
    /// The run.
    pub run: RunId,
    /// What to do.
    pub scenario: Scenario,
    /// The matrix row's name, or `default`.
    pub profile_name: Slug,
    /// The device that the page is shown.
    pub profile: Profile,
    /// Where relative URLs start.
    pub base_url: Url,
    /// Further hosts that may be navigated to, each with its port.
    pub allowed_hosts: Vec<(String, u16)>,
    /// Names and values of headers that every request of the page carries.
    pub headers: Vec<(String, String)>,
    /// SHA-256 of the pinned pictures' files by checkpoint: an equal file needs no second look.
    pub known_pictures: BTreeMap<Slug, Sha256Digest>,
}

impl App {
    /// Takes a queued cell; `None` when it is not to be had, because another worker has it or it has ended.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn claim(&self, cell: CellId, worker: &str) -> Result<Option<Claim>> {
        self.bookkeeping("claim_cell", move |unit, _| {
            Box::pin(async move {
                let token = ClaimToken::from_uuid(unit.uuid());
                let until = unit.now().plus(unit.app().settings().lease);
                let Some(cell) = unit.claim_cell(cell, token, worker, until).await? else { return Ok(None) };
                let run = unit.run(cell.run_id).await?.ok_or_else(|| Error::internal("a cell without its run"))?;
                unit.refresh_run_state(run.id, RunState::Running).await?;
                claim(unit, cell, token, run).await.map(Some)
            })
        })
        .await
    }

    /// Keeps a lease; false when it is lost, and then the worker must stop at once.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn renew(&self, lease: &Lease) -> Result<bool> {
        let lease = *lease;
        self.bookkeeping("renew_cell", move |unit, _| {
            Box::pin(async move {
                let until = unit.now().plus(unit.app().settings().lease);
                unit.renew_cell(lease.cell, lease.token, until).await
            })
        })
        .await
    }

    /// Puts bytes into the lease's own staging folder.
    ///
    /// # Errors
    /// `provider_unavailable` when the storage does not take them.
    pub async fn stage(&self, lease: &Lease, kind: ArtifactKind, name: &str, bytes: Vec<u8>) -> Result<StagedArtifact> {
        let staged = StagedArtifact {
            kind,
            name: name.to_owned(),
            size_bytes: bytes.len() as u64,
            sha256: Sha256Digest::of(&bytes),
        };
        self.blobs().stage(&StagingFolder::new(lease.cell, lease.token), name, bytes).await?;
        Ok(staged)
    }

    /// The worker's last guarded write: hands the submission to the registrar, or queues the cell again when it failed
    /// for a reason that another attempt may not meet. False when the lease is lost; then nothing was changed.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn submit(&self, lease: &Lease, submission: &Submission) -> Result<bool> {
        let lease = *lease;
        self.bookkeeping("submit_cell", move |unit, _| {
            Box::pin(async move {
                let again = submission.failure.as_ref().filter(|failure| failure.reason.is_worth_retrying());
                // Which attempt it is, the row says: by the worker's word a poison job could go on for ever.
                let attempt = unit.cell(lease.cell).await?.map_or(MAX_ATTEMPTS, |cell| cell.attempt);
                match again {
                    Some(failure) if attempt < MAX_ATTEMPTS => {
                        let delay = unit.app().settings().wait_after(attempt);
                        let not_before = unit.now().plus(delay);
                        let held = unit.renew_cell(lease.cell, lease.token, not_before).await?;
                        if held {
                            unit.requeue_cell(lease.cell, lease.token, not_before, "failed", Some(failure)).await?;
                            unit.enqueue(&CaptureJob { cell: lease.cell }, delay).await?;
                        }
                        Ok(held)
                    }
                    _ => hand_over(unit, &lease, submission).await,
                }
            })
        })
        .await
    }

    /// Changes rows in the name of Pinhole itself, without an audit row: leases and wake-ups are no decisions.
    pub(crate) async fn bookkeeping<'e, T, F>(&self, operation: &'static str, work: F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Unit, crate::Outlives<'t, 'e>) -> crate::BoxFuture<'t, Result<T>> + Sync,
        T: Send,
    {
        let actor = self.system_actor();
        let work = &work;
        self.write(&actor, operation, |unit, outlives| {
            unit.unaudited();
            work(unit, outlives)
        })
        .await
    }

    /// Pinhole itself, in a call of its own.
    pub(crate) fn system_actor(&self) -> Actor {
        Actor::system(RequestId::from_uuid(self.ids().uuid()))
    }
}

async fn hand_over(unit: &mut Unit, lease: &Lease, submission: &Submission) -> Result<bool> {
    let due = unit.now().plus(REGISTER_DUE);
    if !unit.submit_cell(lease.cell, lease.token, submission, due).await? {
        return Ok(false);
    }
    let cell = unit.cell(lease.cell).await?.ok_or_else(Error::not_found)?;
    let cells = unit.cells_of(cell.run_id).await?;
    if !cells.iter().any(|cell| matches!(cell.state, RunState::Queued | RunState::Running | RunState::AwaitingHuman)) {
        unit.refresh_run_state(cell.run_id, RunState::Registering).await?;
    }
    unit.enqueue(&RegisterJob { cell: cell.id, attempt: cell.attempt }, Duration::ZERO).await?;
    Ok(true)
}

async fn claim(unit: &mut Unit, cell: Cell, token: ClaimToken, run: Run) -> Result<Claim> {
    let pins = &run.pins;
    let revision = unit.scenario_revision(pins.scenario, pins.scenario_digest).await?;
    let revision = revision.ok_or_else(|| Error::internal("a run without its scenario revision"))?;
    let environment = unit.environment_revision(pins.environment, pins.environment_revision).await?;
    let environment = environment.ok_or_else(|| Error::internal("a run without its environment revision"))?;
    let document = document_of(&environment)?;
    let scenario = Scenario::from_canonical(revision.canonical.as_bytes())?;
    let mut known_pictures = BTreeMap::new();
    if !matches!(pins.baseline, BaselinePin::None { .. }) {
        for capture in scenario.captures() {
            if let Some(receipt) =
                baseline_receipt(unit, pins, (&capture.name, &cell.name, BaselineKind::Visual)).await?
            {
                known_pictures.insert(capture.name.clone(), receipt.capture_sha256);
            }
        }
    }
    Ok(Claim {
        lease: Lease { cell: cell.id, token, attempt: cell.attempt },
        run: run.id,
        scenario,
        profile_name: cell.name,
        profile: cell.profile,
        base_url: Url::parse(&pins.base_url).map_err(Error::internal)?,
        allowed_hosts: allowed_hosts(&document),
        headers: document.headers.iter().map(|header| (header.name.to_string(), header.value.to_string())).collect(),
        known_pictures,
    })
}
