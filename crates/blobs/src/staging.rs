//! What a worker hands over, one folder for each lease. It must not be read without a bound: a worker wrote it.

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::{ObjectStoreExt as _, path::Path};
use pinhole_core::{CellId, ClaimToken, Error, Result};

use crate::blobs::{Blobs, failure};

/// Characters of a staged name at most.
const MAX_NAME: usize = 100;

/// The folder of one lease on one cell. A worker that lost its lease can write into its own folder only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StagingFolder {
    cell: CellId,
    token: ClaimToken,
}

impl StagingFolder {
    /// The folder of the lease that `token` stands for.
    pub const fn new(cell: CellId, token: ClaimToken) -> Self {
        Self { cell, token }
    }

    fn prefix(&self) -> Path {
        Path::from_iter(["staging".to_owned(), self.cell.to_string(), self.token.to_string()])
    }

    fn key(&self, name: &str) -> Result<Path> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(allowed) {
            return Err(Error::invalid("name", format!("expected 1 to {MAX_NAME} letters, digits and hyphens")));
        }
        Ok(self.prefix().join(name))
    }
}

impl Blobs {
    /// Stores what a worker made as `name` (1 to 100 ASCII letters, digits and hyphens); an earlier one is replaced.
    ///
    /// # Errors
    /// `invalid_arguments` for another name, `provider_unavailable` when the storage refuses the write.
    pub async fn stage(&self, folder: &StagingFolder, name: &str, bytes: impl Into<Bytes>) -> Result<()> {
        let key = folder.key(name)?;
        self.store.put(&key, bytes.into().into()).await.map_err(|e| failure(name, e))?;
        Ok(())
    }

    /// Reads what a worker staged as `name`, at most `limit` bytes of it.
    ///
    /// The bytes are whatever is there now: hash and store these very bytes and do not read them twice.
    ///
    /// # Errors
    /// `invalid_arguments` for a name that [`Self::stage`] refuses, `gone` when it is not there, `limit_exceeded` when
    /// it is larger than `limit`, `provider_unavailable` when the storage does not answer.
    pub async fn read_staged(&self, folder: &StagingFolder, name: &str, limit: u64) -> Result<Vec<u8>> {
        let key = folder.key(name)?;
        let found = self.store.get(&key).await.map_err(|e| failure(name, e))?;
        let too_large = || Error::too_large(format!("{name} in bytes"), limit);
        if found.meta.size > limit {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(found.meta.size).unwrap_or_default());
        let mut pieces = found.into_stream();
        while let Some(piece) = pieces.try_next().await.map_err(|e| failure(name, e))? {
            // A file may have grown since its size was read.
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// Removes the folder and everything in it; does nothing when it is not there.
    ///
    /// # Errors
    /// `provider_unavailable` when the storage does not answer; what is left may be removed by another call.
    pub async fn drop_staging(&self, folder: &StagingFolder) -> Result<()> {
        let prefix = folder.prefix();
        let mut listed = self.store.list(Some(&prefix));
        while let Some(object) = listed.try_next().await.map_err(|e| failure("the staging folder", e))? {
            match self.store.delete(&object.location).await {
                // Another call was faster.
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(failure("the staging folder", error)),
            }
        }
        Ok(())
    }
}
