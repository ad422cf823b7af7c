//! Candidates: captures that were proposed as baselines. Only their state ever changes, and the receipt of one whose
//! capture was still to come.

use pinhole_core::{
    ApprovalId, BaselineEntryId, BaselineKey, CandidateId, CandidateState, EnvironmentId, PrincipalId, ProjectId,
    Reason, ReceiptId, Result, RunId, Timestamp,
};

use crate::{
    Tx,
    row::Row,
    value::{json, text, text_or_null, time},
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
    /// The run that captures or captured it.
    pub run_id: RunId,
    /// Its receipt; `None` while it is being captured, and for ever when nothing usable came of it.
    pub receipt_id: Option<ReceiptId>,
    /// The entry that it was opened to replace.
    pub replaces: Option<BaselineEntryId>,
    /// Why it is to replace that.
    pub reason: Option<Reason>,
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
        run_id: row.parse("run_id")?,
        receipt_id: row.parse_or_null("receipt_id")?,
        replaces: row.parse_or_null("replaces")?,
        reason: row.parse_or_null("reason")?,
        state: row.parse("state")?,
        author: row.parse("author")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds a candidate.
    pub async fn insert_candidate(&mut self, candidate: &Candidate) -> Result<()> {
        self.execute(
            "INSERT INTO candidates (id, project_id, environment_id, line, key_path, baseline_key, run_id, receipt_id, \
             replaces, reason, state, author, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            &[
                text(candidate.id),
                text(candidate.project_id),
                text(candidate.environment_id),
                text(&candidate.key.line),
                text(candidate.key.path()),
                json(&candidate.key)?,
                text(candidate.run_id),
                text_or_null(candidate.receipt_id),
                text_or_null(candidate.replaces),
                text_or_null(candidate.reason.as_ref()),
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

    /// Who proposed what an approval has for the key at `key_path`; `None` when it has no candidate there.
    pub async fn author_of_item(&mut self, approval: ApprovalId, key_path: &str) -> Result<Option<PrincipalId>> {
        self.fetch_optional(
            "SELECT candidates.author FROM approval_items JOIN candidates ON candidates.id = approval_items.candidate_id \
             WHERE approval_items.approval_id = $1 AND approval_items.key_path = $2",
            &[text(approval), text(key_path)],
            |row| row.parse("author"),
        )
        .await
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

    /// The candidates of a run that wait for its end, at most 1000.
    pub async fn capturing_candidates_of(&mut self, run: RunId) -> Result<Vec<Candidate>> {
        self.fetch_all(
            "SELECT * FROM candidates WHERE run_id = $1 AND state = 'capturing' ORDER BY id LIMIT 1000",
            &[text(run)],
            read,
        )
        .await
    }

    /// Ends the capture of a candidate: ready with a receipt, unusable without. False when it was not being captured.
    pub async fn end_capture(&mut self, id: CandidateId, receipt: Option<ReceiptId>) -> Result<bool> {
        let state = if receipt.is_some() { CandidateState::Ready } else { CandidateState::Unusable };
        let changed = self
            .execute(
                "UPDATE candidates SET state = $2, receipt_id = $3 WHERE id = $1 AND state = 'capturing'",
                &[text(id), text(state), text_or_null(receipt)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Moves a candidate from one state to another; false when it was not in `from`.
    pub async fn move_candidate(&mut self, id: CandidateId, from: CandidateState, to: CandidateState) -> Result<bool> {
        let changed = self
            .execute("UPDATE candidates SET state = $3 WHERE id = $1 AND state = $2", &[text(id), text(from), text(to)])
            .await?;
        Ok(changed == 1)
    }
}
