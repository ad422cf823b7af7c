//! Runs without a server, for `pinhole try`: project, environment and scenario are made on the way, and the baseline
//! is always the previous run. What they capture can never become a baseline.

use pinhole_contract::{
    EnvironmentDocument, GetScenarioRun, GetScenarioRunResult, RunResultView, RunView, StartScenarioRun,
};
use pinhole_core::{
    ArtifactId, BaselineSelector, EnvironmentSelector, IdempotencyKey, Previous, ProjectId, ReceiptSelector, Result,
    RunId, ScenarioSelector, Slug, True, canonical_json_digest,
};
use pinhole_scenario::{CanonicalScenario, Scenario as ScenarioDocument};
use serde_json::json;
use url::Url;

use crate::{
    App,
    environments::{insert_environment, insert_environment_revision},
    projects::insert_project,
    runs, scenarios,
    unit::Unit,
};

/// The project of all runs without a server.
const PROJECT: &str = "try";

/// What to run.
#[derive(Clone, Debug)]
pub struct TryRun {
    /// The same for the same page or scenario file; names environment and scenario.
    pub name: Slug,
    /// Where relative addresses start.
    pub base_url: Url,
    /// What to do.
    pub scenario: ScenarioDocument,
}

impl App {
    /// Starts a run against the previous one of the same name.
    ///
    /// # Errors
    /// As for `start_scenario_run`.
    pub async fn start_try_run(&self, target: &TryRun) -> Result<RunView> {
        let actor = self.system_actor();
        let canonical = &target.scenario.canonical()?;
        self.write(&actor, "prepare_try_run", move |unit, _| {
            Box::pin(async move { prepare(unit, target, canonical).await })
        })
        .await?;
        let key: IdempotencyKey = self.ids().uuid().simple().to_string().parse()?;
        let command = StartScenarioRun {
            project: PROJECT.parse()?,
            scenario: target.name.clone(),
            revision: ScenarioSelector::Digest(canonical.digest),
            environment: target.name.clone(),
            environment_revision: EnvironmentSelector::Latest(True),
            base_url: None,
            baseline: BaselineSelector::Receipt(ReceiptSelector::Previous(Previous::Previous)),
            idempotency_key: Some(key),
        };
        runs::start_as(self, &actor, command, runs::Trigger::Try).await
    }

    /// The run as it stands.
    ///
    /// # Errors
    /// As for `get_scenario_run`.
    pub async fn try_run(&self, run_id: RunId) -> Result<RunView> {
        runs::get(self, &self.system_actor(), GetScenarioRun { run_id }).await
    }

    /// The result of the run: its first page, which holds 200 checkpoints.
    ///
    /// # Errors
    /// As for `get_scenario_run_result`.
    pub async fn try_result(&self, run_id: RunId) -> Result<RunResultView> {
        let limit = pinhole_contract::Limit::try_from(pinhole_contract::Limit::MAX).unwrap_or_default();
        runs::result(self, &self.system_actor(), GetScenarioRunResult { run_id, limit, cursor: None }).await
    }

    /// The bytes of an artifact of the run.
    ///
    /// # Errors
    /// As for the artifact's content.
    pub async fn try_artifact(&self, id: ArtifactId) -> Result<Vec<u8>> {
        self.artifact_content(&self.system_actor(), id).await?.read().await
    }
}

/// Makes what is missing, and moves environment and scenario on when they are not as asked for.
async fn prepare(unit: &mut Unit, target: &TryRun, canonical: &CanonicalScenario) -> Result<()> {
    let project = ensure_project(unit).await?;
    ensure_environment(unit, project, target).await?;
    ensure_scenario(unit, project, target, canonical).await?;
    let detail = json!({ "name": target.name, "digest": canonical.digest });
    unit.audit(Some(project), None, detail).await
}

async fn ensure_project(unit: &mut Unit) -> Result<ProjectId> {
    let slug: Slug = PROJECT.parse()?;
    match unit.project_by_slug(&slug).await? {
        Some(project) => Ok(project.id),
        None => Ok(insert_project(unit, &slug, &"Captures without a server".parse()?).await?.id),
    }
}

async fn ensure_environment(unit: &mut Unit, project: ProjectId, target: &TryRun) -> Result<()> {
    let document = EnvironmentDocument::at(target.base_url.as_str());
    let Some(found) = unit.environment_by_slug(project, &target.name).await? else {
        return insert_environment(unit, project, &target.name, &document).await.map(drop);
    };
    let head = unit.environment_revision(found.id, found.head_revision).await?;
    let digest = canonical_json_digest(&document)?;
    if head.is_some_and(|head| head.sha256 == digest) {
        return Ok(());
    }
    unit.advance_environment(found.id, found.head_revision).await?;
    insert_environment_revision(unit, found.id, found.head_revision + 1, &document).await
}

async fn ensure_scenario(
    unit: &mut Unit,
    project: ProjectId,
    target: &TryRun,
    canonical: &CanonicalScenario,
) -> Result<()> {
    match unit.scenario_by_slug(project, &target.name).await? {
        None => scenarios::insert(unit, project, &target.name, canonical).await.map(drop),
        Some(found) if found.head_digest == canonical.digest => Ok(()),
        Some(found) => {
            scenarios::insert_revision(unit, found.id, canonical).await?;
            unit.advance_scenario(found.id, found.version, canonical.digest).await.map(drop)
        }
    }
}
