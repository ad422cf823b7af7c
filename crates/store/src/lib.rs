//! SQL storage: one [`Store`] over SQLite or PostgreSQL, one [`Tx`] that is the repository, one file for each aggregate.
//!
//! Queries are written once, in the SQL that both databases share. This crate holds no rule: it loads and writes rows,
//! and the caller decides. It must not know of HTTP, jobs, blobs or browsers. Only it and `pinhole-jobs` name sqlx.

mod approvals;
mod artifacts;
mod audit;
mod automations;
mod candidates;
mod catalog;
mod cells;
mod db;
mod entries;
mod environments;
mod grants;
mod groups;
mod idempotency;
mod identities;
mod investigations;
mod migrate;
mod passwords;
mod policies;
mod principals;
mod probes;
mod projects;
mod publications;
mod receipts;
mod remotes;
mod reviews;
mod row;
mod runs;
mod scenarios;
mod secrets;
mod sessions;
mod tickets;
mod tokens;
mod value;

pub use approvals::{Approval, ApprovalFilter, Decision, ListedApproval};
pub use artifacts::Artifact;
pub use audit::{AuditFilter, AuditRow, EventRow};
pub use automations::{Automation, Delivery, Refusal, SealedSecret, Timing, WebhookSecrets};
pub use candidates::Candidate;
pub use catalog::{CatalogLine, CatalogRevision};
pub use cells::{Attempt, Cell};
pub use db::{Connection, Pools, Store, Tx, database_error};
pub use entries::{Entry, EntryFilter};
pub use environments::{Environment, EnvironmentRevision};
pub use grants::Grant;
pub use groups::Group;
pub use idempotency::IdempotentCall;
pub use identities::OidcFlow;
pub use investigations::{Case, CaseFilter, CaseQueue, Episode, Finding};
pub use passwords::{SignInFailures, SignInLink};
pub use policies::BaselinePolicy;
pub use principals::Principal;
pub use probes::Probe;
pub use projects::Project;
pub use publications::{Publication, PublicationAttempt};
pub use receipts::{CheckpointResult, Receipt, RunResult};
pub use remotes::Remote;
pub use reviews::Review;
pub use runs::Run;
pub use scenarios::{Scenario, ScenarioRevision};
pub use secrets::EnvironmentSecret;
pub use sessions::Session;
pub use tickets::Ticket;
pub use tokens::Token;
