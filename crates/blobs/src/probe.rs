//! A trial of the storage with an object of its own, which is the one kind that this crate deletes.

use bytes::Bytes;
use object_store::{ObjectStoreExt as _, path::Path};
use pinhole_core::{Error, Result};

use crate::{Blobs, blobs::failure};

const BYTES: &[u8] = b"pinhole storage probe";

impl Blobs {
    /// Writes, reads and deletes the object `probes/NAME`.
    ///
    /// # Errors
    /// `provider_unavailable` when the storage refuses one of them or gives back other bytes than it was given.
    pub async fn probe(&self, name: &str) -> Result<()> {
        let key = Path::from_iter(["probes", name]);
        let trial = async {
            self.store.put(&key, Bytes::from_static(BYTES).into()).await?;
            let read = self.store.get(&key).await?.bytes().await?;
            self.store.delete(&key).await?;
            Ok(read)
        };
        let read = trial.await.map_err(|error| failure("the probe", error))?;
        if read == BYTES {
            Ok(())
        } else {
            Err(Error::unavailable("storage", "the object storage gives back other bytes than it was given"))
        }
    }
}
