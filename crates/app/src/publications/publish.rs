//! Asking for a publication, or for a further attempt of one that met a foreign commit. Nothing is published here: the
//! answer is `queued`.

use std::time::Duration;

use pinhole_contract::{PublicationView, PublishBaselineCatalog};
use pinhole_core::{Actor, Error, LineName, Permission, PublicationId, PublicationState, Result};
use pinhole_jobs::PublishJob;
use pinhole_store::{Project, Publication, PublicationAttempt, Remote};
use serde_json::json;

use super::{REQUEUE, head::check, view::view_of};
use crate::{
    App,
    idempotency::{Keyed, expect_version},
    unit::Unit,
};

pub(crate) async fn publish(app: &App, actor: &Actor, command: PublishBaselineCatalog) -> Result<PublicationView> {
    let command = &command;
    app.write(actor, "publish_baseline_catalog", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::CatalogPublish).await?;
            let remote = unit.remote_by_slug(&command.remote).await?.ok_or_else(Error::not_found)?;
            let Some(expected) = command.expected_version else {
                return Err(Error::precondition_required("expected_version"));
            };
            let intent = json!({
                "project": project.id, "line": command.line, "revision": expected, "remote": remote.id,
                "branch": command.branch, "expected_head": command.expected_head,
                "publication": command.publication_id,
            });
            let call = match unit.keyed(command.idempotency_key.as_ref(), &intent).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let publication = unit.publication(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(PublicationView { replayed: true, ..view_of(unit, publication).await? });
                }
            };
            let publication = admit(unit, command, &project, &remote).await?;
            unit.remember(call, publication.id).await?;
            unit.enqueue(&PublishJob { publication: publication.id }, Duration::ZERO).await?;
            unit.audit(Some(project.id), Some(publication.id.to_string()), intent).await?;
            let payload = json!({ "publication": publication.id, "attempt": publication.attempt });
            unit.event("publication.queued", project.id, publication.id.to_string(), payload).await?;
            view_of(unit, publication).await
        })
    })
    .await
}

/// Checks the state rules and writes the publication, or the further attempt, with its expected head.
async fn admit(
    unit: &mut Unit,
    command: &PublishBaselineCatalog,
    project: &Project,
    remote: &Remote,
) -> Result<Publication> {
    let line = unit.catalog_line(project.id, &command.line).await?;
    let head = line.map_or(0, |line| line.head_revision);
    expect_version(command.expected_version, head)?;
    if head == 0 {
        return Err(Error::conflict("empty_line", "the line has no revision to publish: consume an approval first"));
    }
    check_branch(remote, &command.branch)?;
    let other = unit.other_catalog_on_branch(remote.id, &command.branch, project.id, &command.line).await?;
    if other.is_some() {
        let message = "the branch holds the catalog of another line: choose another branch";
        return Err(Error::conflict("branch_in_use", message));
    }
    let publication = match command.publication_id {
        None => fresh(unit, command, project, remote, head).await?,
        Some(id) => again(unit, command, project, remote, id, head).await?,
    };
    let attempt = PublicationAttempt {
        publication_id: publication.id,
        attempt: publication.attempt,
        expected_head: serde_json::to_value(&command.expected_head).map_err(Error::internal)?,
        remote_url: Some(remote.url.clone()),
        base_commit: None,
        commit_id: None,
        commit_signature: None,
        outcome: None,
        detail: None,
        started_at: unit.now(),
        ended_at: None,
    };
    unit.insert_publication_attempt(&attempt).await?;
    Ok(publication)
}

async fn fresh(
    unit: &mut Unit,
    command: &PublishBaselineCatalog,
    project: &Project,
    remote: &Remote,
    revision: u32,
) -> Result<Publication> {
    let (line, branch) = (&command.line, &command.branch);
    if let Some(found) = unit.publication_of(project.id, line, revision, remote.id, branch).await? {
        let message = format!("{} is the publication of this revision to this branch: it is {}", found.id, found.state);
        return Err(Error::conflict("exists", message));
    }
    let publication = Publication {
        id: PublicationId::from_uuid(unit.uuid()),
        project_id: project.id,
        line: line.clone(),
        revision,
        remote_id: remote.id,
        branch: branch.clone(),
        state: PublicationState::Queued,
        version: 1,
        attempt: 1,
        claim_token: None,
        due_at: unit.now().plus(REQUEUE),
        tries: 0,
        detail: None,
        receipt: None,
        log_attempt: None,
        created_by: unit.actor().principal,
        created_at: unit.now(),
        finished_at: None,
    };
    check(unit, &publication, &command.expected_head).await?;
    unit.insert_publication(&publication).await?;
    Ok(publication)
}

/// Begins a further attempt of a publication that met a foreign commit.
async fn again(
    unit: &mut Unit,
    command: &PublishBaselineCatalog,
    project: &Project,
    remote: &Remote,
    id: PublicationId,
    revision: u32,
) -> Result<Publication> {
    let before = unit.publication(id).await?.filter(|found| found.project_id == project.id);
    let before = before.ok_or_else(Error::not_found)?;
    let (line, branch) = (&command.line, &command.branch);
    if (&before.line, before.remote_id, &before.branch) != (line, remote.id, branch) {
        return Err(Error::invalid("publication_id", "it is a publication of another line, remote or branch"));
    }
    if before.state != PublicationState::Conflict {
        let message = format!("only a publication in conflict gets a further attempt; this one is {}", before.state);
        return Err(Error::conflict("exists", message));
    }
    if before.revision != revision {
        let message = format!("it publishes revision {}, and the line is at {revision}: publish that", before.revision);
        return Err(Error::conflict("older_revision", message));
    }
    check(unit, &before, &command.expected_head).await?;
    let after = Publication {
        state: PublicationState::Queued,
        version: before.version + 1,
        attempt: before.attempt + 1,
        due_at: unit.now().plus(REQUEUE),
        tries: 0,
        detail: None,
        finished_at: None,
        ..before.clone()
    };
    if unit.save_publication(&before, &after).await? {
        Ok(after)
    } else {
        Err(Error::transient("the publication was changed meanwhile"))
    }
}

/// Refuses a branch that is not allowed: none of the remote's patterns is its name, or its beginning before a final `*`.
///
/// # Errors
/// `conflict` with reason `remote_closed` when no branch is allowed, else `branch_not_allowed`.
pub(crate) fn check_branch(remote: &Remote, branch: &LineName) -> Result<()> {
    let allows = |pattern: &String| match pattern.strip_suffix('*') {
        Some(beginning) => branch.as_str().starts_with(beginning),
        None => branch.as_str() == pattern,
    };
    if remote.branches.iter().any(allows) {
        return Ok(());
    }
    if remote.branches.is_empty() {
        let message = format!("the remote {} is closed: an administrator opens it by naming branches", remote.slug);
        return Err(Error::conflict("remote_closed", message));
    }
    let message = format!("the remote {} does not allow the branch {branch}: an administrator lists them", remote.slug);
    Err(Error::conflict("branch_not_allowed", message))
}
