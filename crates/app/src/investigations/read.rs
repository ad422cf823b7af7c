//! Reading and listing cases: agents pull them, nothing is pushed.

use pinhole_contract::{
    CaseList, CaseView, EpisodeView, FindingView, GetInvestigation, InvestigationView, ListInvestigations, QueueView,
};
use pinhole_core::{Actor, CaseId, FindingId, Permission, Result};
use pinhole_store::{Case, CaseFilter, CaseQueue, Episode, Finding};

use super::work::{authorised, empty_queue};
use crate::{App, page, unit::Unit};

/// How many episodes are shown with a case.
const SHOWN: u32 = 20;

pub(crate) async fn list(app: &App, actor: &Actor, command: ListInvestigations) -> Result<CaseList> {
    let after = page::position::<CaseId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_investigations", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let environments = unit.environments_with(project.id, Permission::InvestigationWrite).await?;
            let filter = CaseFilter {
                project: project.id,
                environments: environments.as_deref(),
                state: command.state,
                queue: command.queue.as_ref(),
                after,
            };
            let mut found = unit.list_cases(filter, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.id);
            let mut cases = Vec::with_capacity(found.len());
            for case in found {
                cases.push(view(unit, case).await?);
            }
            Ok(CaseList { cases, next_cursor })
        })
    })
    .await
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetInvestigation) -> Result<InvestigationView> {
    let after = page::position::<FindingId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "get_investigation", move |unit, _| {
        Box::pin(async move {
            let case = authorised(unit, command.case_id).await?;
            let mut found = unit.findings_of(case.id, after, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.id);
            let episodes = unit.episodes_of(case.id, SHOWN).await?;
            Ok(InvestigationView {
                case: view(unit, case).await?,
                latest_episodes: episodes.into_iter().map(episode_view).collect(),
                listed_findings: found.into_iter().map(finding_view).collect(),
                next_cursor,
            })
        })
    })
    .await
}

/// The case with its queue and how much it is made of.
pub(super) async fn view(unit: &mut Unit, case: Case) -> Result<CaseView> {
    let queue = unit.case_queue(case.environment_id, &case.queue).await?;
    let CaseQueue { name, waiting, claimed, version, .. } = queue.unwrap_or_else(|| empty_queue(&case));
    let (episodes, findings) = unit.count_of_case(case.id).await?;
    Ok(CaseView {
        id: case.id,
        environment_id: case.environment_id,
        queue: QueueView { name, waiting, claimed, version },
        signature: case.signature,
        summary: case.summary,
        state: case.state,
        version: case.version,
        episodes,
        findings,
        claimed_by: case.claimed_by,
        disposition: case.disposition,
        duplicate_of: case.duplicate_of,
        reason: case.reason,
        disposed_by: case.disposed_by,
        opened_by: case.opened_by,
        opened_at: case.opened_at,
        updated_at: case.updated_at,
        replayed: false,
    })
}

fn episode_view(episode: Episode) -> EpisodeView {
    let Episode { id, run_id, added_by, added_at, .. } = episode;
    EpisodeView { id, run_id, added_by, added_at }
}

fn finding_view(finding: Finding) -> FindingView {
    let Finding { id, author, body, created_at, .. } = finding;
    FindingView { id, author, text: body, created_at }
}
