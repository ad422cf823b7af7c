//! Whether this process could serve a call now: rows can be read, bytes can be stored.

use pinhole_core::{Actor, Error, Result};

use crate::App;

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
        Readiness { database, storage: self.room() }
    }

    fn room(&self) -> Result<()> {
        match self.blobs().free_space_percent()? {
            Some(percent) if percent < self.settings().min_free_percent => {
                Err(Error::unavailable("free_space", "the storage is almost full"))
            }
            _ => Ok(()),
        }
    }
}
