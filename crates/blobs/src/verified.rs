//! A stream that checks the digest of what passes through it. It must not hold more than one piece in memory.

use blake3::Hasher;
use futures::{StreamExt as _, stream};
use pinhole_core::Blake3Digest;

use crate::blobs::{ByteStream, damaged};

/// Passes `inner` on and ends with an error when all of it did not have `digest`.
pub(crate) fn verified(inner: ByteStream, digest: Blake3Digest) -> ByteStream {
    let start = Some((inner, Hasher::new()));
    stream::unfold(start, move |state| async move {
        let (mut inner, mut hasher) = state?;
        match inner.next().await {
            Some(Ok(piece)) => {
                hasher.update(&piece);
                Some((Ok(piece), Some((inner, hasher))))
            }
            Some(Err(error)) => Some((Err(error), None)),
            None if hasher.finalize().as_bytes() == digest.as_bytes() => None,
            None => Some((Err(damaged(digest)), None)),
        }
    })
    .boxed()
}
