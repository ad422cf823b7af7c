//! Whether this process could serve a call now: rows can be read, bytes can be stored.

use pinhole_core::{Actor, Error, Result};

use crate::{App, Settings};

/// What was looked at, and how it went.
#[derive(Debug)]
pub struct Readiness {
    /// A row could be read.
    pub database: Result<()>,
    /// The storage has room for what admission would let in.
    pub storage: Result<()>,
}

impl App {
    /// Looks now; nothing is remembered.
    pub async fn readiness(&self, actor: &Actor) -> Readiness {
        let database = self
            .read(actor, "readiness", |unit, _| {
                Box::pin(async move {
                    let id = unit.actor().principal;
                    unit.principal(id).await.map(drop)
                })
            })
            .await;
        Readiness { database, storage: check_space(self.settings(), &self.blobs().free_space_percent()) }
    }
}

/// Refuses when the storage has no room for what admission would let in; `space` is its free share in percent.
///
/// # Errors
/// `provider_unavailable` with reason `free_space` when it has not, `storage` when it does not say.
pub(crate) fn check_space(settings: &Settings, space: &Result<Option<f64>>) -> Result<()> {
    match space {
        Ok(Some(percent)) if *percent < settings.min_free_percent => {
            Err(Error::unavailable("free_space", "the storage is almost full: nothing is admitted until there is room"))
        }
        Ok(_) => Ok(()),
        Err(error) => {
            Err(Error::unavailable("storage", "the storage cannot be looked at: check that its disk is there")
                .with_source(error.to_string()))
        }
    }
}
