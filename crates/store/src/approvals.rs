//! Approvals and the decisions on them. Intent and decisions never change; an approval's version counts its changes of
//! state and its decisions, and every update names the version that it was read at.

use pinhole_core::{
    ApprovalId, ApprovalIntent, ApprovalKind, ApprovalState, DecisionId, EnvironmentId, LineName, LogRecordKind, Name,
    Outcome, PrincipalId, ProjectId, Reason, Result, Sha256Digest, Timestamp, Via,
};

use crate::{
    Tx,
    row::Row,
    value::{environments, int, int_or_null, json, text, text_or_null, time},
};

/// An approval.
#[derive(Clone, Debug)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// Its project.
    pub project_id: ProjectId,
    /// The line.
    pub line: LineName,
    /// Counts decisions and changes of state, from 1.
    pub version: u32,
    /// Its state, as far as it was recorded: one that ran out keeps its state until somebody acts on it.
    pub state: ApprovalState,
    /// What exactly is approved.
    pub intent: ApprovalIntent,
    /// SHA-256 over the intent's canonical bytes.
    pub intent_sha256: Sha256Digest,
    /// The baseline policy revision that it was requested under; 0 for the defaults.
    pub policy_revision: u32,
    /// Who asked.
    pub requested_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// Until when it may be decided and consumed.
    pub expires_at: Timestamp,
    /// The catalog revision that it became.
    pub consumed_revision: Option<u32>,
}

/// An approval without its intent, for lists.
#[derive(Clone, Debug)]
pub struct ListedApproval {
    /// Its id.
    pub id: ApprovalId,
    /// The line.
    pub line: LineName,
    /// Counts decisions and changes of state, from 1.
    pub version: u32,
    /// Its state; one that ran out is expired, recorded or not.
    pub state: ApprovalState,
    /// What it is for.
    pub kind: ApprovalKind,
    /// How many items its intent has.
    pub items: u32,
    /// SHA-256 over the intent's canonical bytes.
    pub intent_sha256: Sha256Digest,
    /// A label for people.
    pub release_label: Option<Name>,
    /// Who asked.
    pub requested_by: PrincipalId,
    /// When.
    pub created_at: Timestamp,
    /// Until when it may be decided and consumed.
    pub expires_at: Timestamp,
    /// The catalog revision that it became.
    pub consumed_revision: Option<u32>,
}

/// Which approvals a list shows.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalFilter<'a> {
    /// Of this project.
    pub project: ProjectId,
    /// Only those whose items are all in these environments.
    pub visible: Option<&'a [EnvironmentId]>,
    /// Only those in this state.
    pub state: Option<ApprovalState>,
    /// Only those made before this one.
    pub before: Option<ApprovalId>,
}

/// One person's decision on an approval.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Its id.
    pub id: DecisionId,
    /// The approval.
    pub approval_id: ApprovalId,
    /// Its project.
    pub project_id: ProjectId,
    /// Yes or no.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// Who.
    pub principal_id: PrincipalId,
    /// By what authority.
    pub via: Via,
    /// The signed statement, a DSSE envelope in JSON.
    pub envelope: String,
    /// When.
    pub created_at: Timestamp,
}

fn read(row: &Row) -> Result<Approval> {
    Ok(Approval {
        id: row.parse("id")?,
        project_id: row.parse("project_id")?,
        line: row.parse("line")?,
        version: row.int("version")?,
        state: row.parse("state")?,
        intent: row.json("intent")?,
        intent_sha256: row.parse("intent_sha256")?,
        policy_revision: row.int("policy_revision")?,
        requested_by: row.parse("requested_by")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        consumed_revision: row.int_or_null("consumed_revision")?,
    })
}

fn read_listed(row: &Row) -> Result<ListedApproval> {
    Ok(ListedApproval {
        id: row.parse("id")?,
        line: row.parse("line")?,
        version: row.int("version")?,
        state: row.parse("state_now")?,
        kind: row.parse("kind")?,
        items: row.int("items")?,
        intent_sha256: row.parse("intent_sha256")?,
        release_label: row.parse_or_null("release_label")?,
        requested_by: row.parse("requested_by")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        consumed_revision: row.int_or_null("consumed_revision")?,
    })
}

fn read_decision(row: &Row) -> Result<Decision> {
    Ok(Decision {
        id: row.parse("id")?,
        approval_id: row.parse("approval_id")?,
        project_id: row.parse("project_id")?,
        outcome: row.parse("outcome")?,
        reason: row.parse("reason")?,
        principal_id: row.parse("principal_id")?,
        via: row.parse("via")?,
        envelope: row.text("envelope")?,
        created_at: row.time("created_at")?,
    })
}

