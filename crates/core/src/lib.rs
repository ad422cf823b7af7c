//! The domain of Pinhole: ids, digests, pins, states, rules and the one error type.
//!
//! Everything here is pure: no I/O, no `await`, no clock and no random source of its own (see [`Clock`] and
//! [`Ids`]). It must not depend on any other crate of the workspace.

mod actor;
mod automation;
mod canonical;
mod capture;
mod catalog;
mod cron;
mod digest;
mod error;
mod form;
mod host_pattern;
mod id;
mod investigation;
mod log;
mod pins;
mod ports;
mod profile;
mod remote_access;
mod settings;
mod state;
mod text;
mod time;

pub use actor::{Actor, Authority, Permission, PrincipalClass, Role, Scope, Subject, Via};
pub use automation::{AutomationId, AutomationKind, CommitId, DeliveryKey, DeliveryOutcome, GitRef};
pub use canonical::{canonical_json, canonical_json_digest};
pub use capture::{
    ArtifactKind, ArtifactRef, CellFailure, FailedAssertion, NotEvidence, RenderFacts, RulesFacts, SandboxFacts,
    StagedArtifact, StagedCheckpoint, StagedExtract, Submission,
};
pub use catalog::{
    ApprovalIntent, ApprovalItem, ApprovalKind, BaselineKey, BaselineKind, LineOrigin, PublicationIntent,
};
pub use cron::{CronExpression, ZoneName};
pub use digest::{Blake3Digest, Sha256Digest};
pub use error::{Code, Details, Error, Result};
pub use host_pattern::HostPattern;
pub use id::{
    ApprovalId, ArtifactId, AuditId, BaselineEntryId, CandidateId, CaseId, CellId, CiDispatchId, ClaimToken,
    DecisionId, EnvironmentId, EpisodeId, EventId, FindingId, GroupId, PrincipalId, ProjectId, PublicationId,
    ReceiptId, RemoteId, RequestId, ReviewId, RunId, ScenarioId, ScheduleId, SessionId, TicketId, TokenId, WebhookId,
};
pub use investigation::{CaseDisposition, CaseState, FailedCell, FailedCheckpoint, FailureSignature, FindingText};
pub use log::{LogRecordId, LogRecordKind};
pub use pins::{
    BaselinePin, BaselineSelector, EnvironmentSelector, LineRevision, NoBaseline, Pins, Previous, ReceiptSelector,
    RunSelectors, ScenarioSelector, True,
};
pub use ports::{Clock, Ids, RandomIds, Sealer, Signer, SystemClock, Witness};
pub use profile::{ColorScheme, Profile, ProfileOverride, Viewport};
pub use remote_access::{RemoteAccess, RemoteCredential};
pub use settings::{ActionClass, ActionRule, Gate, ProbeKind, TwoPersons};
pub use state::{
    ApprovalState, CandidateState, CheckpointVerdict, Disposition, EntryState, FailureReason, Outcome,
    PublicationState, RunState, RunVerdict,
};
pub use text::{HeaderName, HeaderValue, IdempotencyKey, LineName, Name, Reason, SecretName, Slug, Title};
pub use time::Timestamp;
