//! Typed ids: a prefix that names the kind and a UUIDv7 in hexadecimal, such as `run_0198c1…`.
//!
//! An id names an object and is never a capability. Ids are made by [`crate::Ids`] only.

use std::{fmt, str::FromStr};

use uuid::Uuid;

use crate::{Error, text_form};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The text before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// Wraps a UUID that an [`crate::Ids`] made.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", Self::PREFIX, self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                parse(text, Self::PREFIX).map(Self)
            }
        }

        text_form!($name, { "type": "string", "pattern": concat!("^", $prefix, "_[0-9a-f]{32}$") });
    )*};
}

ids! {
    /// A user or a service.
    PrincipalId = "prn";
    /// A bearer token (the row, not its secret).
    TokenId = "tok";
    /// A single-use decision ticket.
    TicketId = "tkt";
    /// A browser session (the row, not its secret).
    SessionId = "ses";
    /// A group of principals.
    GroupId = "grp";
    /// A project.
    ProjectId = "prj";
    /// An environment of a project.
    EnvironmentId = "env";
    /// A scenario of a project; its revisions are named by digest.
    ScenarioId = "scn";
    /// A run.
    RunId = "run";
    /// One matrix row of a run: it has the lease, the attempts and the job.
    CellId = "cel";
    /// The fencing token of one lease on a cell; a new one for every claim.
    ClaimToken = "clm";
    /// A stored picture or other evidence.
    ArtifactId = "art";
    /// A signed capture receipt.
    ReceiptId = "rcp";
    /// A proposed baseline.
    CandidateId = "cnd";
    /// A human disposition of a capture.
    ReviewId = "rev";
    /// An approval request and its gate.
    ApprovalId = "apr";
    /// One decision on an approval.
    DecisionId = "dec";
    /// An entry of a catalog line.
    BaselineEntryId = "bse";
    /// A Git remote.
    RemoteId = "rmt";
    /// One publication of one catalog revision.
    PublicationId = "pub";
    /// A schedule that starts runs.
    ScheduleId = "sch";
    /// A webhook that starts runs.
    WebhookId = "whk";
    /// A dispatch by which CI starts runs.
    CiDispatchId = "cid";
    /// An investigation case.
    CaseId = "cas";
    /// An episode of a case: one failure with its signature.
    EpisodeId = "eps";
    /// A finding of a case.
    FindingId = "fnd";
    /// An audit row.
    AuditId = "aud";
    /// A domain event in the outbox.
    EventId = "evt";
    /// One call on a transport; shown in every error.
    RequestId = "req";
}

fn parse(text: &str, prefix: &str) -> Result<Uuid, Error> {
    let expected = || Error::invalid("", format!("expected {prefix}_ and 32 lower-case hexadecimal digits"));
    let hex = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')).ok_or_else(expected)?;
    let lower = hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !lower {
        return Err(expected());
    }
    Uuid::try_parse(hex).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn display_and_parse_agree() {
        let id = RunId::from_uuid(Uuid::from_u128(7));
        assert_eq!(id.to_string(), "run_00000000000000000000000000000007");
        assert_eq!(id.to_string().parse::<RunId>().unwrap(), id);
    }

    #[test]
    fn another_kind_is_refused() {
        assert!("cel_00000000000000000000000000000007".parse::<RunId>().is_err());
        assert!("run_0000000000000000000000000000000G".parse::<RunId>().is_err());
        assert!("run_00000000-0000-0000-0000-000000000007".parse::<RunId>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_is_its_own_written_form(
            text in "(run|prn|grp|sch|whk|cid)_[0-9a-fA-F]{30,34}|(sha256|blake3):[0-9a-fA-F]{62,66}|.{0,80}"
        ) {
            fn own_form<T: FromStr + fmt::Display>(text: &str) -> Option<bool> {
                text.parse::<T>().ok().map(|value| value.to_string() == text)
            }
            let forms = [
                own_form::<RunId>, own_form::<crate::Subject>, own_form::<crate::AutomationId>,
                own_form::<crate::Sha256Digest>, own_form::<crate::Blake3Digest>, own_form::<crate::Slug>,
                own_form::<crate::LineName>, own_form::<crate::Name>, own_form::<crate::Reason>,
                own_form::<crate::IdempotencyKey>, own_form::<crate::SecretName>, own_form::<crate::Role>,
                own_form::<crate::Permission>,
            ];
            for (index, form) in forms.into_iter().enumerate() {
                prop_assert_ne!(form(&text), Some(false), "{}", index);
            }
        }

        #[test]
        fn every_id_is_read_as_it_was_written(number in any::<u128>()) {
            let id = RunId::from_uuid(Uuid::from_u128(number));
            prop_assert_eq!(id.to_string().parse::<RunId>().unwrap(), id);
            let subject = crate::Subject::Group(crate::GroupId::from_uuid(Uuid::from_u128(number)));
            prop_assert_eq!(subject.to_string().parse::<crate::Subject>().unwrap(), subject);
        }
    }
}
