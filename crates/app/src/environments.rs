//! Environments: numbered revisions of what they say, their secrets, and where else their application may be found.
//!
//! A revision never changes; a change is the next one. A secret is no part of a revision and has a version of its own.

mod create;
mod document;
mod host_patterns;
mod read;
mod secrets;
mod update;

use pinhole_contract::{EnvironmentDocument, EnvironmentView};
use pinhole_core::{EnvironmentId, Error, ProjectId, Result, Sha256Digest, Slug, canonical_json};
use pinhole_store::{Environment, EnvironmentRevision};

pub use self::secrets::OpenSecret;
pub(crate) use self::{
    create::create,
    document::{allowed_hosts, check_base_url},
    host_patterns::{approve as approve_host_patterns, check_override},
    read::{get, list},
    secrets::{delete as delete_secret, list as list_secrets, put as put_secret, reseal_some as reseal_some_secrets},
    update::update,
};

use crate::unit::Unit;

/// Adds an environment with its first revision.
pub(crate) async fn insert_environment(
    unit: &mut Unit,
    project: ProjectId,
    slug: &Slug,
    document: &EnvironmentDocument,
) -> Result<Environment> {
    let environment = Environment {
        id: EnvironmentId::from_uuid(unit.uuid()),
        project_id: project,
        slug: slug.clone(),
        head_revision: 1,
        created_at: unit.now(),
    };
    unit.insert_environment(&environment).await?;
    insert_environment_revision(unit, environment.id, 1, document).await?;
    Ok(environment)
}

/// Adds a revision that the actor makes.
pub(crate) async fn insert_environment_revision(
    unit: &mut Unit,
    environment: EnvironmentId,
    number: u32,
    document: &EnvironmentDocument,
) -> Result<()> {
    let canonical = canonical_json(document)?;
    let revision = EnvironmentRevision {
        environment_id: environment,
        revision: number,
        sha256: Sha256Digest::of(&canonical),
        document: String::from_utf8(canonical).map_err(Error::internal)?,
        created_by: unit.actor().principal,
        created_at: unit.now(),
    };
    unit.insert_environment_revision(&revision).await
}

/// The document of a revision.
pub(crate) fn document_of(revision: &EnvironmentRevision) -> Result<EnvironmentDocument> {
    serde_json::from_str(&revision.document).map_err(Error::internal)
}

/// The latest revision of an environment.
async fn latest(unit: &mut Unit, environment: &Environment) -> Result<EnvironmentRevision> {
    let revision = unit.environment_revision(environment.id, environment.head_revision).await?;
    revision.ok_or_else(|| Error::internal("an environment without its head revision"))
}

/// The environment as it is at `revision`.
async fn view(unit: &mut Unit, environment: Environment, revision: EnvironmentRevision) -> Result<EnvironmentView> {
    let project = unit.project(environment.project_id).await?;
    let project = project.ok_or_else(|| Error::internal("an environment without its project"))?;
    let mut approved = unit.approved_host_patterns(environment.id, revision.revision).await?;
    approved.sort();
    Ok(EnvironmentView {
        id: environment.id,
        project: project.slug,
        slug: environment.slug,
        revision: revision.revision,
        latest_revision: environment.head_revision,
        document: document_of(&revision)?,
        sha256: revision.sha256,
        approved_host_patterns: approved,
        revised_at: revision.created_at,
        unchanged: false,
        replayed: false,
    })
}
