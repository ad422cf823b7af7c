//! The contract: every operation with its command, view, permission, idempotency class and REST path, declared once.
//!
//! REST, MCP, pages and every schema file are made from this list. It holds no behaviour: `pinhole-app` implements the
//! operations, and the transports call them.

mod approvals;
mod audit;
mod automations;
mod baselines;
mod bounded;
mod catalog;
mod environment_document;
mod environments;
mod error;
mod gated;
mod grants;
mod investigations;
mod lifecycle;
mod lines;
mod log;
mod me;
mod page;
mod parse;
mod policies;
mod principals;
mod projects;
mod publications;
mod readiness;
mod remotes;
mod runs;
mod scenarios;
mod secrets;
mod spec;
mod tokens;
mod who;

pub use approvals::{
    ApprovalList, ApprovalRequestItem, ApprovalView, DecideApproval, DecisionView, GetApproval, ListApprovals,
    ListedApprovalView, RequestBaselineApproval,
};
pub use audit::{
    AuditEntryView, AuditList, ListAudit, ListSigningKeys, SigningKeyList, SigningKeyStatus, SigningKeyUse,
    SigningKeyView,
};
pub use automations::{
    AutomationView, CiDispatchList, CiDispatchView, CreateCiDispatch, CreateSchedule, CreateWebhook, DeleteCiDispatch,
    DeleteSchedule, DeleteWebhook, DeliveredView, DeliveryView, DispatchCi, GetCiDispatch, GetSchedule, GetWebhook,
    ListCiDispatches, ListSchedules, ListWebhooks, RefusalView, ScheduleList, ScheduleView, SecretRotation,
    UpdateCiDispatch, UpdateSchedule, UpdateWebhook, WebhookList, WebhookView,
};
pub use baselines::{
    CandidateView, CaptureBaseline, CaptureRun, CaptureVisualBaseline, ConsumeBaselineApproval, Materialized,
    MaterializedView, ReviewView, ReviewVisualBaseline, ReviewsView,
};
pub use catalog::{
    BaselineList, BaselineView, CatalogEntryView, CatalogRevisionList, CatalogRevisionView, GetBaseline,
    GetCatalogRevision, Latest, ListBaselines, ListCatalogRevisions, ListedRevisionView, RevisionSelector,
};
pub use environment_document::{DecisionPolicy, EnvironmentDocument, EnvironmentHeader, SecretDeclaration};
pub use environments::{
    ApproveHostPatterns, CreateEnvironment, EnvironmentList, EnvironmentSummary, EnvironmentView, GetEnvironment,
    HostPatternsView, ListEnvironments, UpdateEnvironment,
};
pub use error::{ErrorBody, status_of};
pub use gated::Gated;
pub use grants::{GrantList, GrantRole, GrantView, ListGrants, RevokeRole};
pub use investigations::{
    AddFinding, CaseList, CaseView, ClaimInvestigation, DisposeInvestigation, EpisodeView, FindingView,
    GetInvestigation, InvestigationView, ListInvestigations, OpenInvestigation, QueueView,
};
pub use lifecycle::{EndedBaselineView, InvalidateBaseline, Rebaseline, RebaselineRun, RetireBaseline};
pub use lines::{
    CatalogLineList, CatalogLineView, ForkCatalogLine, GetCatalogLine, ListCatalogLines, PromoteCatalogLine,
};
pub use log::{GetLogConsistency, GetLogProof, LogConsistencyView, LogProofView};
pub use me::{
    CreateDecisionTicket, ListMySessions, RevokeMySession, SessionList, SessionView, TicketDecision, TicketView,
};
pub use page::{Cursor, Limit};
pub use parse::parse;
pub use policies::{BaselinePolicyView, GetBaselinePolicy, UpdateBaselinePolicy};
pub use principals::{
    CreateGroup, CreatePrincipal, GetGroup, GroupList, GroupSummary, GroupView, ListGroups, ListPrincipals,
    PrincipalList, PrincipalView, PutGroupMembers, UpdatePrincipal,
};
pub use projects::{CreateProject, GetProject, ListProjects, ProjectList, ProjectView};
pub use publications::{
    ExpectedHead, GetPublication, ListPublications, ListedPublicationView, PublicationAttemptView, PublicationList,
    PublicationObservationView, PublicationView, PublishBaselineCatalog,
};
pub use readiness::{GetReadiness, ProbeView, ReadinessView};
pub use remotes::{
    ListRemotes, PutRemote, RemoteCredentialChange, RemoteCredentialKind, RemoteCredentialView, RemoteList, RemoteView,
};
pub use runs::{
    ArtifactView, AttemptView, CancelScenarioRun, CellView, CheckpointView, ComparisonView, ContentRef,
    GetCaptureReceipt, GetScenarioArtifact, GetScenarioRun, GetScenarioRunResult, ListScenarioRuns, ReceiptView,
    RunList, RunResultView, RunView, StartScenarioRun,
};
pub use scenarios::{
    ArchiveScenario, CreateScenario, DiagnosticView, GetScenario, ListScenarios, ListedScenarioView, ScenarioList,
    ScenarioView, SourceFormat, SubmitScenarioRevision, ValidateScenario, ValidationView,
};
pub use secrets::{
    DeleteEnvironmentSecret, EnvironmentSecretList, EnvironmentSecretView, ListEnvironmentSecrets,
    PutEnvironmentSecret, SecretValue,
};
pub use spec::{
    Idempotency, Method, Operation, OperationSpec, OperationView, Schemas, Spec, Surfaces, Who, error_schema, specs,
};
pub use tokens::{
    CreateMyToken, CreateServiceToken, LifetimeDays, ListMyTokens, ListServiceTokens, NewTokenView, RevokeMyToken,
    RevokeServiceToken, TokenList, TokenView,
};
pub use who::{CredentialView, GroupRef, ListOperations, OperationList, Whoami, WhoamiView};

/// The version of the tool catalog.
pub const CATALOG_VERSION: &str = "050.2.0";
