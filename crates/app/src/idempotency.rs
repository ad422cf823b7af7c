//! Idempotency keys and expected versions, in one place for all operations.

use pinhole_core::{Code, Error, IdempotencyKey, Result, Sha256Digest, canonical_json_digest};
use pinhole_store::IdempotentCall;
use serde::Serialize;

use crate::unit::Unit;

/// What a keyed call is.
pub(crate) enum Keyed {
    /// The first with its key: do it, and [`Unit::remember`] what came of it.
    First(KeyedCall),
    /// A repeat, which changes nothing: the object that the first one made.
    Replay(String),
}

/// A first call with its key.
pub(crate) struct KeyedCall {
    key: IdempotencyKey,
    intent: Sha256Digest,
}

impl Unit {
    /// Tells a first call from a repeat. `intent` is the resolved intent, without the key itself.
    ///
    /// # Errors
    /// `precondition_required` without a key, `conflict` naming the first object when the key was used for another
    /// intent.
    pub(crate) async fn keyed(&mut self, key: Option<&IdempotencyKey>, intent: &impl Serialize) -> Result<Keyed> {
        let key = key.ok_or_else(|| Error::precondition_required("idempotency_key"))?;
        let intent = canonical_json_digest(intent)?;
        let (principal, operation) = (self.actor().principal, self.operation());
        match self.idempotent_call(principal, operation, key).await? {
            None => Ok(Keyed::First(KeyedCall { key: key.clone(), intent })),
            Some(first) if first.intent_sha256 == intent => {
                self.unaudited();
                Ok(Keyed::Replay(first.object_id))
            }
            Some(first) => Err(Error::changed_intent(first.first_object())),
        }
    }

    /// What a repeat with this key and intent repeats, for operations that have to know it before they ask for an
    /// authority that the first call used up. Refuses nothing: [`Unit::keyed`] does.
    pub(crate) async fn replayed(
        &mut self,
        key: Option<&IdempotencyKey>,
        intent: &impl Serialize,
    ) -> Result<Option<String>> {
        let Some(key) = key else { return Ok(None) };
        let intent = canonical_json_digest(intent)?;
        let (principal, operation) = (self.actor().principal, self.operation());
        let first = self.idempotent_call(principal, operation, key).await?;
        Ok(first.filter(|first| first.intent_sha256 == intent).map(|first| first.object_id))
    }

    /// Remembers another object in place of what the first call with this key made: that was an approval, and now what
    /// it was for is done.
    pub(crate) async fn remember_instead(&mut self, key: Option<&IdempotencyKey>, object: impl ToString) -> Result<()> {
        let key = key.ok_or_else(|| Error::precondition_required("idempotency_key"))?;
        let (principal, operation) = (self.actor().principal, self.operation());
        if self.replace_idempotent_object(principal, operation, key, &object.to_string()).await? {
            return Ok(());
        }
        Err(Error::transient("a remembered call went away within the transaction"))
    }

    /// Remembers the object that a first call made; of several, their ids with spaces between them.
    pub(crate) async fn remember(&mut self, call: KeyedCall, object: impl ToString) -> Result<()> {
        let (principal, operation) = (self.actor().principal, self.operation());
        let row = IdempotentCall { intent_sha256: call.intent, object_id: object.to_string() };
        self.insert_idempotent_call(principal, operation, &call.key, &row).await.map_err(|e| match e.code() {
            // Another transaction was first with this key: run again and see what it did.
            Code::Conflict => Error::transient(e),
            _ => e,
        })
    }
}

/// The version that a compare-and-swap needs.
///
/// # Errors
/// `precondition_required` when the caller gave none, `conflict` when it is not `actual`.
pub(crate) fn expect_version(expected: Option<u32>, actual: u32) -> Result<()> {
    match expected {
        None => Err(Error::precondition_required("expected_version")),
        Some(expected) if expected == actual => Ok(()),
        Some(expected) => Err(Error::stale(expected, actual)),
    }
}
