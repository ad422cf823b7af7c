//! Objects by content. It must not delete any: what is kept, and for how long, is the caller's to decide.

use std::{
    fs::DirBuilder,
    ops::Range,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use object_store::{
    GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, chunked::ChunkedStore, local::LocalFileSystem,
};
use pinhole_core::{Blake3Digest, Code, Error, Result};

use crate::verified::verified;

/// Size of the pieces in which an object is read: each costs a change of threads, and is held until it is passed on.
const PIECE_BYTES: usize = 256 * 1024;

/// The bytes of an object in order, in pieces of no particular size.
pub type ByteStream = BoxStream<'static, Result<Bytes>>;

/// Object storage. Clones share it.
#[derive(Clone, Debug)]
pub struct Blobs {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Where the objects are on this machine's disk, if they are.
    directory: Option<PathBuf>,
}

impl Blobs {
    /// Keeps objects in `directory`, which is made, readable by this user alone, when it is missing.
    ///
    /// A write has reached the disk, with its directory entries, when it returns.
    ///
    /// # Errors
    /// `provider_unavailable` when the directory cannot be made or opened.
    pub fn local(directory: &Path) -> Result<Self> {
        let refused = |source: Box<dyn std::error::Error + Send + Sync>| {
            Error::unavailable("storage", "the storage directory cannot be used: check its path and its owner")
                .with_source(source)
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|e| refused(e.into()))?;
        let store = LocalFileSystem::new_with_prefix(directory)
            .map_err(|e| refused(e.into()))?
            .with_fsync(true)
            .with_automatic_cleanup(true);
        Ok(Self { store: Arc::new(store), directory: Some(directory.to_owned()) })
    }

    /// Stores `bytes` under their digest. Storing them again writes them again, which also repairs a damaged copy.
    ///
    /// # Errors
    /// `provider_unavailable` when the storage refuses the write.
    pub async fn put(&self, bytes: impl Into<Bytes>) -> Result<Blake3Digest> {
        let bytes = bytes.into();
        let digest = Blake3Digest::of(&bytes);
        self.store.put(&key(digest), bytes.into()).await.map_err(|e| failure("the object", e))?;
        Ok(digest)
    }

    /// Reads a whole object and checks its digest.
    ///
    /// # Errors
    /// `gone` when it is not there, `internal` when its bytes are not those that were stored, `provider_unavailable`
    /// when the storage does not answer.
    pub async fn get(&self, digest: Blake3Digest) -> Result<Vec<u8>> {
        let read = async { self.store.get(&key(digest)).await?.bytes().await };
        let bytes = read.await.map_err(|e| failure("the object", e))?;
        if Blake3Digest::of(&bytes) != digest {
            return Err(damaged(digest));
        }
        Ok(bytes.into())
    }

    /// Opens an object: its whole size in bytes, and the bytes in `range` or all of them.
    ///
    /// `range.end` may lie beyond the end. When all bytes are asked for, their digest is checked as they pass and a
    /// wrong one ends the stream with an `internal` error; a part cannot be checked.
    ///
    /// # Errors
    /// `gone` when it is not there, `range_not_satisfiable` when `range` is empty or starts at or beyond the end,
    /// `provider_unavailable` when the storage does not answer.
    pub async fn open(&self, digest: Blake3Digest, range: Option<Range<u64>>) -> Result<(u64, ByteStream)> {
        let key = key(digest);
        let mut options = GetOptions::default();
        if let Some(range) = &range {
            let size = self.store.head(&key).await.map_err(|e| failure("the object", e))?.size;
            let end = range.end.min(size);
            if range.start >= end {
                return Err(Error::protocol(
                    Code::RangeNotSatisfiable,
                    format!("the range lies outside the {size} bytes of the object"),
                ));
            }
            options.range = Some(GetRange::Bounded(range.start..end));
        }
        let pieces = ChunkedStore::new(Arc::clone(&self.store), PIECE_BYTES);
        let found = pieces.get_opts(&key, options).await.map_err(|e| failure("the object", e))?;
        let size = found.meta.size;
        let stream = found.into_stream().map_err(|e| failure("the object", e));
        Ok((size, if range.is_some() { stream.boxed() } else { verified(stream.boxed(), digest) }))
    }

    /// Free space of the disk that holds the objects, in percent of what this user may fill; `None` when they are not
    /// on a disk of this machine.
    ///
    /// # Errors
    /// `provider_unavailable` when the file system does not say.
    pub fn free_space_percent(&self) -> Result<Option<f64>> {
        let Some(directory) = &self.directory else { return Ok(None) };
        let space = rustix::fs::statvfs(directory).map_err(|e| {
            Error::unavailable("storage", "the free space of the storage directory cannot be read").with_source(e)
        })?;
        // Blocks reserved for root count neither as free nor as space that could be filled.
        let fillable = space.f_blocks.saturating_sub(space.f_bfree.saturating_sub(space.f_bavail));
        if fillable == 0 {
            return Ok(Some(0.0));
        }
        Ok(Some(space.f_bavail as f64 * 100.0 / fillable as f64))
    }
}

/// `blobs/ab/cd…`: 256 directories keep each of them small.
fn key(digest: Blake3Digest) -> object_store::path::Path {
    let hex = digest.hex();
    let (directory, rest) = hex.split_at(2);
    object_store::path::Path::from_iter(["blobs", directory, rest])
}

/// The error of a failed access; `what` names the object for the caller.
pub(crate) fn failure(what: &str, error: object_store::Error) -> Error {
    match error {
        object_store::Error::NotFound { .. } => Error::gone(format!("{what} is no longer stored")).with_source(error),
        other => Error::unavailable("storage", "the object storage does not answer as it should").with_source(other),
    }
}

/// The stored bytes are not those that were stored.
pub(crate) fn damaged(digest: Blake3Digest) -> Error {
    Error::internal(format!("the stored object {digest} is damaged: its bytes have another digest"))
}
