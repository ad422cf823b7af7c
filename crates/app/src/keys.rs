//! The keys that statements, commits and checkpoints are signed with: where a process gets the one that signs statements,
//! and what everybody may know of all of them. It must not make, change or keep a key.

use std::sync::Arc;

use pinhole_contract::{ListSigningKeys, SigningKeyList, SigningKeyStatus, SigningKeyUse, SigningKeyView};
use pinhole_core::{Actor, Code, Error, Result, Signer};
use pinhole_receipt::{Jwk, Jwks, KeyStatus, KeyUse};
use pinhole_store::SignedStatements;
use serde_json::Value;

use crate::App;

/// The signing keys of an installation, as they are whenever they are asked for: another process may replace one.
pub trait Keyring: Send + Sync {
    /// The statement key that signs now. May block for as long as reading a small file takes.
    fn statement(&self) -> Result<Arc<dyn Signer>>;
    /// Every public key that there ever was, with its status, oldest first. May block like the other.
    fn public(&self) -> Result<Jwks>;
}

impl App {
    /// The signing keys; an internal error in a process that has none.
    pub(crate) fn keyring(&self) -> Result<&dyn Keyring> {
        self.inner.keyring.as_deref().ok_or_else(|| Error::internal("this process has no statement key"))
    }

    /// The statement key that signs now.
    pub(crate) fn signer(&self) -> Result<Arc<dyn Signer>> {
        self.keyring()?.statement().map_err(unusable)
    }

    /// The key set that everybody may read.
    ///
    /// # Errors
    /// `internal` in a process without keys, and when a key's file is not what it should be.
    pub fn public_keys(&self) -> Result<Jwks> {
        self.keyring()?.public().map_err(unusable)
    }

    /// Writes down that an operator rotated or revoked a signing key.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn audit_key_change(&self, operation: &'static str, detail: &Value) -> Result<()> {
        self.write(&self.system_actor(), operation, |unit, _| {
            Box::pin(async move { unit.audit(None, None, detail.clone()).await })
        })
        .await
    }

    /// How many statements a signing key has signed.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn signed_statements(&self, key_id: &str) -> Result<SignedStatements> {
        self.store().begin_read().await?.signed_statements(key_id).await
    }
}

/// A key's file that is not what it should be is the operator's to mend, and no fault of whoever calls.
fn unusable(error: Error) -> Error {
    if error.code() == Code::InvalidArguments { Error::internal(error) } else { error }
}

pub(crate) async fn list(app: &App, actor: &Actor, _: ListSigningKeys) -> Result<SigningKeyList> {
    app.read(actor, "list_signing_keys", |unit, _| Box::pin(async move { unit.authorise_admin().await })).await?;
    Ok(SigningKeyList { keys: app.public_keys()?.keys.into_iter().map(view).collect() })
}

fn view(key: Jwk) -> SigningKeyView {
    SigningKeyView {
        key_id: key.kid,
        algorithm: key.alg,
        public_key: key.x,
        purpose: match key.pinhole_use {
            KeyUse::Statement => SigningKeyUse::Statement,
            KeyUse::Commit => SigningKeyUse::Commit,
            KeyUse::Log => SigningKeyUse::Log,
        },
        status: match key.pinhole_status {
            KeyStatus::Active => SigningKeyStatus::Active,
            KeyStatus::Retired => SigningKeyStatus::Retired,
            KeyStatus::Revoked => SigningKeyStatus::Revoked,
        },
        reason: key.pinhole_reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_who_calls_is_told_of_a_key_file() {
        let loose = Error::invalid("key_file", "/srv/keys/statement.pem has mode 0644");
        let told = unusable(loose);
        assert_eq!(told.code(), Code::Internal);
        assert!(!told.message().contains("/srv") && told.details().reason.is_none(), "{}", told.message());
        assert_eq!(unusable(Error::unavailable("disk", "busy")).code(), Code::ProviderUnavailable);
    }
}
