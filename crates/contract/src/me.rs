//! What a person does with sessions and decisions of their own.

use pinhole_core::{
    ApprovalId, Disposition, IdempotencyKey, Outcome, Reason, ReceiptId, SessionId, Sha256Digest, TicketId, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// List the caller's own sessions, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMySessions {
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// A browser session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// How it began: `password`, `oidc` or `link`.
    pub method: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When the user last proved who they are; the beginning of 1970 when the provider that let them in does not say.
    pub reauthenticated_at: Timestamp,
    /// When it was last used, to within a minute.
    pub last_used_at: Timestamp,
    /// When it ends whatever happens; earlier when it is not used.
    pub expires_at: Timestamp,
    /// When it was ended.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// Whether it is the one that this call was made in.
    pub current: bool,
}

/// One page of sessions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// The sessions that go on.
    pub sessions: Vec<SessionView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListMySessions {
    type Output = SessionList;
    const SPEC: Spec = Spec {
        name: "list_my_sessions",
        summary: "List the caller's own sessions that go on, newest first.",
        permission: None,
        who: Who::Session,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/me/sessions",
    };
}

/// End a session of one's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeMySession {
    /// The session.
    pub session_id: SessionId,
}

impl Operation for RevokeMySession {
    type Output = SessionView;
    const SPEC: Spec = Spec {
        name: "revoke_my_session",
        summary: "End a session of one's own; the next call in it is refused.",
        permission: None,
        who: Who::Session,
        idempotency: Idempotency::Natural,
        surfaces: Surfaces::RestOnly,
        method: Method::Delete,
        path: "/me/sessions/{session_id}",
    };
}

/// What a ticket decides.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TicketDecision {
    /// The present version of an approval.
    Approval {
        /// The approval.
        approval_id: ApprovalId,
        /// Approve or deny.
        outcome: Outcome,
    },
    /// Captures of one run.
    Review {
        /// 1 to 200 different receipts of one run.
        #[serde(deserialize_with = "bounded::list::<1, 200, _, _>")]
        #[schemars(length(min = 1, max = 200))]
        receipts: Vec<ReceiptId>,
        /// Accept or reject.
        disposition: Disposition,
    },
}

/// Make a decision ticket.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDecisionTicket {
    /// What it decides.
    pub decision: TicketDecision,
    /// Why; recorded with the decision.
    pub reason: Reason,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A decision ticket.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TicketView {
    /// Its id.
    pub id: TicketId,
    /// The approval or the run that it is for.
    pub object: String,
    /// The one version of it.
    pub version: u32,
    /// Digest of what is decided.
    pub intent_digest: Sha256Digest,
    /// The one outcome.
    pub outcome: String,
    /// The reason that goes with it.
    pub reason: Reason,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
    /// What goes into the call's `ticket`. Null on a repeat: it is shown once and stored nowhere.
    pub secret: Option<String>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

impl Operation for CreateDecisionTicket {
    type Output = TicketView;
    const SPEC: Spec = Spec {
        name: "create_decision_ticket",
        summary: "Make a single-use ticket with which the caller's own token decides exactly this within 10 minutes.",
        permission: None,
        who: Who::Human,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestOnly,
        method: Method::Post,
        path: "/me/tickets",
    };
}
