//! What starts runs without a person: schedules, webhooks and CI dispatches, and how their deliveries ended.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CiDispatchId, Error, ScheduleId, WebhookId, bounded_texts, form::text_enum, text_form};

text_enum! {
    /// The kinds of automations.
    AutomationKind {
        /// Starts runs at times of its own.
        Schedule = "schedule",
        /// Starts a run for each signed delivery.
        Webhook = "webhook",
        /// Starts a run whenever CI says so.
        CiDispatch = "ci_dispatch",
    }
}

/// An automation. Written as the id of its kind, whose prefix tells which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AutomationId {
    /// A schedule.
    Schedule(ScheduleId),
    /// A webhook.
    Webhook(WebhookId),
    /// A CI dispatch.
    CiDispatch(CiDispatchId),
}

impl AutomationId {
    /// Its kind.
    pub const fn kind(self) -> AutomationKind {
        match self {
            Self::Schedule(_) => AutomationKind::Schedule,
            Self::Webhook(_) => AutomationKind::Webhook,
            Self::CiDispatch(_) => AutomationKind::CiDispatch,
        }
    }
}

impl fmt::Display for AutomationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schedule(id) => id.fmt(f),
            Self::Webhook(id) => id.fmt(f),
            Self::CiDispatch(id) => id.fmt(f),
        }
    }
}

impl FromStr for AutomationId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |_| Error::invalid("", "expected the id of a schedule, of a webhook or of a CI dispatch");
        let schedule: Result<_, Error> = text.parse().map(Self::Schedule);
        let others = || text.parse().map(Self::Webhook).or_else(|_: Error| text.parse().map(Self::CiDispatch));
        schedule.or_else(|_| others()).map_err(wrong)
    }
}

text_form!(AutomationId, { "type": "string", "pattern": "^(sch|whk|cid)_[0-9a-f]{32}$" });

text_enum! {
    /// How a delivery ended.
    DeliveryOutcome {
        /// It started a run.
        Started = "started",
        /// It started nothing.
        Refused = "refused",
    }
}

bounded_texts! {
    /// What tells one delivery of an automation from another: the time of a schedule, the id that a webhook's sender
    /// gave, or the run that CI started.
    DeliveryKey, 1..=200, "^[!-~]+$", |text| text.bytes().all(|b| b.is_ascii_graphic()),
        "expected 1 to 200 visible ASCII characters";
    /// A Git commit as CI names it.
    CommitId, 40..=64, "^([0-9a-f]{40}|[0-9a-f]{64})$", is_commit,
        "expected a whole commit id: 40 or 64 lower-case hexadecimal digits";
    /// A Git branch or tag as CI names it.
    GitRef, 1..=255, "^[!-~]+$", |text| text.bytes().all(|b| b.is_ascii_graphic()),
        "expected 1 to 255 visible ASCII characters";
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_id_tells_its_kind() {
        let uuid = Uuid::from_u128(7);
        for (id, kind) in [
            (AutomationId::Schedule(ScheduleId::from_uuid(uuid)), AutomationKind::Schedule),
            (AutomationId::Webhook(WebhookId::from_uuid(uuid)), AutomationKind::Webhook),
            (AutomationId::CiDispatch(CiDispatchId::from_uuid(uuid)), AutomationKind::CiDispatch),
        ] {
            assert_eq!(id.to_string().parse::<AutomationId>().unwrap(), id);
            assert_eq!(id.kind(), kind);
        }
        assert!("run_00000000000000000000000000000007".parse::<AutomationId>().is_err());
    }
}
