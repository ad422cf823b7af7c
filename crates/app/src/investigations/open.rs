//! Opening a case, or adding an episode to the one that is about the same.

use pinhole_contract::{CaseView, OpenInvestigation};
use pinhole_core::{
    Actor, CaseId, CaseState, Code, EpisodeId, Error, FailureSignature, Permission, Result, RunId, Slug,
};
use pinhole_store::{Case, Episode, Run};
use serde_json::json;

use super::{
    read::view,
    signature::signature_of,
    work::{Moved, audit, move_in_queue, save},
};
use crate::{App, idempotency::Keyed, runs, unit::Unit};

pub(crate) async fn open(app: &App, actor: &Actor, command: OpenInvestigation) -> Result<CaseView> {
    let command = &command;
    app.write(actor, "open_investigation", move |unit, _| {
        Box::pin(async move {
            let run = runs::authorised(unit, command.run_id, Permission::InvestigationWrite).await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let case = unit.case(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(CaseView { replayed: true, ..view(unit, case).await? });
                }
            };
            let signature = signature_of(unit, &run).await?;
            let case = match unit.undisposed_case(run.pins.environment, signature.digest()?).await? {
                Some(case) => extend(unit, case, run.id).await?,
                None => new_case(unit, &run, &signature, &command.queue).await?,
            };
            unit.remember(call, case.id).await?;
            let detail = json!({ "run": run.id, "signature": case.signature, "version": case.version });
            audit(unit, &case, detail).await?;
            view(unit, case).await
        })
    })
    .await
}

/// Adds the run to a case, unless it is one of its episodes.
async fn extend(unit: &mut Unit, before: Case, run: RunId) -> Result<Case> {
    if unit.episode_of(before.id, run).await?.is_some() {
        return Ok(before);
    }
    add_episode(unit, before.id, run).await?;
    let after = Case { version: before.version + 1, updated_at: unit.now(), ..before };
    save(unit, &after).await?;
    Ok(after)
}

async fn new_case(unit: &mut Unit, run: &Run, signature: &FailureSignature, queue: &Slug) -> Result<Case> {
    let now = unit.now();
    let case = Case {
        id: CaseId::from_uuid(unit.uuid()),
        project_id: run.pins.project,
        environment_id: run.pins.environment,
        queue: queue.clone(),
        signature: signature.digest()?,
        summary: signature.summary().parse()?,
        state: CaseState::Open,
        version: 1,
        claimed_by: None,
        disposition: None,
        duplicate_of: None,
        reason: None,
        disposed_by: None,
        opened_by: unit.actor().principal,
        opened_at: now,
        updated_at: now,
    };
    unit.insert_case(&case).await.map_err(|error| match error.code() {
        // Another transaction was first with this signature: run again and add to its case.
        Code::Conflict => Error::transient(error),
        _ => error,
    })?;
    move_in_queue(unit, &case, Moved::In).await?;
    add_episode(unit, case.id, run.id).await?;
    Ok(case)
}

async fn add_episode(unit: &mut Unit, case: CaseId, run: RunId) -> Result<()> {
    let episode = Episode {
        id: EpisodeId::from_uuid(unit.uuid()),
        case_id: case,
        run_id: run,
        added_by: unit.actor().principal,
        added_at: unit.now(),
    };
    unit.insert_episode(&episode).await
}
