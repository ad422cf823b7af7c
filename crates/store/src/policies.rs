//! Revisions of the baseline policies of projects.

use pinhole_core::{Gate, PrincipalId, ProjectId, Result, Timestamp, TwoPersons};

use crate::{
    Tx,
    row::Row,
    value::{int, int_or_null, text, time},
};

/// One revision of a project's baseline policy. Never changes.
#[derive(Clone, Debug)]
pub struct BaselinePolicy {
    /// The project.
    pub project_id: ProjectId,
    /// From 1.
    pub revision: u32,
    /// How many persons have to approve.
    pub quorum: u32,
    /// Whether the decider must be another person.
    pub two_persons: TwoPersons,
    /// Whether retiring and invalidating entries waits for an approval.
    pub gate: Gate,
    /// Seconds in which an approval may be decided and consumed.
    pub lifetime_s: u32,
    /// Who made it.
    pub changed_by: PrincipalId,
    /// When.
    pub changed_at: Timestamp,
}

fn read(row: &Row) -> Result<BaselinePolicy> {
    Ok(BaselinePolicy {
        project_id: row.parse("project_id")?,
        revision: row.int("revision")?,
        quorum: row.int("quorum")?,
        two_persons: row.parse("two_persons")?,
        gate: row.parse("gate")?,
        lifetime_s: row.int("lifetime_s")?,
        changed_by: row.parse("changed_by")?,
        changed_at: row.time("changed_at")?,
    })
}

impl Tx {
    /// Adds a revision; `conflict` when there is one of this number.
    pub async fn insert_baseline_policy(&mut self, policy: &BaselinePolicy) -> Result<()> {
        let BaselinePolicy { project_id, revision, quorum, two_persons, gate, lifetime_s, changed_by, changed_at } =
            policy;
        self.execute(
            "INSERT INTO baseline_policies \
             (project_id, revision, quorum, two_persons, gate, lifetime_s, changed_by, changed_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                text(project_id),
                int(*revision),
                int(*quorum),
                text(two_persons),
                text(gate),
                int(*lifetime_s),
                text(changed_by),
                time(*changed_at),
            ],
        )
        .await?;
        Ok(())
    }

    /// The revision of this number, or the newest one when none is named.
    pub async fn baseline_policy(
        &mut self,
        project: ProjectId,
        revision: Option<u32>,
    ) -> Result<Option<BaselinePolicy>> {
        self.fetch_optional(
            "SELECT * FROM baseline_policies WHERE project_id = $1 AND revision = coalesce($2, revision) \
             ORDER BY revision DESC LIMIT 1",
            &[text(project), int_or_null(revision)],
            read,
        )
        .await
    }
}
