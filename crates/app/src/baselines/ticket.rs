//! Decision tickets: made in a fresh session by the person who decides, or on the server's own machine for them. A
//! ticket takes version and intent from the database and never from whoever asks for it, and it is of use to its
//! principal alone.

use std::time::Duration;

use pinhole_contract::{CreateDecisionTicket, TicketDecision, TicketView};
use pinhole_core::{
    Actor, ApprovalId, Disposition, Error, Name, Outcome, Permission, PrincipalClass, PrincipalId, ProjectId, Reason,
    ReceiptId, Result, Sha256Digest, TicketId, Timestamp, Via,
};
use pinhole_store::{Approval, Receipt, Run, Ticket};
use serde_json::json;

use super::{
    approval::{Requested, authorised, check_pending, end, ended},
    review::{check_shape, intent_digest, load, one_run, receipts},
};
use crate::{App, admin, idempotency::Keyed, unit::Unit};

/// How long a ticket may be used.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// A fresh decision ticket. The secret is shown once and stored nowhere.
#[derive(Clone)]
pub struct NewTicket {
    /// What goes into the call's `ticket`.
    pub secret: String,
    /// The ticket's row.
    pub id: TicketId,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What a ticket is for.
struct Subject<'a> {
    project: ProjectId,
    object: String,
    version: u32,
    intent: Sha256Digest,
    outcome: &'a str,
    reason: &'a Reason,
}

impl<'a> Subject<'a> {
    fn of_approval(approval: &Approval, outcome: Outcome, reason: &'a Reason) -> Self {
        Self {
            project: approval.project_id,
            object: approval.id.to_string(),
            version: approval.version,
            intent: approval.intent_sha256,
            outcome: outcome.as_str(),
            reason,
        }
    }

    fn of_review(run: &Run, receipts: &[Receipt], disposition: Disposition, reason: &'a Reason) -> Result<Self> {
        Ok(Self {
            project: run.pins.project,
            object: run.id.to_string(),
            version: run.version,
            intent: intent_digest(receipts)?,
            outcome: disposition.as_str(),
            reason,
        })
    }
}

impl App {
    /// Makes a single-use ticket with which `principal` may review exactly these captures, all of one run, with this
    /// outcome and reason. It lasts 10 minutes.
    ///
    /// # Errors
    /// `not_found` without such a principal or receipt, `invalid_arguments` unless they are 1 to 200 of one run,
    /// `permission_denied` when the principal is no user or the installation takes no such tickets.
    pub async fn create_review_ticket(
        &self,
        principal: &Name,
        receipts: &[ReceiptId],
        disposition: Disposition,
        reason: &Reason,
    ) -> Result<NewTicket> {
        check_shape(receipts)?;
        let secret = self.new_secret("pht")?;
        let (actor, secret) = (self.system_actor(), &secret);
        self.write(&actor, "create_review_ticket", move |unit, _| {
            Box::pin(async move {
                let (run, receipts) = review_of(unit, receipts).await?;
                let subject = Subject::of_review(&run, &receipts, disposition, reason)?;
                insert_local(unit, principal, secret, subject).await
            })
        })
        .await
    }

    /// Makes a single-use ticket with which `principal` may decide the present version of an approval, with this
    /// outcome and reason. It lasts 10 minutes.
    ///
    /// # Errors
    /// `not_found` without such a principal or approval, `conflict` when the approval is not pending,
    /// `permission_denied` when the principal is no user or the installation takes no such tickets.
    pub async fn create_decision_ticket(
        &self,
        principal: &Name,
        approval: ApprovalId,
        outcome: Outcome,
        reason: &Reason,
    ) -> Result<NewTicket> {
        let secret = self.new_secret("pht")?;
        let (actor, secret) = (self.system_actor(), &secret);
        self.write(&actor, "create_decision_ticket", move |unit, _| {
            Box::pin(async move {
                let absent = || Error::not_found().with_message(format!("there is no approval {approval}"));
                let found = unit.approval(approval).await?.ok_or_else(absent)?;
                check_pending(&found)?;
                let subject = Subject::of_approval(&found, outcome, reason);
                insert_local(unit, principal, secret, subject).await
            })
        })
        .await
    }
}

