//! The registrar: turns what a worker staged into artifacts, signed receipts, verdicts and the result of the run.
//!
//! It trusts no number from a worker: it reads the staged bytes once, hashes and decodes those bytes, and stores those
//! under the server's own prefix. Everything it records, it records in one transaction.

mod compare;
mod intake;
mod record;
mod values;
mod verdict;

use std::time::Duration;

use pinhole_blobs::StagingFolder;
use pinhole_core::{
    BaselineKey, BaselineKind, BaselinePin, CellFailure, CellId, ClaimToken, Code, Error, FailureReason, Pins, Result,
    RunState, Slug, Submission,
};
use pinhole_scenario::Scenario;
use pinhole_store::{Cell, Receipt, Run};

use crate::{App, unit::Unit};

/// How often a registration is begun one after the other at most; then the cell fails.
const MAX_TRIES: u32 = 5;
/// How long one registration may take before another is begun.
const TRY_DUE: Duration = Duration::from_secs(60);

/// A cell at the registrar, with what its submission is checked against.
pub(crate) struct Registration {
    pub(crate) cell: Cell,
    pub(crate) token: ClaimToken,
    pub(crate) worker: String,
    pub(crate) run: Run,
    pub(crate) project_slug: Slug,
    pub(crate) scenario: Scenario,
    pub(crate) submission: Submission,
    /// Whether so many tries have come to nothing that there is no other.
    pub(crate) exhausted: bool,
    /// The pinned receipt of each submitted checkpoint, in order.
    pub(crate) baselines: Vec<Option<Receipt>>,
    /// The same for each submitted extract.
    pub(crate) value_baselines: Vec<Option<Receipt>>,
}

impl App {
    /// Registers what attempt `attempt` of a cell submitted. Does nothing when that was done already or is no longer
    /// asked for, so it may be called any number of times.
    ///
    /// # Errors
    /// What a later try may not meet: the storage or the database is away. Whatever a worker did wrong is recorded as
    /// `registration_refused` and is no error.
    pub async fn register(&self, cell: CellId, attempt: u32) -> Result<()> {
        let Some(registration) = self.begin_registration(cell, attempt).await? else { return Ok(()) };
        let folder = StagingFolder::new(registration.cell.id, registration.token);
        if registration.exhausted {
            let message = format!("the registration was begun {MAX_TRIES} times and never ended");
            return self.refuse(registration, message).await;
        }
        match self.take_in(&registration, &folder).await {
            Ok(taken) => self.record(&registration, &taken).await?,
            Err(error) if is_ours(&error) => return Err(error),
            Err(error) => self.refuse(registration, error.message().to_owned()).await?,
        }
        // What is left here after a crash is removed with the staging folder's age.
        self.blobs().drop_staging(&folder).await
    }

    async fn begin_registration(&self, cell: CellId, attempt: u32) -> Result<Option<Registration>> {
        self.bookkeeping("begin_registration", move |unit, _| {
            Box::pin(async move {
                let due = unit.now().plus(TRY_DUE);
                let Some(cell) = unit.begin_registration(cell, attempt, due).await? else { return Ok(None) };
                load(unit, cell).await.map(Some)
            })
        })
        .await
    }

    /// Ends the cell as failed because its submission is not what a worker may submit.
    async fn refuse(&self, registration: Registration, message: String) -> Result<()> {
        tracing::warn!(cell = %registration.cell.id, worker = registration.worker, message, "registration refused");
        let failure = CellFailure { reason: FailureReason::RegistrationRefused, step: None, message };
        self.fail_cell(&registration.cell, RunState::Registering, failure).await
    }
}

/// Whether an error tells of our own storage or database rather than of what a worker staged.
fn is_ours(error: &Error) -> bool {
    matches!(error.code(), Code::ProviderUnavailable | Code::Internal)
}

async fn load(unit: &mut Unit, cell: Cell) -> Result<Registration> {
    let run = unit.run(cell.run_id).await?.ok_or_else(|| Error::internal("a cell without its run"))?;
    let project = unit.project(run.pins.project).await?.ok_or_else(|| Error::internal("a run without its project"))?;
    let revision = unit.scenario_revision(run.pins.scenario, run.pins.scenario_digest).await?;
    let revision = revision.ok_or_else(|| Error::internal("a run without its scenario revision"))?;
    let submission = cell.submission.clone().ok_or_else(|| Error::internal("a registering cell without submission"))?;
    let token = cell.claim_token.ok_or_else(|| Error::internal("a registering cell without claim token"))?;
    let attempt = unit.attempts_of(cell.id).await?.pop();
    let attempt = attempt.ok_or_else(|| Error::internal("a registering cell without its attempt"))?;
    // Tries that run at the same time, from repeated jobs, are not tries that came to nothing: those take their time.
    let waited = attempt.ended_at.map_or(Duration::ZERO, |submitted| unit.now().since(submitted));
    let exhausted = cell.register_tries > MAX_TRIES && waited >= TRY_DUE * MAX_TRIES;
    let scenario = Scenario::from_canonical(revision.canonical.as_bytes())?;
    let mut baselines = Vec::new();
    // A worker may say more checkpoints than there are; intake refuses that.
    for checkpoint in submission.checkpoints.iter().take(scenario.captures().count()) {
        let place = (&checkpoint.name, &cell.name, BaselineKind::Visual);
        baselines.push(baseline_receipt(unit, &run.pins, place).await?);
    }
    let mut value_baselines = Vec::new();
    for extract in submission.extracts.iter().take(scenario.extracts().count()) {
        let place = (&extract.name, &cell.name, BaselineKind::Structured);
        value_baselines.push(baseline_receipt(unit, &run.pins, place).await?);
    }
    Ok(Registration {
        token,
        worker: attempt.worker,
        project_slug: project.slug,
        scenario,
        submission,
        exhausted,
        baselines,
        value_baselines,
        run,
        cell,
    })
}

/// The receipt that a checkpoint of a profile is compared with, by the run's pins; `None` when there is none.
pub(crate) async fn baseline_receipt(
    unit: &mut Unit,
    pins: &Pins,
    (checkpoint, profile, kind): (&Slug, &Slug, BaselineKind),
) -> Result<Option<Receipt>> {
    match &pins.baseline {
        BaselinePin::None { .. } => Ok(None),
        BaselinePin::Line { name, revision, environment, .. } => {
            let environment = unit.environment(*environment).await?;
            let environment = environment.ok_or_else(|| Error::internal("a pin without its environment"))?;
            let key = BaselineKey {
                line: name.clone(),
                scenario: pins.scenario_slug.clone(),
                environment: environment.slug,
                checkpoint: checkpoint.clone(),
                profile: profile.clone(),
                kind,
            };
            match unit.entry_at(pins.project, &key, *revision).await? {
                Some(entry) => unit.receipt(entry.receipt_id).await,
                None => Ok(None),
            }
        }
        BaselinePin::Receipts { receipts } => {
            for id in receipts {
                let receipt = unit.receipt(*id).await?;
                let receipt = receipt.ok_or_else(|| Error::internal("a pin without its receipt"))?;
                if receipt.checkpoint == *checkpoint && receipt.profile == *profile && receipt.kind == kind {
                    return Ok(Some(receipt));
                }
            }
            Ok(None)
        }
    }
}
