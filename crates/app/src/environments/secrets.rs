//! Secrets of environments: put, deleted, listed by name, and opened for a worker.
//!
//! A value is sealed within the transaction that stores it and is in no audit row, event, error or answer.

use std::fmt;

use pinhole_contract::{
    DeleteEnvironmentSecret, EnvironmentSecretList, EnvironmentSecretView, ListEnvironmentSecrets, PutEnvironmentSecret,
};
use pinhole_core::{Actor, EnvironmentId, Error, Permission, Result, SecretName};
use pinhole_store::{Environment, EnvironmentSecret};
use serde_json::json;

use super::{document_of, latest};
use crate::{App, idempotency::expect_version, reseal::sealed_anew, unit::Unit};

/// The most names of secrets that an environment ever has; a deleted one keeps its row.
const MAX_NAMES: u32 = 200;

/// A secret in the clear. `Debug` does not show it.
pub struct OpenSecret {
    /// The version that it is.
    pub version: u32,
    value: String,
}

impl OpenSecret {
    /// The value itself, which is to be typed and nothing else.
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for OpenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSecret").field("version", &self.version).finish_non_exhaustive()
    }
}

pub(crate) async fn put(app: &App, actor: &Actor, command: PutEnvironmentSecret) -> Result<EnvironmentSecretView> {
    let command = &command;
    app.write(actor, "put_environment_secret", move |unit, _| {
        Box::pin(async move {
            let environment =
                unit.authorised_environment_by_id(command.environment_id, Permission::SecretWrite).await?;
            let found = unit.environment_secret(environment.id, &command.name).await?;
            let (last, present) = versions(found.as_ref());
            expect_version(command.expected_version, present)?;
            check_declared(unit, &environment, &command.name).await?;
            if found.is_none() && unit.count_environment_secrets(environment.id).await? >= MAX_NAMES {
                return Err(Error::too_large("secrets", MAX_NAMES.into()));
            }
            let version = last + 1;
            let context = context(environment.id, &command.name, version);
            let sealed = unit.app().sealer()?.seal(command.value.expose().as_bytes(), &context)?;
            store(unit, &environment, &command.name, version, Some(sealed)).await
        })
    })
    .await
}

pub(crate) async fn delete(
    app: &App,
    actor: &Actor,
    command: DeleteEnvironmentSecret,
) -> Result<EnvironmentSecretView> {
    let command = &command;
    app.write(actor, "delete_environment_secret", move |unit, _| {
        Box::pin(async move {
            let environment =
                unit.authorised_environment_by_id(command.environment_id, Permission::SecretWrite).await?;
            let found = unit.environment_secret(environment.id, &command.name).await?;
            let found = found.filter(|found| found.sealed.is_some()).ok_or_else(Error::not_found)?;
            expect_version(command.expected_version, found.version)?;
            store(unit, &environment, &command.name, found.version + 1, None).await
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListEnvironmentSecrets) -> Result<EnvironmentSecretList> {
    app.read(actor, "list_environment_secrets", move |unit, _| {
        Box::pin(async move {
            let environment =
                unit.authorised_environment_by_id(command.environment_id, Permission::SecretWrite).await?;
            let mut secrets = unit.list_environment_secrets(environment.id).await?;
            secrets.sort_by(|a, b| a.name.cmp(&b.name));
            let secrets = secrets.into_iter().map(view).collect();
            Ok(EnvironmentSecretList { environment_id: environment.id, secrets })
        })
    })
    .await
}

impl App {
    /// The present value of a secret; `None` when there is none. No operation offers this.
    ///
    /// # Errors
    /// Those of the database; `internal` in a process without a master key, or when the value was sealed under a key
    /// that this one does not know.
    pub async fn open_environment_secret(
        &self,
        environment: EnvironmentId,
        name: &SecretName,
    ) -> Result<Option<OpenSecret>> {
        let mut tx = self.store().begin_read().await?;
        let Some(found) = tx.environment_secret(environment, name).await? else { return Ok(None) };
        let Some(sealed) = &found.sealed else { return Ok(None) };
        let opened = self.sealer()?.open(sealed, &context(environment, name, found.version))?;
        let value = String::from_utf8(opened).map_err(|_| Error::internal("a secret that is no text"))?;
        Ok(Some(OpenSecret { version: found.version, value }))
    }
}

/// Seals at most `limit` secrets anew that are not sealed under the present master key, and answers how many.
pub(crate) async fn reseal_some(unit: &mut Unit, limit: u32) -> Result<u32> {
    let app = unit.app().clone();
    let sealer = app.sealer()?;
    let mut count = 0;
    for secret in unit.secrets_sealed_otherwise(&sealer.prefix()?, limit).await? {
        let Some(sealed) = &secret.sealed else { continue };
        let anew = sealed_anew(sealer, sealed, &context(secret.environment_id, &secret.name, secret.version))?;
        unit.reseal_environment_secret(secret.environment_id, &secret.name, &anew).await?;
        count += 1;
    }
    Ok(count)
}

/// The version that the row has reached, and the one that a caller may expect: 0 when there is no value.
fn versions(found: Option<&EnvironmentSecret>) -> (u32, u32) {
    let last = found.map_or(0, |found| found.version);
    (last, if found.is_some_and(|found| found.sealed.is_some()) { last } else { 0 })
}

/// What a sealed value is bound to.
fn context(environment: EnvironmentId, name: &SecretName, version: u32) -> String {
    format!("{environment}|{name}|{version}")
}

async fn check_declared(unit: &mut Unit, environment: &Environment, name: &SecretName) -> Result<()> {
    let document = document_of(&latest(unit, environment).await?)?;
    if document.secrets.iter().any(|secret| secret.name == *name) {
        return Ok(());
    }
    let message = format!("the latest revision of the environment declares no secret {name}: declare it first");
    Err(Error::conflict("not_declared", message))
}

/// Writes the next version, and who wrote it.
async fn store(
    unit: &mut Unit,
    environment: &Environment,
    name: &SecretName,
    version: u32,
    sealed: Option<String>,
) -> Result<EnvironmentSecretView> {
    let secret = EnvironmentSecret {
        environment_id: environment.id,
        name: name.clone(),
        version,
        sealed,
        changed_by: unit.actor().principal,
        changed_at: unit.now(),
    };
    unit.put_environment_secret(&secret).await?;
    let detail = json!({ "secret": name, "version": version });
    unit.audit(Some(environment.project_id), Some(environment.id.to_string()), detail).await?;
    Ok(view(secret))
}

fn view(secret: EnvironmentSecret) -> EnvironmentSecretView {
    let EnvironmentSecret { environment_id: _, name, version, sealed: _, changed_by, changed_at } = secret;
    EnvironmentSecretView { name, version, changed_by, changed_at }
}
