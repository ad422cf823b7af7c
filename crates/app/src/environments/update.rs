//! `update_environment`: the next revision. What the latest says already makes none, so that a repeat is harmless.

use pinhole_contract::{EnvironmentView, UpdateEnvironment};
use pinhole_core::{Actor, Error, Permission, Result, canonical_json_digest};
use pinhole_store::Environment;
use serde_json::json;

use super::{document::check, insert_environment_revision, latest, view};
use crate::{App, idempotency::expect_version};

pub(crate) async fn update(app: &App, actor: &Actor, command: UpdateEnvironment) -> Result<EnvironmentView> {
    check(&command.document).map_err(|e| e.within("document"))?;
    let command = &command;
    app.write(actor, "update_environment", move |unit, _| {
        Box::pin(async move {
            let found = unit.authorised_environment_by_id(command.environment_id, Permission::EnvironmentWrite).await?;
            expect_version(command.expected_version, found.head_revision)?;
            let before = latest(unit, &found).await?;
            let sha256 = canonical_json_digest(&command.document)?;
            if before.sha256 == sha256 {
                unit.unaudited();
                return Ok(EnvironmentView { unchanged: true, ..view(unit, found, before).await? });
            }
            let number = found.head_revision + 1;
            if !unit.advance_environment(found.id, found.head_revision).await? {
                // This transaction read the head itself, so only a concurrent one can have been faster.
                return Err(Error::transient("an environment changed beneath its transaction"));
            }
            insert_environment_revision(unit, found.id, number, &command.document).await?;
            let detail = json!({ "revision": number, "sha256": sha256 });
            unit.audit_with_event("environment.revised", found.project_id, found.id, detail).await?;
            let environment = Environment { head_revision: number, ..found };
            let revision = latest(unit, &environment).await?;
            view(unit, environment, revision).await
        })
    })
    .await
}
