//! Reading one publication, and listing them.

use std::collections::{BTreeMap, btree_map::Entry};

use pinhole_contract::{
    GetPublication, ListPublications, ListedPublicationView, PublicationAttemptView, PublicationList,
    PublicationObservationView, PublicationView,
};
use pinhole_core::{Actor, Error, Permission, PublicationId, RemoteId, Result, Slug};
use pinhole_store::{Publication, PublicationAttempt, PublicationObservation};

use super::head::expected_head;
use crate::{App, authority::Place, page, unit::Unit};

/// How many attempts a view shows at most.
const SHOWN_ATTEMPTS: u32 = 50;
/// How many observations a view shows at most.
const SHOWN_OBSERVATIONS: u32 = 20;

pub(crate) async fn get(app: &App, actor: &Actor, command: GetPublication) -> Result<PublicationView> {
    app.read(actor, "get_publication", move |unit, _| {
        Box::pin(async move {
            let publication = unit.publication(command.publication_id).await?;
            let place_of = |found: &Publication| Place::project(found.project_id);
            let publication = unit.authorised(publication, place_of, Permission::Read).await?;
            view_of(unit, publication).await
        })
    })
    .await
}

/// The publication with its attempts and what later looks found.
pub(super) async fn view_of(unit: &mut Unit, publication: Publication) -> Result<PublicationView> {
    let remote = remote_of(unit, publication.remote_id).await?;
    let project = unit.project(publication.project_id).await?;
    let project = project.ok_or_else(|| Error::internal("a publication without its project"))?.slug;
    let attempts = unit.newest_publication_attempts(publication.id, SHOWN_ATTEMPTS).await?;
    let observations = unit.newest_publication_observations(publication.id, SHOWN_OBSERVATIONS).await?;
    let receipt = publication.receipt.as_deref().map(serde_json::from_str).transpose();
    Ok(PublicationView {
        id: publication.id,
        project,
        line: publication.line,
        revision: publication.revision,
        remote,
        branch: publication.branch,
        state: publication.state,
        version: publication.version,
        attempts_omitted: publication.attempt.saturating_sub(SHOWN_ATTEMPTS),
        attempts: attempts.into_iter().map(attempt).collect::<Result<_>>()?,
        observations: observations.into_iter().map(observation).collect(),
        detail: publication.detail,
        receipt: receipt.map_err(Error::internal)?,
        created_at: publication.created_at,
        finished_at: publication.finished_at,
        replayed: false,
    })
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListPublications) -> Result<PublicationList> {
    let before = page::position::<PublicationId>(command.cursor.as_ref())?;
    let command = &command;
    app.read(actor, "list_publications", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::Read).await?;
            let mut found = unit.list_publications(project.id, before, page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.id);
            let mut remotes = BTreeMap::new();
            let mut publications = Vec::with_capacity(found.len());
            for publication in found {
                let remote = match remotes.entry(publication.remote_id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(remote_of(unit, publication.remote_id).await?),
                };
                publications.push(listed(publication, remote));
            }
            Ok(PublicationList { publications, next_cursor })
        })
    })
    .await
}

async fn remote_of(unit: &mut Unit, id: RemoteId) -> Result<Slug> {
    let remote = unit.remote(id).await?;
    remote.map(|remote| remote.slug).ok_or_else(|| Error::internal("a publication without its remote"))
}

fn listed(publication: Publication, remote: &Slug) -> ListedPublicationView {
    ListedPublicationView {
        id: publication.id,
        line: publication.line,
        revision: publication.revision,
        remote: remote.clone(),
        branch: publication.branch,
        state: publication.state,
        version: publication.version,
        attempt: publication.attempt,
        detail: publication.detail,
        created_at: publication.created_at,
        finished_at: publication.finished_at,
    }
}

fn attempt(attempt: PublicationAttempt) -> Result<PublicationAttemptView> {
    Ok(PublicationAttemptView {
        expected_head: expected_head(&attempt)?,
        attempt: attempt.attempt,
        base_commit: attempt.base_commit,
        commit: attempt.commit_id,
        outcome: attempt.outcome,
        detail: attempt.detail,
    })
}

fn observation(observation: PublicationObservation) -> PublicationObservationView {
    let PublicationObservation { number, seen_at, head, on_branch, .. } = observation;
    PublicationObservationView { number, seen_at, head, on_branch }
}