impl Tx {
    /// Adds an approval with one row for each item of its intent; `of_items` has the environment of each, in order.
    pub async fn insert_approval(&mut self, approval: &Approval, of_items: &[EnvironmentId]) -> Result<()> {
        self.execute(
            "INSERT INTO approvals (id, project_id, line, version, state, intent, intent_sha256, policy_revision, \
             requested_by, created_at, expires_at, consumed_revision, kind, release_label) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            &[
                text(approval.id),
                text(approval.project_id),
                text(&approval.line),
                int(approval.version),
                text(approval.state),
                json(&approval.intent)?,
                text(approval.intent_sha256),
                int(approval.policy_revision),
                text(approval.requested_by),
                time(approval.created_at),
                time(approval.expires_at),
                int_or_null(approval.consumed_revision),
                text(approval.intent.kind),
                text_or_null(approval.intent.release_label.as_ref()),
            ],
        )
        .await?;
        for (ordinal, (item, environment)) in (0_u32..).zip(approval.intent.items.iter().zip(of_items)) {
            self.execute(
                "INSERT INTO approval_items (approval_id, ordinal, candidate_id, key_path, environment_id) \
                 VALUES ($1, $2, $3, $4, $5)",
                &[
                    text(approval.id),
                    int(ordinal),
                    text_or_null(item.candidate),
                    text(item.key.path()),
                    text(environment),
                ],
            )
            .await?;
        }
        Ok(())
    }

    /// The environments that an approval's items are in, each once; at most as many as it has items.
    pub async fn environments_of_approval(&mut self, id: ApprovalId) -> Result<Vec<EnvironmentId>> {
        self.fetch_all(
            "SELECT DISTINCT environment_id FROM approval_items WHERE approval_id = $1 ORDER BY environment_id",
            &[text(id)],
            |row| row.parse("environment_id"),
        )
        .await
    }

    /// Approvals of a project, newest first.
    pub async fn list_approvals(&mut self, filter: &ApprovalFilter<'_>, limit: u32) -> Result<Vec<ListedApproval>> {
        let now = self.now();
        self.fetch_all(
            "SELECT * FROM (SELECT approvals.*, CASE WHEN state IN ('pending', 'approved') AND expires_at <= $5 \
             THEN 'expired' ELSE state END AS state_now, \
             (SELECT count(*) FROM approval_items WHERE approval_id = approvals.id) AS items FROM approvals \
             WHERE project_id = $1 AND ($4 IS NULL OR id < $4) AND NOT EXISTS (SELECT 1 FROM approval_items \
             WHERE approval_id = approvals.id AND \
             coalesce($2, '/' || environment_id || '/') NOT LIKE ('%/' || environment_id || '/%'))) AS listed \
             WHERE state_now = coalesce($3, state_now) ORDER BY id DESC LIMIT $6",
            &[
                text(filter.project),
                environments(filter.visible),
                text_or_null(filter.state),
                text_or_null(filter.before),
                time(now),
                int(limit),
            ],
            read_listed,
        )
        .await
    }

    /// The approval with this id.
    pub async fn approval(&mut self, id: ApprovalId) -> Result<Option<Approval>> {
        self.fetch_optional("SELECT * FROM approvals WHERE id = $1", &[text(id)], read).await
    }

    /// Moves an approval from `version` to the next, in `state`; false when it was at another version.
    pub async fn move_approval(
        &mut self,
        id: ApprovalId,
        version: u32,
        state: ApprovalState,
        consumed_revision: Option<u32>,
    ) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE approvals SET state = $3, consumed_revision = $4, version = version + 1 \
                 WHERE id = $1 AND version = $2",
                &[text(id), int(version), text(state), int_or_null(consumed_revision)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Adds a decision; `conflict` when this person has decided before.
    pub async fn insert_decision(&mut self, decision: &Decision) -> Result<()> {
        self.execute(
            "INSERT INTO decisions (id, approval_id, project_id, outcome, reason, principal_id, via, envelope, \
             created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &[
                text(decision.id),
                text(decision.approval_id),
                text(decision.project_id),
                text(decision.outcome),
                text(&decision.reason),
                text(decision.principal_id),
                text(decision.via),
                text(&decision.envelope),
                time(decision.created_at),
            ],
        )
        .await?;
        self.enter_into_log(LogRecordKind::Decision, decision.id, decision.envelope.as_bytes()).await
    }

    /// The decision with this id.
    pub async fn decision(&mut self, id: DecisionId) -> Result<Option<Decision>> {
        self.fetch_optional("SELECT * FROM decisions WHERE id = $1", &[text(id)], read_decision).await
    }

    /// The decisions on an approval in the order they were made, at most 100: more than any quorum.
    pub async fn decisions_of(&mut self, approval: ApprovalId) -> Result<Vec<Decision>> {
        self.fetch_all(
            "SELECT * FROM decisions WHERE approval_id = $1 ORDER BY created_at, id LIMIT 100",
            &[text(approval)],
            read_decision,
        )
        .await
    }
}
