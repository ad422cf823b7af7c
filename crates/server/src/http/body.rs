//! The limit on request bodies: reads them whole before anything looks at them.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream, HttpBody},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use pinhole_core::{Error, Result};

use super::{Context, problem::Refused};

/// Size of a form, in bytes: anybody may send one, signed in or not. The largest is a review of 200 captures with the
/// longest reason, each letter of which may take 12 bytes.
const MAX_FORM_BYTES: usize = 40 * 1024;
/// Size of what is delivered to a webhook, in bytes: anybody may send it.
const MAX_HOOK_BYTES: usize = 64 * 1024;
/// How much of a body beyond its limit is read and dropped.
const MAX_DRAINED_BYTES: usize = 16 * 1024 * 1024;
/// How long that may take.
const MAX_DRAINED_TIME: Duration = Duration::from_secs(2);

/// Reads the body, up to the limit of the settings.
pub(crate) async fn limit_body(
    State(context): State<Context>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    limited(context.settings.max_body_bytes, request, next).await
}

/// Reads the body of a form.
pub(crate) async fn limit_form(request: Request, next: Next) -> Result<Response, Refused> {
    limited(MAX_FORM_BYTES, request, next).await
}

/// Reads the body of a delivery to a webhook.
pub(crate) async fn limit_hook(request: Request, next: Next) -> Result<Response, Refused> {
    limited(MAX_HOOK_BYTES, request, next).await
}

async fn limited(limit: usize, request: Request, next: Next) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let bytes = read(body, limit).await?;
    Ok(next.run(Request::from_parts(parts, Body::from(bytes))).await)
}

async fn read(body: Body, limit: usize) -> Result<Bytes> {
    let too_large = || Error::too_large("body_bytes", limit.try_into().unwrap_or(u64::MAX));
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut bytes = BytesMut::with_capacity(announced.min(limit));
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| Error::invalid("", "the body ended early").with_source(error))?;
        if announced > limit || chunk.len() > limit - bytes.len() {
            drain(chunks).await;
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

/// Reads on and drops it, within bounds: a connection that is closed while its peer still sends is reset, and the peer
/// loses the answer.
async fn drain(mut chunks: BodyDataStream) {
    let reading = async {
        let mut dropped = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            dropped += chunk.len();
            if dropped > MAX_DRAINED_BYTES {
                break;
            }
        }
    };
    // A peer that is slower than this may lose the answer.
    let _slow = tokio::time::timeout(MAX_DRAINED_TIME, reading).await;
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use pinhole_core::Code;

    use super::*;

    #[tokio::test]
    async fn announced_and_unannounced_bodies_have_the_same_limit() {
        let chunks = |sizes: &'static [usize]| {
            Body::from_stream(stream::iter(sizes.iter().map(|size| Ok::<_, std::io::Error>(vec![b'x'; *size]))))
        };
        assert_eq!(read(Body::from("x".repeat(10)), 10).await.unwrap().len(), 10);
        assert_eq!(read(chunks(&[4, 6]), 10).await.unwrap().len(), 10);
        for body in [Body::from("x".repeat(11)), chunks(&[4, 7]), chunks(&[11])] {
            let error = read(body, 10).await.unwrap_err();
            assert_eq!((error.code(), error.reason()), (Code::LimitExceeded, Some("size")));
            assert_eq!(error.details().limit, Some(10));
        }
    }
}
