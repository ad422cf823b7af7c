//! One unit of work: a transaction with the actor and the operation that it serves.
//!
//! A closure given to [`App::write`] may run again, so it has no effect outside its transaction. What it enqueued is
//! woken after the commit.

use std::{future::Future, ops, pin::Pin, time::Duration};

use pinhole_core::{Actor, AuditId, Error, EventId, ProjectId, Result};
use pinhole_jobs::Job;
use pinhole_receipt::{Predicate, sign};
use pinhole_store::{AuditRow, EventRow, Grant, Tx};
use serde_json::Value;
use uuid::Uuid;

use crate::App;

/// How often a transaction runs at most.
const MAX_RUNS: u32 = 5;

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Proof for the compiler that what a closure borrows for `'e` outlives each of its runs `'t`. It holds nothing;
/// without it a closure that returns a boxed future could borrow nothing from its caller.
pub type Outlives<'t, 'e> = [&'t &'e (); 0];

/// A transaction in the service of one operation.
pub struct Unit {
    tx: Tx,
    app: App,
    actor: Actor,
    operation: &'static str,
    audited: bool,
    enqueued: bool,
    authority: AuthorityRead,
}

/// What was read already of the credential and the grants that the actor's authority rests on.
#[derive(Default)]
pub(crate) struct AuthorityRead {
    /// Whether the credential was found valid.
    pub(crate) credential_valid: bool,
    /// The actor's grants in the project that was asked for last.
    pub(crate) grants: Option<(ProjectId, Vec<Grant>)>,
}

impl ops::Deref for Unit {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl ops::DerefMut for Unit {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.tx
    }
}

impl App {
    /// Changes rows on behalf of `actor`: runs `work` in a transaction that sees a consistent state, commits it, and
    /// runs it again on a serialisation failure, and once more when a name is taken. Work that returns an error changes
    /// nothing.
    ///
    /// # Errors
    /// What `work` returns; `provider_unavailable` when the database stays busy; `internal` when `work` wrote no audit
    /// row and did not say that it changed nothing.
    pub async fn write<'e, T, F>(&self, actor: &Actor, operation: &'static str, work: F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Unit, Outlives<'t, 'e>) -> BoxFuture<'t, Result<T>>,
    {
        let mut runs = 1;
        let mut looked_again = false;
        loop {
            match self.write_once(actor, operation, &work).await {
                Err(error) if error.is_transient() && runs < MAX_RUNS => {}
                // PostgreSQL reports a row that another transaction added meanwhile as a taken name. Whether that was
                // an equal call, which this one then repeats, is seen by one more run: that row is committed by now.
                Err(error) if error.reason() == Some("exists") && !looked_again => looked_again = true,
                outcome => return outcome,
            }
            tracing::debug!(operation, runs, "transaction runs again");
            runs += 1;
        }
    }

    async fn write_once<'e, T, F>(&self, actor: &Actor, operation: &'static str, work: &F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Unit, Outlives<'t, 'e>) -> BoxFuture<'t, Result<T>>,
    {
        let mut unit = Unit::new(self.store().begin_write().await?, self, actor, operation);
        let value = work(&mut unit, []).await?;
        if !unit.audited {
            return Err(Error::internal(format!("{operation} changed rows without an audit row")));
        }
        unit.tx.commit().await?;
        if unit.enqueued {
            self.wake().wake();
            self.outgoing().send_replace(());
        }
        Ok(value)
    }

    /// Reads rows on behalf of `actor` in one snapshot.
    pub async fn read<'e, T, F>(&self, actor: &Actor, operation: &'static str, work: F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Unit, Outlives<'t, 'e>) -> BoxFuture<'t, Result<T>>,
    {
        let mut unit = Unit::new(self.store().begin_read().await?, self, actor, operation);
        work(&mut unit, []).await
    }
}

impl Unit {
    fn new(tx: Tx, app: &App, actor: &Actor, operation: &'static str) -> Self {
        let actor = actor.clone();
        Self {
            tx,
            app: app.clone(),
            actor,
            operation,
            audited: false,
            enqueued: false,
            authority: AuthorityRead::default(),
        }
    }

    /// Who this is done for.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The operation that this serves.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    /// What authority rests on, as far as it was read: the transaction sees one state of it, however often it asks.
    pub(crate) fn authority_read(&mut self) -> &mut AuthorityRead {
        &mut self.authority
    }

    /// A fresh UUID for an id.
    pub fn uuid(&self) -> Uuid {
        self.app.ids().uuid()
    }

    /// Writes the audit row of this change. `detail` holds ids, states and digests, never a secret.
    pub async fn audit(&mut self, project: Option<ProjectId>, object: Option<String>, detail: Value) -> Result<()> {
        let row = AuditRow {
            id: AuditId::from_uuid(self.uuid()),
            at: self.tx.now(),
            principal_id: self.actor.principal,
            operation: self.operation.to_owned(),
            project_id: project,
            object_id: object,
            request_id: self.actor.request,
            detail,
        };
        self.audited = true;
        self.tx.insert_audit(&row).await
    }

    /// Says that nothing was changed, or only bookkeeping that no audit row is about: a replay, a lease, a wake-up.
    pub fn unaudited(&mut self) {
        self.audited = true;
    }

    /// The signed statement as it is stored and published: a DSSE envelope in JSON.
    pub(crate) fn signed(&self, predicate: &impl Predicate) -> Result<String> {
        let envelope = sign(&predicate.statement()?, &*self.app.signer()?)?.to_bytes()?;
        String::from_utf8(envelope).map_err(Error::internal)
    }

    /// Puts a domain event into the outbox.
    pub async fn event(&mut self, kind: &str, project: ProjectId, object: String, payload: Value) -> Result<()> {
        let row = EventRow {
            id: EventId::from_uuid(self.uuid()),
            at: self.tx.now(),
            kind: kind.to_owned(),
            project_id: project,
            object_id: object,
            payload,
        };
        self.tx.insert_event(&row).await
    }

    /// Writes the audit row of this change, and puts the same into the outbox as a domain event.
    pub(crate) async fn audit_with_event(
        &mut self,
        kind: &str,
        project: ProjectId,
        object: impl ToString,
        detail: Value,
    ) -> Result<()> {
        let object = object.to_string();
        self.audit(Some(project), Some(object.clone()), detail.clone()).await?;
        self.event(kind, project, object, detail).await
    }

    /// Enqueues a job with this transaction; its runner is woken after the commit.
    pub async fn enqueue<J: Job>(&mut self, job: &J, delay: Duration) -> Result<()> {
        self.enqueued = true;
        pinhole_jobs::enqueue(&mut self.tx, job, delay).await
    }
}
