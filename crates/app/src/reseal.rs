//! Seals every secret anew under the present master key, so that the earlier ones can be taken away.
//!
//! Whatever is sealed in the database has its part here; a secret stays bound to what it belongs to, at its version.

use pinhole_core::{Result, Sealer};
use serde_json::json;

use crate::{
    App, automations::reseal_some_webhooks, environments::reseal_some_secrets,
    remotes::reseal_some as reseal_some_remotes, unit::Unit,
};

/// How many rows one transaction seals anew at most.
const ROWS: u32 = 100;

/// How much was sealed anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Secrets of environments.
    pub environment_secrets: u32,
    /// Webhooks, each with every secret that it takes.
    pub webhooks: u32,
    /// Git remotes with a credential.
    pub remotes: u32,
}

impl App {
    /// Seals every secret anew that is not sealed under the present master key, at most 100 rows in each transaction,
    /// and answers how much that was. Interrupted, it goes on where it stopped when it is called again.
    ///
    /// # Errors
    /// Those of the database; `internal` in a process without a master key, or when a secret was sealed under a key that
    /// this one does not know.
    pub async fn reseal_secrets(&self) -> Result<Resealed> {
        let actor = self.system_actor();
        let mut total = Resealed::default();
        loop {
            let some = self.write(&actor, "reseal_secrets", |unit, _| Box::pin(reseal_some(unit))).await?;
            if some == Resealed::default() {
                return Ok(total);
            }
            total.environment_secrets += some.environment_secrets;
            total.webhooks += some.webhooks;
            total.remotes += some.remotes;
        }
    }

    /// Whether any secret is not sealed under the present master key.
    ///
    /// # Errors
    /// Those of the database; `internal` in a process without a master key.
    pub async fn has_secrets_to_reseal(&self) -> Result<bool> {
        let prefix = self.sealer()?.prefix()?;
        let mut tx = self.store().begin_read().await?;
        Ok(!tx.secrets_sealed_otherwise(&prefix, 1).await?.is_empty()
            || !tx.webhooks_sealed_otherwise(&prefix, 1).await?.is_empty()
            || !tx.remotes_sealed_otherwise(&prefix, 1).await?.is_empty())
    }
}

async fn reseal_some(unit: &mut Unit) -> Result<Resealed> {
    let environment_secrets = reseal_some_secrets(unit, ROWS).await?;
    let webhooks = reseal_some_webhooks(unit, ROWS - environment_secrets).await?;
    // Last and apart: one that does not open must not keep the others from being sealed.
    let is_last = environment_secrets + webhooks == 0;
    let remotes = if is_last { reseal_some_remotes(unit, ROWS).await? } else { 0 };
    let some = Resealed { environment_secrets, webhooks, remotes };
    if some == Resealed::default() {
        unit.unaudited();
    } else {
        unit.audit(None, None, json!({ "secrets": environment_secrets, "webhooks": webhooks, "remotes": remotes }))
            .await?;
    }
    Ok(some)
}

/// What `sealed` holds, sealed under the present master key.
pub(crate) fn sealed_anew(sealer: &dyn Sealer, sealed: &str, context: &str) -> Result<String> {
    sealer.seal(&sealer.open(sealed, context)?, context)
}
