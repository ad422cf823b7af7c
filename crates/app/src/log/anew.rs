//! Begins another log when the database of the present one is lost. Nothing of the old log is taken over: its
//! checkpoints stay true for whoever keeps them, and what they stood for and is gone will be missing in the new one for
//! everybody to see. It must not happen by itself, nor while the present log goes on.

use std::sync::Arc;

use pinhole_core::{Error, Reason, Result};
use pinhole_receipt::log::{Checkpoint, EMPTY_ROOT};
use serde_json::json;

use super::{
    LogPorts,
    sequence::{blocking, new_origin, present},
};
use crate::App;

impl App {
    /// Gives up the log that does not continue what was signed before, and begins another with every record that the
    /// database has. Answers its name.
    ///
    /// # Errors
    /// `conflict` with reason `log_continues` when nothing is lost, and `log_checkpoint_damaged` when what was signed
    /// cannot be read, and `log_changed` when the log is not the one any more that was compared; `internal` in a process without the log key; those of the database.
    pub async fn begin_log_anew(&self, reason: &Reason) -> Result<String> {
        let ports = self.log_ports()?;
        let looked_at = &present(&mut self.store().begin_read().await?).await?;
        match self.compare_with_witness(ports).await {
            Ok(()) => {
                let message = "the log continues what was signed before: there is nothing to give up";
                return Err(Error::conflict("log_continues", message));
            }
            Err(error) if is_loss(&error) => {}
            Err(error) => return Err(error),
        }
        let signed = signed_origin(ports).await?;
        let origin = &new_origin(self.ids().uuid());
        self.write(&self.system_actor(), "begin_log_anew", move |unit, _| {
            let signed = signed.clone();
            Box::pin(async move {
                if unit.lock_log().await?.as_ref() != Some(looked_at) {
                    let message = "the log was changed meanwhile, by another command or a restore: look again";
                    return Err(Error::conflict("log_changed", message));
                }
                let ended = [Some(looked_at.origin.as_str()), signed.as_deref()];
                let ended: Vec<_> = ended.into_iter().flatten().collect();
                unit.replace_log(&ended, origin, EMPTY_ROOT).await?;
                let detail = json!({ "ended": ended, "origin": origin, "reason": reason });
                unit.audit(None, Some(origin.clone()), detail).await
            })
        })
        .await?;
        self.sequence_log().await?;
        Ok(origin.clone())
    }
}

fn is_loss(error: &Error) -> bool {
    matches!(error.reason(), Some("log_behind" | "log_forked" | "log_checkpoint_missing"))
}

/// The name of the log that was signed last; `None` when the file is gone.
async fn signed_origin(ports: &LogPorts) -> Result<Option<String>> {
    let witness = Arc::clone(&ports.witness);
    let newest = blocking(move || witness.newest()).await?;
    let checkpoint = newest.map(|note| Checkpoint::unverified(note.as_bytes()).map_err(Error::internal)).transpose()?;
    Ok(checkpoint.map(|checkpoint| checkpoint.origin))
}
