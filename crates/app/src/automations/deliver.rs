//! Deliveries of webhooks: verified over the raw bytes before anything else is looked at, and each dealt with once.

use pinhole_contract::DeliveredView;
use pinhole_core::{AutomationId, DeliveryKey, Error, PrincipalId, RequestId, Result, Timestamp, WebhookId};
use pinhole_store::{Automation, Delivery, Tx};

use super::{
    delivery::{actor_of, is_final, record, refusal_of, start},
    signature::SignedDelivery,
    webhooks::context,
};
use crate::{App, runs::Trigger, unit::Unit};

/// A delivery that was signed with a secret of its webhook.
#[derive(Debug)]
pub struct VerifiedDelivery {
    webhook: Automation,
    key: DeliveryKey,
}

impl VerifiedDelivery {
    /// With whose grants it starts a run.
    pub fn principal(&self) -> PrincipalId {
        self.webhook.runs_as
    }
}

impl App {
    /// Starts the run of a webhook for a verified delivery; one with an id that was dealt with before answers what that
    /// one did.
    ///
    /// # Errors
    /// The code of the refusal when no run may be started, with the reason in the webhook's ledger;
    /// `provider_unavailable` when a repeat may help.
    pub async fn deliver(&self, verified: &VerifiedDelivery, request: RequestId) -> Result<DeliveredView> {
        let VerifiedDelivery { webhook, key } = verified;
        // A look at the file system, before the transaction is open.
        let space = &self.blobs().free_space_percent();
        let actor = pinhole_core::Actor { request, ..actor_of(self, webhook) };
        let (delivery, replayed) = self
            .write(&actor, "deliver_webhook", move |unit, _| {
                Box::pin(async move { deal_with(unit, webhook, key, space).await })
            })
            .await?;
        match (delivery.run_id, delivery.refusal) {
            (Some(run_id), _) => Ok(DeliveredView { id: delivery.key, run_id, replayed }),
            // The sender proved that it has the secret, not that it may read the project.
            (None, Some(refusal)) => Err(Error::protocol(
                refusal.code,
                "no run was started: whoever keeps the webhook finds the reason among its deliveries",
            )),
            (None, None) => Err(Error::internal("a delivery without an outcome")),
        }
    }

    /// Holds the signature of a delivery against the secrets of its webhook. The work is the same for a webhook that is
    /// not there.
    ///
    /// # Errors
    /// `unauthenticated`, whatever is wrong with the delivery.
    pub async fn verify_delivery(&self, signed: &SignedDelivery<'_>) -> Result<VerifiedDelivery> {
        let id = signed.webhook.parse().unwrap_or_else(|_| WebhookId::from_uuid(uuid::Uuid::nil()));
        let mut tx: Tx = self.store().begin_read().await?;
        let (found, now) = (tx.automation(AutomationId::Webhook(id)).await?, tx.now());
        drop(tx);
        let mut is_signed = false;
        for secret in self.secrets_of(found.as_ref(), now)? {
            is_signed |= signed.is_signed_with(&secret)?;
        }
        let key = signed.id.parse().ok().filter(|_| signed.is_unambiguous());
        match (found, key) {
            (Some(webhook), Some(key)) if is_signed && signed.is_recent(now) => Ok(VerifiedDelivery { webhook, key }),
            _ => Err(Error::unauthenticated().with_message(
                "the delivery is not verified: check its address, the secret, the three headers and the sender's clock",
            )),
        }
    }

    /// The secrets that a webhook takes now; of one that takes none, a secret that nobody has.
    fn secrets_of(&self, webhook: Option<&Automation>, now: Timestamp) -> Result<Vec<Vec<u8>>> {
        let Some((id, secrets)) = webhook.and_then(|webhook| Some((webhook.id, webhook.secrets.as_ref()?))) else {
            return Ok(vec![self.secret_bytes()?.to_vec()]);
        };
        let previous = secrets.previous.as_ref().filter(|secret| secret.until.is_some_and(|until| until > now));
        let taken = [Some(&secrets.current), previous].into_iter().flatten();
        taken.map(|secret| self.sealer()?.open(&secret.sealed, &context(id, secret.number))).collect()
    }
}

/// Deals with a verified delivery, unless that has been done; whether it had been comes with it.
async fn deal_with(
    unit: &mut Unit,
    verified: &Automation,
    key: &DeliveryKey,
    space: &Result<Option<f64>>,
) -> Result<(Delivery, bool)> {
    let webhook = unit.automation(verified.id).await?.filter(|found| found.version == verified.version);
    // What was verified is no longer what is there: the sender's next try is verified anew.
    let webhook = webhook.ok_or_else(|| Error::unavailable("changed", "the webhook is being changed: try again"))?;
    if let Some(earlier) = unit.delivery(webhook.id, key).await? {
        unit.unaudited();
        return Ok((earlier, true));
    }
    let started = if webhook.enabled {
        start(unit, &webhook, Trigger::Webhook, space).await
    } else {
        Err(Error::conflict("disabled", "the webhook is switched off"))
    };
    let started = match started {
        Ok(run) => Ok(run),
        Err(error) if is_final(&error) => Err(refusal_of(&error)),
        Err(error) => return Err(error),
    };
    let came = started.as_ref().map_err(Clone::clone);
    let delivery = record(unit, &webhook, key.clone(), came, Default::default()).await?;
    Ok((delivery, false))
}
