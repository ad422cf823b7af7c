//! The limit on request bodies: reads them whole before anything looks at them.

use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use pinhole_core::{Error, Result};

use super::{Context, problem::Refused};

/// Size of a form, in bytes: anybody may send one, signed in or not.
const MAX_FORM_BYTES: usize = 16 * 1024;

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

async fn limited(limit: usize, request: Request, next: Next) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let bytes = read(body, limit).await?;
    Ok(next.run(Request::from_parts(parts, Body::from(bytes))).await)
}

async fn read(body: Body, limit: usize) -> Result<Bytes> {
    let too_large = || Error::too_large("body_bytes", limit.try_into().unwrap_or(u64::MAX));
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large());
    }
    let mut bytes = BytesMut::with_capacity(announced);
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| Error::invalid("", "the body ended early").with_source(error))?;
        if chunk.len() > limit - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
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
