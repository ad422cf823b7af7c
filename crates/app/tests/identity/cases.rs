//! One case for each operation that asks for human authority: what it is done to, how it is called, and which role it
//! needs. Whoever adds such an operation adds its case to [`Case::ALL`].

use pinhole_core::{Actor, ReceiptId, Result, Role};
use serde_json::{Value, json};

use crate::{
    path::Path,
    support::{Bench, GOOD, PROJECT},
};

/// The reason that every case gives.
pub(crate) const REASON: &str = "I looked";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Review,
    Decide,
    TicketToReview,
    TicketToDecide,
    Policy,
}

/// What an operation is done to: receipts of one run, an approval, or the policy of the project.
pub(crate) struct Target {
    receipts: Vec<ReceiptId>,
    approval: Value,
    policy: Value,
}

impl Case {
    pub(crate) const ALL: [Self; 5] =
        [Self::Review, Self::Decide, Self::TicketToReview, Self::TicketToDecide, Self::Policy];

    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Review => "review_visual_baseline",
            Self::Decide => "decide_approval",
            Self::TicketToReview | Self::TicketToDecide => "create_decision_ticket",
            Self::Policy => "update_baseline_policy",
        }
    }

    /// The role that the operation needs, and the ticket for it too.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Review | Self::TicketToReview => Role::Reviewer,
            Self::Decide | Self::TicketToDecide => Role::Approver,
            Self::Policy => Role::Owner,
        }
    }

    /// The case that makes a ticket for this one; `None` where a ticket is no authority.
    pub(crate) fn ticket(self) -> Option<Self> {
        match self {
            Self::Review => Some(Self::TicketToReview),
            Self::Decide => Some(Self::TicketToDecide),
            Self::TicketToReview | Self::TicketToDecide | Self::Policy => None,
        }
    }

    /// Something new that the operation can be done to.
    pub(crate) async fn target(self, path: &Path) -> Target {
        match self {
            Self::Review | Self::TicketToReview => {
                let receipts = path.capture(GOOD).await.receipts.into_values().collect();
                Target { receipts, approval: Value::Null, policy: Value::Null }
            }
            Self::Decide | Self::TicketToDecide => {
                Target { receipts: Vec::new(), approval: path.requested(GOOD).await, policy: Value::Null }
            }
            Self::Policy => {
                let read = json!({ "project": PROJECT });
                let policy = path.bench.call(&path.bench.owner, "get_baseline_policy", read).await.unwrap();
                Target { receipts: Vec::new(), approval: Value::Null, policy }
            }
        }
    }

    /// Calls the operation as `actor`, with a ticket where one is given.
    pub(crate) async fn call(
        self,
        bench: &Bench,
        actor: &Actor,
        target: &Target,
        ticket: Option<&str>,
    ) -> Result<Value> {
        let mut input = match self {
            Self::Review => json!({ "receipts": target.receipts, "disposition": "accept", "reason": REASON }),
            Self::Decide => json!({
                "approval_id": target.approval["id"],
                "outcome": "approve",
                "reason": REASON,
                "expected_version": target.approval["version"],
            }),
            Self::TicketToReview => json!({
                "decision": { "review": { "receipts": target.receipts, "disposition": "accept" } },
                "reason": REASON,
            }),
            Self::TicketToDecide => json!({
                "decision": { "approval": { "approval_id": target.approval["id"], "outcome": "approve" } },
                "reason": REASON,
            }),
            Self::Policy => json!({ "project": PROJECT, "quorum": 1, "expected_version": target.policy["revision"] }),
        };
        if let Some(ticket) = ticket {
            input["ticket"] = ticket.into();
        }
        match self {
            Self::Decide | Self::Policy => bench.call(actor, self.operation(), input).await,
            _ => bench.keyed(actor, self.operation(), input).await,
        }
    }
}
