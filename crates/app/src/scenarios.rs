//! Scenarios: validate, create, submit a revision, read, list, archive.

use pinhole_contract::{
    ArchiveScenario, CreateScenario, DiagnosticView, GetScenario, ListScenarios, ListedScenarioView, ScenarioList,
    ScenarioView, SourceFormat, SubmitScenarioRevision, ValidateScenario, ValidationView,
};
use pinhole_core::{Actor, Error, Permission, PrincipalClass, ProjectId, Result, ScenarioId, Slug, Title};
use pinhole_scenario::{CanonicalScenario, Diagnostics, Format};
use pinhole_store::{Scenario, ScenarioRevision};
use serde_json::json;

use crate::{
    App,
    authority::Place,
    idempotency::{Keyed, expect_version},
    page,
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
    app.read(actor, "get_scenario", move |unit, _| {
        Box::pin(async move {
            let (project, scenario) = authorised(unit, command.scenario_id, Permission::Read).await?;
            let digest = command.digest.unwrap_or(scenario.head_digest);
            let revision = unit.scenario_revision(scenario.id, digest).await?.ok_or_else(Error::not_found)?;
            view_at(project, scenario, revision)
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListScenarios) -> Result<ScenarioList> {
    let after = &page::position::<Slug>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_scenarios", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let mut found = unit.list_scenarios(project.id, after.as_ref(), page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |(last, _)| last.slug.clone());
            let listed = |(scenario, title): (Scenario, Title)| ListedScenarioView {
                id: scenario.id,
                slug: scenario.slug,
                version: scenario.version,
                head_digest: scenario.head_digest,
                title,
                created_at: scenario.created_at,
                archived_at: scenario.archived_at,
            };
            Ok(ScenarioList { scenarios: found.into_iter().map(listed).collect(), next_cursor })
        })
    })
    .await
}

pub(crate) async fn archive(app: &App, actor: &Actor, command: ArchiveScenario) -> Result<ScenarioView> {
    app.write(actor, "archive_scenario", move |unit, _| {
        Box::pin(async move {
            let (project, scenario) = authorised(unit, command.scenario_id, Permission::ScenarioWrite).await?;
            expect_version(command.expected_version, scenario.version)?;
            if scenario.archived_at.is_some() {
                return Err(Error::conflict("archived", "the scenario is archived already"));
            }
            if !unit.archive_scenario(scenario.id, scenario.version).await? {
                return Err(Error::transient("the scenario changed within the transaction"));
            }
            let detail = json!({ "version": scenario.version + 1 });
            unit.audit_with_event("scenario.archived", scenario.project_id, scenario.id, detail).await?;
            let archived_at = Some(unit.now());
            view(unit, project, Scenario { archived_at, version: scenario.version + 1, ..scenario }).await
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
    let scenario = unit.scenario(id).await?;
    let scenario = unit.authorised(scenario, |found| Place::project(found.project_id), permission).await?;
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
        title: canonical.title.clone(),
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
    view_at(project, scenario, revision)
}

fn view_at(project: Slug, scenario: Scenario, revision: ScenarioRevision) -> Result<ScenarioView> {
    Ok(ScenarioView {
        id: scenario.id,
        project,
        slug: scenario.slug,
        version: scenario.version,
        head_digest: scenario.head_digest,
        digest: revision.digest,
        sha256: revision.sha256,
        title: revision.title,
        document: serde_json::from_str(&revision.canonical).map_err(Error::internal)?,
        created_at: scenario.created_at,
        archived_at: scenario.archived_at,
        replayed: false,
    })
}
