//! What later looks at a branch have found of what was published there before. Written is only what is otherwise than
//! the look before found it; a publication without observations was never missed.

use pinhole_core::{LineName, PublicationId, RemoteId, Result, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{int, text, text_or_null, time},
};

/// What one look found of an earlier publication.
#[derive(Clone, Debug)]
pub struct PublicationObservation {
    /// The publication.
    pub publication_id: PublicationId,
    /// From 1.
    pub number: u32,
    /// When the look was written down.
    pub seen_at: Timestamp,
    /// The branch's head then; `None` when there was no branch.
    pub head: Option<String>,
    /// Whether the head held the publication's marker.
    pub on_branch: bool,
}

fn read(row: &Row) -> Result<PublicationObservation> {
    Ok(PublicationObservation {
        publication_id: row.parse("publication_id")?,
        number: row.int("number")?,
        seen_at: row.time("seen_at")?,
        head: row.text_or_null("head")?,
        on_branch: row.int::<u32>("on_branch")? == 1,
    })
}

impl Tx {
    /// Adds an observation.
    pub async fn insert_publication_observation(&mut self, observation: &PublicationObservation) -> Result<()> {
        self.execute(
            "INSERT INTO publication_observations (publication_id, number, seen_at, head, on_branch) \
             VALUES ($1, $2, $3, $4, $5)",
            &[
                text(observation.publication_id),
                int(observation.number),
                time(observation.seen_at),
                text_or_null(observation.head.as_ref()),
                int(observation.on_branch),
            ],
        )
        .await?;
        Ok(())
    }

    /// The newest observations of a publication, at most `limit`, in order.
    pub async fn newest_publication_observations(
        &mut self,
        id: PublicationId,
        limit: u32,
    ) -> Result<Vec<PublicationObservation>> {
        self.fetch_all(
            "SELECT * FROM (SELECT * FROM publication_observations WHERE publication_id = $1 \
             ORDER BY number DESC LIMIT $2) AS newest ORDER BY number",
            &[text(id), int(limit)],
            read,
        )
        .await
    }

    /// The publications to a branch that the newest observation of each has missed.
    pub async fn publications_missed_on(&mut self, remote: RemoteId, branch: &LineName) -> Result<Vec<PublicationId>> {
        self.fetch_all(
            "SELECT seen.publication_id FROM publication_observations AS seen \
             JOIN publications ON publications.id = seen.publication_id \
             WHERE publications.remote_id = $1 AND publications.branch = $2 AND seen.on_branch = 0 \
             AND seen.number = (SELECT max(number) FROM publication_observations AS newest \
             WHERE newest.publication_id = seen.publication_id) ORDER BY seen.publication_id",
            &[text(remote), text(branch)],
            |row| row.parse("publication_id"),
        )
        .await
    }
}
