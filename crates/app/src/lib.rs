//! Use cases: one file for each verb, and the only writer of rows.
//!
//! Every transport calls [`operations`]; workers call [`App`] itself. A use case reads and writes through
//! [`App::read`] and [`App::write`], and reaches browsers, storage and Git never while a transaction is open. It must
//! not know of HTTP, MCP or HTML.

mod admin;
mod artifacts;
mod audit;
mod authority;
mod automations;
mod baselines;
mod capture;
mod environments;
mod evidence;
mod grants;
mod groups;
mod idempotency;
mod investigations;
mod keys;
mod log;
mod operations;
mod page;
mod principals;
mod projects;
mod publications;
mod readiness;
mod registrar;
mod remotes;
mod reseal;
mod runs;
mod scenarios;
mod secret;
mod sessions;
mod sign_in;
mod sweep;
mod tokens;
mod trial;
mod unit;
mod uses;
mod who;

use std::{sync::Arc, time::Duration};

use pinhole_blobs::Blobs;
use pinhole_core::{Error, Ids, Result, Sealer};
use pinhole_jobs::WakeSender;
use pinhole_store::Store;
use tokio::sync::watch;

pub use admin::{Holder, NewToken};
pub use artifacts::ArtifactContent;
pub use automations::{SignedDelivery, VerifiedDelivery};
pub use baselines::NewTicket;
pub use capture::{Claim, Lease};
pub use environments::OpenSecret;
pub use evidence::{ApprovalEvidence, CandidateEvidence, ItemEvidence, RunEvidence};
pub use keys::Keyring;
pub use log::LogPorts;
pub use operations::{Entry, Reply, ReplyKind, operations};
pub use pinhole_store::SignedStatements;
pub use publications::{PublicationLease, PublicationWork, Unpublished};
pub use readiness::Readiness;
pub use remotes::check_remote;
pub use reseal::Resealed;
pub use sessions::NewSession;
pub use sign_in::{IdentityPolicy, NewFlow, NewLink, OpenFlow, ProvenIdentity, csrf_token, csrf_token_matches};
pub use trial::TryRun;
pub use unit::{BoxFuture, Outlives, Unit};

/// Everything that use cases need. Cloning is cheap.
#[derive(Clone)]
pub struct App {
    inner: Arc<Parts>,
    outgoing: watch::Sender<()>,
    uses: uses::Uses,
    hashing: sign_in::Hashing,
}

/// What an [`App`] is assembled from.
pub struct Parts {
    /// Rows.
    pub store: Store,
    /// Bytes.
    pub blobs: Blobs,
    /// Ids and secrets.
    pub ids: Arc<dyn Ids>,
    /// The signing keys; a capture or Git process has none.
    pub keyring: Option<Arc<dyn Keyring>>,
    /// What the transparency log is signed with; only the server's process has it.
    pub log: Option<LogPorts>,
    /// Seals secrets; a capture or Git process has none.
    pub sealer: Option<Arc<dyn Sealer>>,
    /// Wakes the job runners of this process after a commit that enqueued something.
    pub wake: WakeSender,
    /// Times and limits.
    pub settings: Settings,
}

/// Times and limits of an installation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a lease on a cell lasts without renewal.
    pub lease: Duration,
    /// How long to wait before something that failed is tried again; it doubles from one try to the next.
    pub back_off: Duration,
    /// How long a cell may take.
    pub cell_deadline: Duration,
    /// How long one step may take.
    pub step_deadline: Duration,
    /// Below this share of free space, in percent, nothing is admitted.
    pub min_free_percent: f64,
    /// Whether decision tickets minted on the server's own machine are accepted.
    pub local_tickets: bool,
    /// Whether decision tickets minted in a browser session are accepted.
    pub session_tickets: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(10),
            back_off: Duration::from_secs(2),
            cell_deadline: Duration::from_secs(600),
            step_deadline: Duration::from_secs(30),
            min_free_percent: 5.0,
            local_tickets: true,
            session_tickets: true,
        }
    }
}

impl Settings {
    /// Wait before attempt `attempt + 1`, counted from 1.
    pub(crate) fn wait_after(&self, attempt: u32) -> Duration {
        self.back_off * (1 << attempt.saturating_sub(1).min(5))
    }
}

impl App {
    /// Assembles an application.
    pub fn new(parts: Parts) -> Self {
        Self {
            inner: Arc::new(parts),
            outgoing: watch::Sender::new(()),
            uses: uses::Uses::default(),
            hashing: sign_in::Hashing::new(),
        }
    }

    /// Times and limits.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The rows, for the job runners.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Changes whenever this process has committed a job; for telling other processes, which must not be told what they
    /// themselves committed.
    pub fn outgoing(&self) -> &watch::Sender<()> {
        &self.outgoing
    }

    /// What wakes the job runners of this process.
    pub fn wake(&self) -> &WakeSender {
        &self.inner.wake
    }

    pub(crate) fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    pub(crate) fn ids(&self) -> &dyn Ids {
        &*self.inner.ids
    }

    pub(crate) fn hashing(&self) -> &sign_in::Hashing {
        &self.hashing
    }

    /// What seals secrets; an internal error in a process that has none.
    pub(crate) fn sealer(&self) -> Result<&dyn Sealer> {
        self.inner.sealer.as_deref().ok_or_else(|| Error::internal("this process has no master key"))
    }
}
