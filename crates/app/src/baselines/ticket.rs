//! Decision tickets that are made on the server's own machine. A ticket takes version and intent from the database and
//! never from whoever asks for it, and it is of use to its principal alone.

use std::time::Duration;

use pinhole_core::{
    ApprovalId, ApprovalState, Disposition, Error, Name, Outcome, PrincipalClass, Reason, ReceiptId, Result,
    Sha256Digest, TicketId, Timestamp, Via,
};
use pinhole_store::Ticket;
use serde_json::json;

use super::review::{check_shape, intent_digest, one_run, receipts};
use crate::{
    App,
    admin::{self, with_checksum},
    unit::Unit,
};

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
    object: String,
    version: u32,
    intent: Sha256Digest,
    outcome: &'a str,
    reason: &'a Reason,
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
        let secret = with_checksum("pht", &self.secret_bytes()?);
        let (actor, secret) = (self.system_actor(), &secret);
        self.write(&actor, "create_review_ticket", move |unit, _| {
            Box::pin(async move {
                let (object, version, intent) = review_subject(unit, receipts).await?;
                let subject = Subject { object, version, intent, outcome: disposition.as_str(), reason };
                insert(unit, principal, secret, subject).await
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
        let secret = with_checksum("pht", &self.secret_bytes()?);
        let (actor, secret) = (self.system_actor(), &secret);
        self.write(&actor, "create_decision_ticket", move |unit, _| {
            Box::pin(async move {
                let absent = || Error::not_found().with_message(format!("there is no approval {approval}"));
                let found = unit.approval(approval).await?.ok_or_else(absent)?;
                if found.state != ApprovalState::Pending {
                    let message = format!("the approval is {}: only a pending one can be decided", found.state);
                    return Err(Error::conflict("not_pending", message));
                }
                let subject = Subject {
                    object: approval.to_string(),
                    version: found.version,
                    intent: found.intent_sha256,
                    outcome: outcome.as_str(),
                    reason,
                };
                insert(unit, principal, secret, subject).await
            })
        })
        .await
    }
}

/// The run of the receipts, its version, and the digest of what is reviewed.
async fn review_subject(unit: &mut Unit, ids: &[ReceiptId]) -> Result<(String, u32, Sha256Digest)> {
    let receipts = receipts(unit, ids).await?;
    let mut runs: Vec<_> = receipts.iter().map(|receipt| receipt.run_id).collect();
    runs.dedup();
    let mut found = Vec::new();
    for id in runs {
        found.push(unit.run(id).await?.ok_or_else(Error::not_found)?);
    }
    let run = one_run(found)?;
    Ok((run.id.to_string(), run.version, intent_digest(&receipts)?))
}

async fn insert(unit: &mut Unit, principal: &Name, secret: &str, subject: Subject<'_>) -> Result<NewTicket> {
    let principal = admin::principal(unit, principal).await?;
    if principal.class != PrincipalClass::User {
        return Err(Error::permission_denied("human_authority")
            .with_message(format!("{} is a service: only people decide", principal.name)));
    }
    if !unit.app().settings().local_tickets {
        return Err(Error::permission_denied("local_tickets")
            .with_message("this installation takes no tickets that were made on the server's machine"));
    }
    let ticket = Ticket {
        id: TicketId::from_uuid(unit.uuid()),
        principal_id: principal.id,
        secret_sha256: Sha256Digest::of(secret.as_bytes()),
        object_id: subject.object.clone(),
        object_version: subject.version,
        intent_sha256: subject.intent,
        outcome: subject.outcome.into(),
        reason: subject.reason.clone(),
        via: Via::LocalTicket,
        created_at: unit.now(),
        expires_at: unit.now().plus(LIFETIME),
        used_at: None,
    };
    unit.insert_ticket(&ticket).await?;
    let detail = json!({
        "principal": principal.id,
        "object": subject.object,
        "version": subject.version,
        "intent": subject.intent,
        "outcome": subject.outcome,
        "expires_at": ticket.expires_at,
    });
    unit.audit(None, Some(ticket.id.to_string()), detail).await?;
    Ok(NewTicket { secret: secret.to_owned(), id: ticket.id, expires_at: ticket.expires_at })
}
