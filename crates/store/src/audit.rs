//! Audit rows and the outbox of domain events. Both are written in the transaction of the change that they tell of.

use pinhole_core::{
    AuditId, EventId, LogRecordKind, PrincipalId, ProjectId, RequestId, Result, Timestamp, canonical_json,
};
use serde::Serialize;
use serde_json::Value as Json;

use crate::{
    Tx,
    row::Row,
    value::{int, json, text, text_or_null, time, time_or_null},
};

/// One audit row. The names and forms of its members in JSON are what the transparency log is over: they never change.
#[derive(Clone, Debug, Serialize)]
pub struct AuditRow {
    /// Its id.
    pub id: AuditId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub principal_id: PrincipalId,
    /// By which operation.
    pub operation: String,
    /// In which project, if in one.
    pub project_id: Option<ProjectId>,
    /// On which object, if on one.
    pub object_id: Option<String>,
    /// In which call.
    pub request_id: RequestId,
    /// What changed; never a secret.
    pub detail: Json,
}

impl AuditRow {
    /// The row as the transparency log and an export of the audit have it: canonical JSON.
    pub fn canonical(&self) -> Result<Vec<u8>> {
        canonical_json(self)
    }
}

/// One domain event in the outbox.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// Its id.
    pub id: EventId,
    /// When.
    pub at: Timestamp,
    /// Such as `run.completed`.
    pub kind: String,
    /// In which project.
    pub project_id: ProjectId,
    /// About which object.
    pub object_id: String,
    /// Ids and states only.
    pub payload: Json,
}

/// Which audit rows; all of them where a member is left out.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// In this project.
    pub project_id: Option<ProjectId>,
    /// By this principal.
    pub principal_id: Option<PrincipalId>,
    /// By this operation.
    pub operation: Option<String>,
    /// On this object.
    pub object_id: Option<String>,
    /// At this instant or later.
    pub from: Option<Timestamp>,
    /// Before this instant.
    pub to: Option<Timestamp>,
}

/// The statement that lists audit rows of which `$first` holds.
macro_rules! listing {
    ($first:literal) => {
        concat!(
            "SELECT * FROM audit WHERE ",
            $first,
            " AND ($1 IS NULL OR project_id = $1) AND ($2 IS NULL OR principal_id = $2) \
             AND ($3 IS NULL OR operation = $3) AND ($4 IS NULL OR object_id = $4) \
             AND ($5 IS NULL OR at >= $5) AND ($6 IS NULL OR at < $6) AND ($7 IS NULL OR id < $7) \
             ORDER BY id DESC LIMIT $8"
        )
    };
}

fn read_audit(row: &Row) -> Result<AuditRow> {
    Ok(AuditRow {
        id: row.parse("id")?,
        at: row.time("at")?,
        principal_id: row.parse("principal_id")?,
        operation: row.text("operation")?,
        project_id: row.parse_or_null("project_id")?,
        object_id: row.text_or_null("object_id")?,
        request_id: row.parse("request_id")?,
        detail: row.json("detail")?,
    })
}

fn read_event(row: &Row) -> Result<EventRow> {
    Ok(EventRow {
        id: row.parse("id")?,
        at: row.time("at")?,
        kind: row.text("kind")?,
        project_id: row.parse("project_id")?,
        object_id: row.text("object_id")?,
        payload: row.json("payload")?,
    })
}

impl Tx {
    /// Writes an audit row.
    pub async fn insert_audit(&mut self, row: &AuditRow) -> Result<()> {
        let AuditRow { id, at, principal_id, operation, project_id, object_id, request_id, detail } = row;
        self.execute(
            "INSERT INTO audit (id, at, principal_id, operation, project_id, object_id, request_id, detail) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                text(id),
                time(*at),
                text(principal_id),
                text(operation),
                text_or_null(project_id.as_ref()),
                text_or_null(object_id.as_ref()),
                text(request_id),
                json(detail)?,
            ],
        )
        .await?;
        self.enter_into_log(LogRecordKind::Audit, id, &row.canonical()?).await
    }

    /// The audit row with this id.
    pub async fn audit_row(&mut self, id: AuditId) -> Result<Option<AuditRow>> {
        self.fetch_optional("SELECT * FROM audit WHERE id = $1", &[text(id)], read_audit).await
    }

    /// Puts a domain event into the outbox.
    pub async fn insert_event(&mut self, row: &EventRow) -> Result<()> {
        let EventRow { id, at, kind, project_id, object_id, payload } = row;
        self.execute(
            "INSERT INTO events (id, at, kind, project_id, object_id, payload) VALUES ($1, $2, $3, $4, $5, $6)",
            &[text(id), time(*at), text(kind), text(project_id), text(object_id), json(payload)?],
        )
        .await?;
        Ok(())
    }

    /// The audit rows about an object, oldest first, at most 200.
    pub async fn audit_of(&mut self, object_id: &str) -> Result<Vec<AuditRow>> {
        self.fetch_all(
            "SELECT * FROM audit WHERE object_id = $1 ORDER BY at, id LIMIT 200",
            &[text(object_id)],
            read_audit,
        )
        .await
    }

    /// Audit rows that pass a filter, newest first, from before `before`.
    pub async fn list_audit(
        &mut self,
        filter: &AuditFilter,
        before: Option<AuditId>,
        limit: u32,
    ) -> Result<Vec<AuditRow>> {
        let AuditFilter { project_id, principal_id, operation, object_id, from, to } = filter;
        // The condition that picks fewest rows stands bare, so that its index serves it.
        let sql = match (object_id, project_id, principal_id) {
            (Some(_), ..) => listing!("object_id = $4"),
            (None, Some(_), _) => listing!("project_id = $1"),
            (None, None, Some(_)) => listing!("principal_id = $2"),
            (None, None, None) => listing!("1 = 1"),
        };
        let values = [
            text_or_null(project_id.as_ref()),
            text_or_null(principal_id.as_ref()),
            text_or_null(operation.as_ref()),
            text_or_null(object_id.as_ref()),
            time_or_null(*from),
            time_or_null(*to),
            text_or_null(before),
            int(limit),
        ];
        self.fetch_all(sql, &values, read_audit).await
    }

    /// Events that were not delivered yet, oldest first, at most 200.
    pub async fn pending_events(&mut self) -> Result<Vec<EventRow>> {
        self.fetch_all("SELECT * FROM events WHERE delivered_at IS NULL ORDER BY at, id LIMIT 200", &[], read_event)
            .await
    }
}
