//! Reading one publication.

use pinhole_contract::{GetPublication, PublicationAttemptView, PublicationView};
use pinhole_core::{Actor, Error, Permission, Result};
use pinhole_store::{Publication, PublicationAttempt};

use super::head::expected_head;
use crate::{App, unit::Unit};

pub(crate) async fn get(app: &App, actor: &Actor, command: GetPublication) -> Result<PublicationView> {
    app.read(actor, "get_publication", move |unit, _| {
        Box::pin(async move {
            let publication = unit.publication(command.publication_id).await?.ok_or_else(Error::not_found)?;
            unit.authorise(publication.project_id, None, Permission::Read).await?;
            view_of(unit, publication).await
        })
    })
    .await
}

/// The publication with its attempts.
pub(super) async fn view_of(unit: &mut Unit, publication: Publication) -> Result<PublicationView> {
    let remote = unit.remote(publication.remote_id).await?;
    let remote = remote.ok_or_else(|| Error::internal("a publication without its remote"))?;
    let attempts = unit.publication_attempts(publication.id).await?;
    let receipt = publication.receipt.as_deref().map(serde_json::from_str).transpose();
    Ok(PublicationView {
        id: publication.id,
        line: publication.line,
        revision: publication.revision,
        remote: remote.slug,
        branch: publication.branch,
        state: publication.state,
        version: publication.version,
        attempts: attempts.into_iter().map(attempt).collect::<Result<_>>()?,
        detail: publication.detail,
        receipt: receipt.map_err(Error::internal)?,
        created_at: publication.created_at,
        finished_at: publication.finished_at,
        replayed: false,
    })
}

fn attempt(attempt: PublicationAttempt) -> Result<PublicationAttemptView> {
    Ok(PublicationAttemptView {
        expected_head: expected_head(&attempt)?,
        attempt: attempt.attempt,
        base_commit: attempt.base_commit,
        commit: attempt.commit_id,
        outcome: attempt.outcome,
    })
}
