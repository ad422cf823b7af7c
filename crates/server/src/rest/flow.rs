//! A body on its way: for how long, and for whom.
//!
//! It is looked at whenever the reader has room for more. A reader that takes nothing at all is the connection's affair.

use std::time::Duration;

use bytes::Bytes;
use futures::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};
use pinhole_core::{Error, Result};
use tokio::time::Instant;

/// How long a body may flow.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// After this long it is authorised again, and so on.
    pub(super) recheck: Duration,
    /// After this long it is cut off.
    pub(super) whole: Duration,
}

/// Where a body has got to.
struct Flow<A> {
    bytes: BoxStream<'static, Result<Bytes>>,
    ask: A,
    begun: Instant,
    asked: Instant,
}

/// Passes `bytes` on, and ends with an error once `ask` refuses or it takes too long. Nothing is held between two
/// pieces but the stream itself.
pub(super) fn watched<A, F>(
    bytes: BoxStream<'static, Result<Bytes>>,
    pace: Pace,
    ask: A,
) -> impl Stream<Item = Result<Bytes>> + Send + 'static
where
    A: Fn() -> F + Send + 'static,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let now = Instant::now();
    stream::try_unfold(Flow { bytes, ask, begun: now, asked: now }, move |mut flow| async move {
        if flow.begun.elapsed() >= pace.whole {
            return Err(Error::unavailable("deadline", "the bytes took too long: ask for the rest with a range"));
        }
        if flow.asked.elapsed() >= pace.recheck {
            (flow.ask)().await?;
            flow.asked = Instant::now();
        }
        Ok(flow.bytes.next().await.transpose()?.map(|piece| (piece, flow)))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use futures::TryStreamExt as _;
    use pinhole_core::Code;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn pieces() -> BoxStream<'static, Result<Bytes>> {
        stream::iter((0..4).map(|_| Ok(Bytes::from_static(b"ab")))).boxed()
    }

    async fn read(pace: Pace, ask: impl Fn() -> Result<()> + Send + 'static) -> (Vec<u8>, Option<Code>) {
        let mut read = Vec::new();
        let mut flow = std::pin::pin!(watched(pieces(), pace, move || std::future::ready(ask())));
        loop {
            match flow.try_next().await {
                Ok(Some(piece)) => read.extend_from_slice(&piece),
                Ok(None) => return (read, None),
                Err(error) => return (read, Some(error.code())),
            }
        }
    }

    #[tokio::test]
    async fn a_quick_body_is_not_asked_about_again() {
        let pace = Pace { recheck: LONG, whole: LONG };
        assert_eq!(read(pace, || Err(Error::not_found())).await, (b"abababab".to_vec(), None));
    }

    #[tokio::test]
    async fn a_body_ends_once_its_reader_may_not_read_any_more() {
        let asked = Arc::new(AtomicU32::new(0));
        let ask = move || if asked.fetch_add(1, Ordering::Relaxed) < 2 { Ok(()) } else { Err(Error::not_found()) };
        let pace = Pace { recheck: Duration::ZERO, whole: LONG };
        assert_eq!(read(pace, ask).await, (b"abab".to_vec(), Some(Code::NotFound)));
    }

    #[tokio::test]
    async fn a_body_that_takes_too_long_is_cut_off() {
        let pace = Pace { recheck: LONG, whole: Duration::ZERO };
        assert_eq!(read(pace, || Ok(())).await, (Vec::new(), Some(Code::ProviderUnavailable)));
    }
}
