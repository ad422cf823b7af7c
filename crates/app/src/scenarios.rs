//! Scenarios: validate, create, submit a revision, read.

use pinhole_contract::{
    CreateScenario, DiagnosticView, GetScenario, ScenarioView, SourceFormat, SubmitScenarioRevision, ValidateScenario,
    ValidationView,
};
use pinhole_core::{Actor, Error, Permission, PrincipalClass, ProjectId, Result, ScenarioId, Slug};
use pinhole_scenario::{CanonicalScenario, Diagnostics, Format};
use pinhole_store::{Scenario, ScenarioRevision};
use serde_json::json;

use crate::{
    App,
    idempotency::{Keyed, expect_version},
    unit::Unit,
};

pub(crate) async fn validate(app: &App, actor: &Actor, command: ValidateScenario) -> Result<ValidationView> {
    let project = &command.project;
    app.read(actor, "validate_scenario", move |unit, _| {
        Box::pin(async move { unit.authorised_project(project, Permission::ScenarioWrite).await.map(drop) })
    })
    .await?;
    match parse(&command.source, command.format) {
        Ok(scenario) => {
            let digest = Some(scenario.canonical()?.digest);
            Ok(ValidationView { valid: true, digest, diagnostics: Vec::new() })
        }
        Err(found) => {
            let view = |problem: pinhole_scenario::Diagnostic| DiagnosticView {
                path: problem.path,
                line: problem.line,
                column: problem.column,
                message: problem.message,
            };
            let diagnostics = found.problems.into_iter().map(view).collect();
            Ok(ValidationView { valid: false, digest: None, diagnostics })
        }
    }
}

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateScenario) -> Result<ScenarioView> {
    let canonical = &canonical(&command.source, command.format)?;
    let command = &command;
    app.write(actor, "create_scenario", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::ScenarioWrite).await?;
            let intent = json!({ "project": project.id, "slug": command.slug, "digest": canonical.digest });
            let call = match unit.keyed(command.idempotency_key.as_ref(), &intent).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    unit.unaudited();
                    let scenario = unit.scenario(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(ScenarioView { replayed: true, ..view(unit, project.slug, scenario).await? });
                }
            };
            let scenario = insert(unit, project.id, &command.slug, canonical).await?;
            unit.remember(call, scenario.id).await?;
            let detail = json!({ "slug": scenario.slug, "digest": canonical.digest });
            unit.audit(Some(project.id), Some(scenario.id.to_string()), detail).await?;
            view(unit, project.slug, scenario).await
        })
    })
    .await
}

pub(crate) async fn submit_revision(app: &App, actor: &Actor, command: SubmitScenarioRevision) -> Result<ScenarioView> {
    let canonical = &canonical(&command.source, command.format)?;
    let command = &command;
    app.write(actor, "submit_scenario_revision", move |unit, _| {
        Box::pin(async move {
            let (project, scenario) = authorised(unit, command.scenario_id, Permission::ScenarioWrite).await?;
            expect_version(command.expected_version, scenario.version)?;
            insert_revision(unit, scenario.id, canonical).await?;
            if !unit.advance_scenario(scenario.id, scenario.version, canonical.digest).await? {
                return Err(Error::transient("the scenario's head moved within the transaction"));
            }
            let detail = json!({ "digest": canonical.digest, "version": scenario.version + 1 });
            unit.audit(Some(scenario.project_id), Some(scenario.id.to_string()), detail).await?;
            let moved = Scenario { head_digest: canonical.digest, version: scenario.version + 1, ..scenario };
            view(unit, project, moved).await
        })
    })
    .await
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetScenario) -> Result<ScenarioView> {
    let id = command.scenario_id;
    app.read(actor, "get_scenario", move |unit, _| {
        Box::pin(async move {
            let (project, scenario) = authorised(unit, id, Permission::Read).await?;
            view(unit, project, scenario).await
        })
    })
    .await
}

fn parse(source: &str, format: SourceFormat) -> Result<pinhole_scenario::Scenario, Diagnostics> {
    let format = match format {
        SourceFormat::Yaml => Format::Yaml,
        SourceFormat::Json => Format::Json,
    };
    pinhole_scenario::parse(source, format)
}

fn canonical(source: &str, format: SourceFormat) -> Result<CanonicalScenario> {
    parse(source, format).map_err(|found| Error::from(found).within("source"))?.canonical()
}

async fn authorised(unit: &mut Unit, id: ScenarioId, permission: Permission) -> Result<(Slug, Scenario)> {
    let scenario = unit.scenario(id).await?.ok_or_else(Error::not_found)?;
    unit.authorise(scenario.project_id, None, permission).await?;
    let project = unit.project(scenario.project_id).await?.ok_or_else(Error::not_found)?;
    Ok((project.slug, scenario))
}

/// Adds a scenario with its first revision.
pub(crate) async fn insert(
    unit: &mut Unit,
    project: ProjectId,
    slug: &Slug,
    canonical: &CanonicalScenario,
) -> Result<Scenario> {
    let scenario = Scenario {
        id: ScenarioId::from_uuid(unit.uuid()),
        project_id: project,
        slug: slug.clone(),
        head_digest: canonical.digest,
        version: 1,
        archived_at: None,
        created_at: unit.now(),
    };
    unit.insert_scenario(&scenario).await?;
    insert_revision(unit, scenario.id, canonical).await?;
    Ok(scenario)
}

/// Adds a revision that the actor submits.
pub(crate) async fn insert_revision(unit: &mut Unit, id: ScenarioId, canonical: &CanonicalScenario) -> Result<()> {
    let origin = match unit.actor().class {
        PrincipalClass::User => "editor",
        PrincipalClass::Service => "agent",
    };
    let revision = ScenarioRevision {
        scenario_id: id,
        digest: canonical.digest,
        sha256: canonical.sha256,
        canonical: String::from_utf8(canonical.bytes.clone()).map_err(Error::internal)?,
        origin: origin.into(),
        created_by: unit.actor().principal,
        created_at: unit.now(),
    };
    unit.insert_scenario_revision(&revision).await
}

async fn view(unit: &mut Unit, project: Slug, scenario: Scenario) -> Result<ScenarioView> {
    let revision = unit
        .scenario_revision(scenario.id, scenario.head_digest)
        .await?
        .ok_or_else(|| Error::internal("a scenario without its head revision"))?;
    let parsed = pinhole_scenario::Scenario::from_canonical(revision.canonical.as_bytes())?;
    Ok(ScenarioView {
        id: scenario.id,
        project,
        slug: scenario.slug,
        version: scenario.version,
        digest: revision.digest,
        sha256: revision.sha256,
        title: parsed.title,
        document: serde_json::from_str(&revision.canonical).map_err(Error::internal)?,
        created_at: scenario.created_at,
        replayed: false,
    })
}
