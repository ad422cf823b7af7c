//! Candidates: captures that were proposed as baselines. Only their state ever changes.

use pinhole_core::{
    ApprovalId, BaselineKey, CandidateId, CandidateState, EnvironmentId, PrincipalId, ProjectId, ReceiptId, Result,
    Timestamp,
};

use crate::{
    Tx,
    row::Row,
    value::{json, text, time},
};

/// A proposed baseline.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its id.
    pub id: CandidateId,
    /// Its project.
    pub project_id: ProjectId,
    /// The environment of its key.
    pub environment_id: EnvironmentId,
    /// Where it would go.
    pub key: BaselineKey,
    /// Its receipt.
    pub receipt_id: ReceiptId,
    /// Its state.
    pub state: CandidateState,
    /// Who proposed it.
    pub author: PrincipalId,
    /// When.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Candidate> {
    Ok(Candidate {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        environment_id: row.parse("environment_id")?,
        key: row.json("baseline_key")?,
        receipt_id: row.parse("receipt_id")?,
        state: row.parse("state")?,
        author: row.parse("author")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a candidate.
    pub async fn insert_candidate(&mut self, candidate: &Candidate) -> Result<()> {
        self.execute(
            "INSERT INTO candidates (id, project_id, environment_id, line, key_path, baseline_key, receipt_id, state, \
             author, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            &[
                text(candidate.id),
                text(candidate.project_id),
                text(candidate.environment_id),
                text(&candidate.key.line),
                text(candidate.key.path()),
                json(&candidate.key)?,
                text(candidate.receipt_id),
                text(candidate.state),
                text(candidate.author),
                time(candidate.created_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The candidate with this id.
    pub async fn candidate(&mut self, id: CandidateId) -> Result<Option<Candidate>> {
        self.fetch_optional("SELECT * FROM candidates WHERE id = $1", &[text(id)], read).await
    }

    /// The candidates of an approval in the order of its items, at most 500.
    pub async fn candidates_of(&mut self, approval: ApprovalId) -> Result<Vec<Candidate>> {
        self.fetch_all(
            "SELECT candidates.* FROM approval_items JOIN candidates ON candidates.id = approval_items.candidate_id \
             WHERE approval_items.approval_id = $1 ORDER BY approval_items.ordinal LIMIT 500",
            &[text(approval)],
            read,
        )
        .await
    }

    /// Moves a candidate from one state to another; false when it was not in `from`.
    pub async fn move_candidate(&mut self, id: CandidateId, from: CandidateState, to: CandidateState) -> Result<bool> {
        let changed = self
            .execute("UPDATE candidates SET state = $3 WHERE id = $1 AND state = $2", &[text(id), text(from), text(to)])
            .await?;
        Ok(changed == 1)
    }
}
