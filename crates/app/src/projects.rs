//! Projects.

use pinhole_contract::{CreateProject, GetProject, ListProjects, ProjectList, ProjectView};
use pinhole_core::{Actor, Error, Permission, ProjectId, Result, Role, Slug, Subject, Title};
use pinhole_store::{Grant, Project};
use serde_json::json;

use crate::{App, idempotency::Keyed, page, unit::Unit};

pub(crate) async fn create_project(app: &App, actor: &Actor, command: CreateProject) -> Result<ProjectView> {
    let command = &command;
    app.write(actor, "create_project", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let project = unit.project(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(ProjectView { replayed: true, ..project_view(project) });
                }
            };
            let project = insert_project(unit, &command.slug, &command.title).await?;
            let owner = Grant {
                subject: Subject::Principal(project.created_by),
                project_id: project.id,
                environment_id: None,
                role: Role::Owner,
            };
            unit.insert_grant(&owner).await?;
            unit.remember(call, project.id).await?;
            unit.audit(Some(project.id), Some(project.id.to_string()), json!({ "slug": project.slug })).await?;
            Ok(project_view(project))
        })
    })
    .await
}

pub(crate) async fn get_project(app: &App, actor: &Actor, command: GetProject) -> Result<ProjectView> {
    let command = &command;
    app.read(actor, "get_project", move |unit, _| {
        Box::pin(async move { unit.authorised_project(&command.project, Permission::Read).await.map(project_view) })
    })
    .await
}

pub(crate) async fn list_projects(app: &App, actor: &Actor, command: ListProjects) -> Result<ProjectList> {
    let after = page::position::<ProjectId>(command.cursor.as_ref())?;
    let limit = command.limit;
    app.read(actor, "list_projects", move |unit, _| {
        Box::pin(async move {
            unit.check_credential().await?;
            let principal = unit.actor().principal;
            let mut found = unit.list_projects(principal, after, page::to_load(limit)).await?;
            let next_cursor = page::cut(&mut found, limit, |project| project.id);
            Ok(ProjectList { projects: found.into_iter().map(project_view).collect(), next_cursor })
        })
    })
    .await
}

/// Adds a project that the actor makes.
pub(crate) async fn insert_project(unit: &mut Unit, slug: &Slug, title: &Title) -> Result<Project> {
    let project = Project {
        id: ProjectId::from_uuid(unit.uuid()),
        slug: slug.clone(),
        title: title.clone(),
        created_by: unit.actor().principal,
        created_at: unit.now(),
    };
    unit.insert_project(&project).await?;
    Ok(project)
}

fn project_view(project: Project) -> ProjectView {
    let Project { id, slug, title, created_by: _, created_at } = project;
    ProjectView { id, slug, title, created_at, replayed: false }
}
