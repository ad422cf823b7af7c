//! Idempotency keys: per principal and operation, the intent that a key was used for and the object that came of it.

use pinhole_core::{IdempotencyKey, PrincipalId, Result, Sha256Digest};

use crate::{
    Tx,
    row::Row,
    value::{text, time},
};

/// The first call with a key.
#[derive(Clone, Debug)]
pub struct IdempotentCall {
    /// Digest of the resolved intent.
    pub intent_sha256: Sha256Digest,
    /// The object that it made; of several, their ids with spaces between them.
    pub object_id: String,
}

impl IdempotentCall {
    /// The first of the objects that it made.
    pub fn first_object(&self) -> &str {
        self.object_id.split(' ').next().unwrap_or_default()
    }
}

fn read(row: &Row) -> Result<IdempotentCall> {
    Ok(IdempotentCall { intent_sha256: row.parse("intent_sha256")?, object_id: row.text("object_id")? })
}

impl Tx {
    /// The first call of this principal on `operation` with `key`.
    pub async fn idempotent_call(
        &mut self,
        principal: PrincipalId,
        operation: &str,
        key: &IdempotencyKey,
    ) -> Result<Option<IdempotentCall>> {
        self.fetch_optional(
            "SELECT * FROM idempotency_keys WHERE principal_id = $1 AND operation = $2 AND \"key\" = $3",
            &[text(principal), text(operation), text(key)],
            read,
        )
        .await
    }

    /// Puts another object in the place of the one that the first call with a key made; false without such a call.
    pub async fn replace_idempotent_object(
        &mut self,
        principal: PrincipalId,
        operation: &str,
        key: &IdempotencyKey,
        object: &str,
    ) -> Result<bool> {
        let changed = self
            .execute(
                "UPDATE idempotency_keys SET object_id = $4 WHERE principal_id = $1 AND operation = $2 AND \"key\" = $3",
                &[text(principal), text(operation), text(key), text(object)],
            )
            .await?;
        Ok(changed == 1)
    }

    /// Remembers the first call with a key; `conflict` when another transaction was first.
    pub async fn insert_idempotent_call(
        &mut self,
        principal: PrincipalId,
        operation: &str,
        key: &IdempotencyKey,
        call: &IdempotentCall,
    ) -> Result<()> {
        let now = self.now();
        self.execute(
            "INSERT INTO idempotency_keys (principal_id, operation, \"key\", intent_sha256, object_id, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
            &[text(principal), text(operation), text(key), text(call.intent_sha256), text(&call.object_id), time(now)],
        )
        .await?;
        Ok(())
    }
}
