//! `create_environment`: an environment with its first revision.

use pinhole_contract::{CreateEnvironment, EnvironmentView};
use pinhole_core::{Actor, Error, Permission, Result, canonical_json_digest};
use serde_json::json;

use super::{document::check, insert_environment, latest, view};
use crate::{App, idempotency::Keyed};

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateEnvironment) -> Result<EnvironmentView> {
    check(&command.document).map_err(|e| e.within("document"))?;
    let command = &command;
    app.write(actor, "create_environment", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::EnvironmentWrite).await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let environment = unit.environment(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    let revision = latest(unit, &environment).await?;
                    return Ok(EnvironmentView { replayed: true, ..view(unit, environment, revision).await? });
                }
            };
            let environment = insert_environment(unit, project.id, &command.slug, &command.document).await?;
            unit.remember(call, environment.id).await?;
            let sha256 = canonical_json_digest(&command.document)?;
            let detail = json!({ "slug": environment.slug, "revision": 1, "sha256": sha256 });
            unit.audit(Some(project.id), Some(environment.id.to_string()), detail).await?;
            let revision = latest(unit, &environment).await?;
            view(unit, environment, revision).await
        })
    })
    .await
}
