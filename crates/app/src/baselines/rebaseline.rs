//! `rebaseline`: opens a candidate that is to replace an entry. No catalog row changes by it: the candidate goes the same
//! path as every other, and the entry stands until that is consumed.

use pinhole_contract::{CandidateView, Rebaseline, RebaselineRun};
use pinhole_core::{
    Actor, BaselineSelector, EntryState, Error, LineRevision, Permission, ReceiptId, Result, RunSelectors,
};
use pinhole_store::{Entry, Receipt, Run};
use serde_json::json;

use super::{
    candidate::{first, one_source},
    entry,
    proposal::Proposal,
    revision::Head,
};
use crate::{
    App,
    idempotency::expect_version,
    readiness::check_space,
    runs::{self, Admissible},
    unit::Unit,
};

/// Where the new capture comes from.
enum Source {
    Registered(Box<(Run, Receipt)>),
    Started(Box<Admissible>),
}

pub(crate) async fn rebaseline(app: &App, actor: &Actor, command: Rebaseline) -> Result<CandidateView> {
    let space = &app.blobs().free_space_percent();
    let command = &command;
    if command.receipt_id.is_some() == command.run.is_some() {
        return Err(one_source());
    }
    app.write(actor, "rebaseline", move |unit, _| {
        Box::pin(async move {
            let entry = entry::authorised(unit, command.entry_id, Permission::BaselineWrite).await?;
            let head = Head::of(unit, entry.project_id, &entry.key.line).await?;
            let source = match (command.receipt_id, &command.run) {
                (Some(receipt), _) => registered(unit, &entry, receipt).await?,
                (None, Some(run)) => started(unit, command, &entry, run, &head, space).await?,
                (None, None) => return Err(one_source()),
            };
            if command.idempotency_key.is_some() && command.expected_version.is_none() {
                return Err(Error::precondition_required("expected_version"));
            }
            let intent = json!({
                "entry": entry.id, "reason": command.reason, "expected_version": command.expected_version,
                "receipt": command.receipt_id, "pins": source.pins(),
            });
            let keyed = unit.keyed(command.idempotency_key.as_ref(), &intent).await?;
            let call = match first(unit, keyed).await? {
                Ok(call) => call,
                Err(view) => return Ok(view),
            };
            expect_version(command.expected_version, head.revision)?;
            if entry.state != EntryState::Active {
                let message = format!("the baseline is {}: only an active one can be replaced", entry.state);
                return Err(Error::conflict("not_active", message));
            }
            let proposal = source.propose(unit, &entry).await?;
            proposal.replacing(entry.id, command.reason.clone()).open(unit, call).await
        })
    })
    .await
}

async fn registered(unit: &mut Unit, entry: &Entry, receipt: ReceiptId) -> Result<Source> {
    // One of another project looks like none at all.
    let receipt = unit.receipt(receipt).await?.filter(|receipt| receipt.project_id == entry.project_id);
    let found = runs::authorised_part(unit, receipt, |found| found.run_id, Permission::BaselineWrite).await?;
    Ok(Source::Registered(Box::new(found)))
}

async fn started(
    unit: &mut Unit,
    command: &Rebaseline,
    entry: &Entry,
    run: &RebaselineRun,
    head: &Head,
    space: &Result<Option<f64>>,
) -> Result<Source> {
    unit.authorise(entry.project_id, Some(entry.environment_id), Permission::RunStart).await?;
    // A revision that there is not yet cannot be pinned to, so this is told before.
    if command.expected_version.is_none_or(|expected| expected > head.revision) {
        expect_version(command.expected_version, head.revision)?;
    }
    let project = unit.project(entry.project_id).await?;
    let project = project.ok_or_else(|| Error::internal("an entry without its project"))?;
    let seen = LineRevision::Number(command.expected_version.unwrap_or(head.revision));
    let order = RunSelectors {
        project: project.slug,
        scenario: entry.key.scenario.clone(),
        revision: run.revision.clone(),
        environment: entry.key.environment.clone(),
        environment_revision: run.environment_revision.clone(),
        baseline: BaselineSelector::Line { name: entry.key.line.clone(), revision: seen, of_environment: None },
    };
    let admissible = runs::admissible(unit, &order, &[Permission::RunStart]).await?;
    check_space(unit.app().settings(), space)?;
    Ok(Source::Started(Box::new(admissible)))
}

impl Source {
    /// What the run is pinned to that is to be started.
    fn pins(&self) -> Option<&pinhole_core::Pins> {
        match self {
            Self::Registered(_) => None,
            Self::Started(admissible) => Some(&admissible.pins),
        }
    }

    async fn propose(self, unit: &mut Unit, entry: &Entry) -> Result<Proposal> {
        let key = &entry.key;
        let proposal = match self {
            Self::Registered(found) => Proposal::of_receipt(&found.0, &found.1, key.line.clone())?,
            Self::Started(admissible) => {
                Proposal::of_run(unit, *admissible, key.line.clone(), (&key.checkpoint, &key.profile, key.kind)).await?
            }
        };
        if proposal.key() == key {
            return Ok(proposal);
        }
        let message = format!("the capture is for {}, the baseline for {}", proposal.key().path(), key.path());
        Err(Error::conflict("other_key", message))
    }
}