/// `create_decision_ticket`: the caller's own ticket, made in a fresh session.
pub(crate) async fn create_ticket(app: &App, actor: &Actor, command: CreateDecisionTicket) -> Result<TicketView> {
    if let TicketDecision::Review { receipts, .. } = &command.decision {
        check_shape(receipts).map_err(|e| e.within("review").within("decision"))?;
    }
    let (command, secret) = (&command, &app.new_secret("pht")?);
    let made = app.write(actor, "create_decision_ticket", move |unit, _| {
        Box::pin(async move {
            let (subject, requested) = own_subject(unit, command).await?;
            unit.fresh_session().await?;
            if !unit.app().settings().session_tickets {
                return Err(Error::permission_denied("session_tickets")
                    .with_message("not allowed: this installation takes no tickets that were made in a session"));
            }
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let ticket = unit.ticket(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(Ok(TicketView { replayed: true, ..ticket_view(ticket, None) }));
                }
            };
            if let Some(requested) = &requested {
                check_pending(&requested.approval)?;
                if let Some(ended) = ended(unit, requested).await? {
                    return Ok(Err(end(unit, &requested.approval, ended).await?));
                }
            }
            let owner = unit.actor().principal;
            let ticket = insert(unit, owner, Via::Ticket, secret, subject).await?;
            unit.remember(call, ticket.id).await?;
            Ok(Ok(ticket_view(ticket, Some(secret.clone()))))
        })
    });
    made.await.flatten()
}

/// What the caller wants to decide, if their grants let them decide it; with the request of an approval.
async fn own_subject<'a>(
    unit: &mut Unit,
    command: &'a CreateDecisionTicket,
) -> Result<(Subject<'a>, Option<Requested>)> {
    match &command.decision {
        TicketDecision::Approval { approval_id, outcome } => {
            let requested = authorised(unit, *approval_id, Permission::ApprovalDecide).await?;
            let subject = Subject::of_approval(&requested.approval, *outcome, &command.reason);
            Ok((subject, Some(requested)))
        }
        TicketDecision::Review { receipts, disposition } => {
            let (run, receipts) = load(unit, receipts).await?;
            Ok((Subject::of_review(&run, &receipts, *disposition, &command.reason)?, None))
        }
    }
}

/// The receipts and their one run, for whoever is at the server's own machine.
async fn review_of(unit: &mut Unit, ids: &[ReceiptId]) -> Result<(Run, Vec<Receipt>)> {
    let receipts = receipts(unit, ids).await?.into_iter().collect::<Option<Vec<_>>>().ok_or_else(Error::not_found)?;
    let mut runs: Vec<_> = receipts.iter().map(|receipt| receipt.run_id).collect();
    runs.dedup();
    let mut found = Vec::new();
    for id in runs {
        found.push(unit.run(id).await?.ok_or_else(Error::not_found)?);
    }
    Ok((one_run(found)?, receipts))
}

async fn insert_local(unit: &mut Unit, principal: &Name, secret: &str, subject: Subject<'_>) -> Result<NewTicket> {
    let principal = admin::principal(unit, principal).await?;
    if principal.class != PrincipalClass::User {
        return Err(Error::permission_denied("human_authority")
            .with_message(format!("{} is a service: only people decide", principal.name)));
    }
    if !unit.app().settings().local_tickets {
        return Err(Error::permission_denied("local_tickets")
            .with_message("this installation takes no tickets that were made on the server's machine"));
    }
    let ticket = insert(unit, principal.id, Via::LocalTicket, secret, subject).await?;
    Ok(NewTicket { secret: secret.to_owned(), id: ticket.id, expires_at: ticket.expires_at })
}

async fn insert(
    unit: &mut Unit,
    principal_id: PrincipalId,
    via: Via,
    secret: &str,
    subject: Subject<'_>,
) -> Result<Ticket> {
    let ticket = Ticket {
        id: TicketId::from_uuid(unit.uuid()),
        principal_id,
        secret_sha256: Sha256Digest::of(secret.as_bytes()),
        object_id: subject.object,
        object_version: subject.version,
        intent_sha256: subject.intent,
        outcome: subject.outcome.into(),
        reason: subject.reason.clone(),
        via,
        created_at: unit.now(),
        expires_at: unit.now().plus(LIFETIME),
        used_at: None,
    };
    unit.insert_ticket(&ticket).await?;
    let detail = json!({
        "principal": principal_id,
        "object": ticket.object_id,
        "version": ticket.object_version,
        "intent": ticket.intent_sha256,
        "outcome": ticket.outcome,
        "via": via,
        "expires_at": ticket.expires_at,
    });
    unit.audit(Some(subject.project), Some(ticket.id.to_string()), detail).await?;
    Ok(ticket)
}

fn ticket_view(ticket: Ticket, secret: Option<String>) -> TicketView {
    TicketView {
        id: ticket.id,
        object: ticket.object_id,
        version: ticket.object_version,
        intent_digest: ticket.intent_sha256,
        outcome: ticket.outcome,
        reason: ticket.reason,
        expires_at: ticket.expires_at,
        used_at: ticket.used_at,
        secret,
        replayed: false,
    }
}
