//! Projects and environments.

use pinhole_contract::{
    CreateEnvironment, CreateProject, EnvironmentDocument, EnvironmentView, GetEnvironment, GetProject, ProjectView,
};
use pinhole_core::{
    Actor, EnvironmentId, Error, Permission, ProjectId, Result, Role, Sha256Digest, Slug, Subject, Title,
    canonical_json, canonical_json_digest,
};
use pinhole_store::{Environment, EnvironmentRevision, Grant, Project};
use serde_json::json;
use url::Url;

use crate::{App, idempotency::Keyed, unit::Unit};

pub(crate) async fn create_project(app: &App, actor: &Actor, command: CreateProject) -> Result<ProjectView> {
    let command = &command;
    app.write(actor, "create_project", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    unit.unaudited();
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

pub(crate) async fn create_environment(
    app: &App,
    actor: &Actor,
    command: CreateEnvironment,
) -> Result<EnvironmentView> {
    check(&command.document).map_err(|e| e.within("document"))?;
    let command = &command;
    app.write(actor, "create_environment", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::EnvironmentWrite).await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    unit.unaudited();
                    let environment = unit.environment(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    let view = environment_view(unit, project.slug, environment).await?;
                    return Ok(EnvironmentView { replayed: true, ..view });
                }
            };
            let environment = insert_environment(unit, project.id, &command.slug, &command.document).await?;
            unit.remember(call, environment.id).await?;
            let sha256 = canonical_json_digest(&command.document)?;
            let detail = json!({ "slug": environment.slug, "revision": 1, "sha256": sha256 });
            unit.audit(Some(project.id), Some(environment.id.to_string()), detail).await?;
            environment_view(unit, project.slug, environment).await
        })
    })
    .await
}

pub(crate) async fn get_environment(app: &App, actor: &Actor, command: GetEnvironment) -> Result<EnvironmentView> {
    let command = &command;
    app.read(actor, "get_environment", move |unit, _| {
        Box::pin(async move {
            let environment = unit.environment(command.environment_id).await?.ok_or_else(Error::not_found)?;
            unit.authorise(environment.project_id, Some(environment.id), Permission::Read).await?;
            let project = unit.project(environment.project_id).await?.ok_or_else(Error::not_found)?;
            environment_view(unit, project.slug, environment).await
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

/// Checks what the types cannot say.
fn check(document: &EnvironmentDocument) -> Result<()> {
    let wrong = |reason: &str| Err(Error::invalid("base_url", reason));
    if document.base_url.len() > 2000 {
        return wrong("expected at most 2000 bytes");
    }
    let Ok(url) = Url::parse(&document.base_url) else { return wrong("expected an absolute URL") };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return wrong("expected an http or https URL with a host");
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return wrong("expected no user, password, query or fragment: credentials are secrets of the environment");
    }
    if document.allowed_hosts.len() > 50 {
        return Err(Error::invalid("allowed_hosts", "expected at most 50 hosts"));
    }
    for (index, host) in document.allowed_hosts.iter().enumerate() {
        let authority = Url::parse(&format!("http://{host}/"));
        let plain = authority.is_ok_and(|url| {
            url.username().is_empty() && url.password().is_none() && url.path() == "/" && url.query().is_none()
        });
        if host.len() > 255 || host.is_empty() || !plain || host.contains('/') {
            return Err(Error::invalid(format!("allowed_hosts[{index}]"), "expected HOST or HOST:PORT"));
        }
    }
    Ok(())
}

/// The hosts that a scenario may navigate to besides the base URL's own, each with its port: an entry without one stands
/// for the ports of http and https.
pub(crate) fn allowed_hosts(document: &EnvironmentDocument) -> Vec<(String, u16)> {
    let parse = |entry: &String| match entry.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) => vec![(host.to_owned(), port)],
        _ => vec![(entry.clone(), 80), (entry.clone(), 443)],
    };
    document.allowed_hosts.iter().flat_map(parse).collect()
}

fn project_view(project: Project) -> ProjectView {
    let Project { id, slug, title, created_by: _, created_at } = project;
    ProjectView { id, slug, title, created_at, replayed: false }
}

async fn environment_view(unit: &mut Unit, project: Slug, environment: Environment) -> Result<EnvironmentView> {
    let revision = unit
        .environment_revision(environment.id, environment.head_revision)
        .await?
        .ok_or_else(|| Error::internal("an environment without its head revision"))?;
    Ok(EnvironmentView {
        id: environment.id,
        project,
        slug: environment.slug,
        revision: revision.revision,
        document: serde_json::from_str(&revision.document).map_err(Error::internal)?,
        sha256: revision.sha256,
        replayed: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_hold_no_credentials() {
        let document = |base_url: &str| EnvironmentDocument { base_url: base_url.into(), allowed_hosts: vec![] };
        assert!(check(&document("http://127.0.0.1:8080/app/")).is_ok());
        for wrong in ["", "/x", "ftp://a/", "http://u:p@a/", "http://a/?q", "http://a/#f", "file:///etc/passwd"] {
            assert!(check(&document(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_are_hosts() {
        let document =
            |host: &str| EnvironmentDocument { base_url: "http://a/".into(), allowed_hosts: vec![host.into()] };
        assert!(check(&document("cdn.example:8443")).is_ok());
        for wrong in ["", "a/b", "u@a", "http://a", "a b"] {
            assert!(check(&document(wrong)).is_err(), "{wrong}");
        }
    }
}
