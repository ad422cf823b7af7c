//! Reading one environment, and listing those of a project that the actor may see.

use pinhole_contract::{EnvironmentList, EnvironmentSummary, EnvironmentView, GetEnvironment, ListEnvironments};
use pinhole_core::{Actor, EnvironmentId, Error, Permission, Result, Slug};
use pinhole_store::Environment;

use super::view;
use crate::{App, page, runs::visible_environments};

pub(crate) async fn get(app: &App, actor: &Actor, command: GetEnvironment) -> Result<EnvironmentView> {
    let GetEnvironment { environment_id, revision } = command;
    app.read(actor, "get_environment", move |unit, _| {
        Box::pin(async move {
            let environment = unit.authorised_environment_by_id(environment_id, Permission::Read).await?;
            let number = revision.unwrap_or(environment.head_revision);
            let revision = unit.environment_revision(environment.id, number).await?.ok_or_else(Error::not_found)?;
            view(unit, environment, revision).await
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListEnvironments) -> Result<EnvironmentList> {
    let after = page::position::<EnvironmentId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_environments", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let visible = visible_environments(unit, project.id).await?;
            let limit = page::to_load(command.limit);
            let mut found = unit.list_environments(project.id, visible.as_deref(), after, limit).await?;
            let next_cursor = page::cut(&mut found, command.limit, |found| found.id);
            let environments = found.into_iter().map(|found| summary(&project.slug, found)).collect();
            Ok(EnvironmentList { environments, next_cursor })
        })
    })
    .await
}

fn summary(project: &Slug, environment: Environment) -> EnvironmentSummary {
    let Environment { id, project_id: _, slug, head_revision, created_at } = environment;
    EnvironmentSummary { id, project: project.clone(), slug, latest_revision: head_revision, created_at }
}
