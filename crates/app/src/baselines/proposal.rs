//! Candidates from their opening to the end of their capture: of a receipt that is there, or of a run that goes on.

use pinhole_contract::CandidateView;
use pinhole_core::{
    BaselineEntryId, BaselineKey, BaselineKind, CandidateId, CandidateState, CheckpointVerdict, EnvironmentId, Error,
    LineName, ProjectId, Reason, ReceiptId, Result, RunId, RunState, Slug,
};
use pinhole_store::{Candidate, CheckpointResult, Receipt, Run};
use serde_json::json;

use super::candidate::candidate_view;
use crate::{
    idempotency::KeyedCall,
    runs::{self, Admissible},
    unit::Unit,
};

/// What is proposed as a baseline.
pub(super) struct Proposal {
    project: ProjectId,
    environment: EnvironmentId,
    key: BaselineKey,
    run: RunId,
    receipt: Option<ReceiptId>,
    replaces: Option<(BaselineEntryId, Reason)>,
}

impl Proposal {
    /// Of a capture that the server registered.
    ///
    /// # Errors
    /// `conflict` when it cannot become a baseline.
    pub(super) fn of_receipt(run: &Run, receipt: &Receipt, line: LineName) -> Result<Self> {
        check_evidence(run, receipt)?;
        let key = key_of(run, line, (&receipt.checkpoint, &receipt.profile, receipt.kind));
        Ok(Self::of(run, key, Some(receipt.id)))
    }

    /// Of a capture that the run will make.
    ///
    /// # Errors
    /// `conflict` when the run will make no such capture, or cannot be started.
    pub(super) async fn of_run(
        unit: &mut Unit,
        admissible: Admissible,
        line: LineName,
        place: (&Slug, &Slug, BaselineKind),
    ) -> Result<Self> {
        let (checkpoint, profile, kind) = place;
        if !admissible.captures(checkpoint, profile, kind)? {
            let message =
                format!("the scenario's revision has no {kind} checkpoint {checkpoint} in a matrix row {profile}");
            return Err(Error::conflict("no_such_checkpoint", message));
        }
        let run = admissible.queue(unit, runs::Trigger::Call).await?;
        let key = key_of(&run, line, place);
        Ok(Self::of(&run, key, None))
    }

    fn of(run: &Run, key: BaselineKey, receipt: Option<ReceiptId>) -> Self {
        let (project, environment) = (run.pins.project, run.pins.environment);
        Self { project, environment, key, run: run.id, receipt, replaces: None }
    }

    /// The same, to replace an entry.
    pub(super) fn replacing(self, entry: BaselineEntryId, reason: Reason) -> Self {
        Self { replaces: Some((entry, reason)), ..self }
    }

    /// The key that it is for.
    pub(super) fn key(&self) -> &BaselineKey {
        &self.key
    }

    /// Opens the candidate.
    pub(super) async fn open(self, unit: &mut Unit, call: KeyedCall) -> Result<CandidateView> {
        let (replaces, reason) = self.replaces.unzip();
        let state = if self.receipt.is_some() { CandidateState::Ready } else { CandidateState::Capturing };
        let candidate = Candidate {
            id: CandidateId::from_uuid(unit.uuid()),
            project_id: self.project,
            environment_id: self.environment,
            key: self.key,
            run_id: self.run,
            receipt_id: self.receipt,
            replaces,
            reason,
            state,
            author: unit.actor().principal,
            created_at: unit.now(),
        };
        unit.remember(call, candidate.id).await?;
        add(unit, &candidate).await?;
        candidate_view(unit, candidate).await
    }
}

/// Adds a candidate and tells of it.
pub(super) async fn add(unit: &mut Unit, candidate: &Candidate) -> Result<()> {
    unit.insert_candidate(candidate).await?;
    let detail = json!({
        "key": candidate.key, "run": candidate.run_id, "receipt": candidate.receipt_id,
        "replaces": candidate.replaces, "reason": candidate.reason,
    });
    tell(unit, candidate, detail).await
}

/// Ends the captures that waited for the end of a run: ready when it completed with evidence, else unusable.
pub(crate) async fn end_captures(unit: &mut Unit, run: &Run, results: &[CheckpointResult]) -> Result<()> {
    for candidate in unit.capturing_candidates_of(run.id).await? {
        let is_its = |result: &&CheckpointResult| {
            result.checkpoint == candidate.key.checkpoint && result.profile == candidate.key.profile
        };
        let captured = results
            .iter()
            .find(is_its)
            .filter(|result| run.state == RunState::Completed && result.verdict != CheckpointVerdict::NotEvidence);
        let receipt = captured.map(|result| result.receipt_id);
        if !unit.end_capture(candidate.id, receipt).await? {
            return Err(Error::transient("a candidate changed beneath its transaction"));
        }
        let state = if receipt.is_some() { CandidateState::Ready } else { CandidateState::Unusable };
        let detail = json!({ "run": run.id, "receipt": receipt });
        tell(unit, &Candidate { state, ..candidate }, detail).await?;
    }
    Ok(())
}

async fn tell(unit: &mut Unit, candidate: &Candidate, detail: serde_json::Value) -> Result<()> {
    let (project, id) = (candidate.project_id, candidate.id.to_string());
    unit.audit(Some(project), Some(id.clone()), detail).await?;
    let kind = format!("candidate.{}", candidate.state);
    unit.event(&kind, project, id, json!({ "candidate": candidate.id })).await
}

fn check_evidence(run: &Run, receipt: &Receipt) -> Result<()> {
    if run.trigger == runs::Trigger::TRY {
        return Err(Error::conflict("reference_only", "a capture of a trial run is a reference and never a baseline"));
    }
    if run.state != RunState::Completed {
        let message = format!("the run is {}: only captures of a completed run can become baselines", run.state);
        return Err(Error::conflict("run_not_completed", message));
    }
    if !receipt.not_evidence.is_empty() {
        return Err(Error::conflict("not_evidence", "the capture is not evidence: its receipt says why"));
    }
    Ok(())
}

fn key_of(run: &Run, line: LineName, (checkpoint, profile, kind): (&Slug, &Slug, BaselineKind)) -> BaselineKey {
    BaselineKey {
        line,
        scenario: run.pins.scenario_slug.clone(),
        environment: run.pins.environment_slug.clone(),
        checkpoint: checkpoint.clone(),
        profile: profile.clone(),
        kind,
    }
}
