//! The bytes of an artifact. Each request is authorised on its own, before conditions and ranges are looked at.

use std::ops::Range;

use axum::{
    Extension,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::TryStreamExt;
use pinhole_contract::ArtifactView;
use pinhole_core::{Actor, ArtifactId, Code, Error};

use super::{
    disposition::disposition,
    range::{Wanted, is_not_modified, wanted},
};
use crate::http::{Context, Refused, report};

/// Answers `GET` and `HEAD /api/v1/artifacts/{artifact_id}/content`.
pub(super) async fn content(
    State(context): State<Context>,
    Extension(actor): Extension<Actor>,
    Path(id): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let id: ArtifactId = id.parse().map_err(|error: Error| error.within("artifact_id"))?;
    let content = context.app.artifact_content(&actor, id).await?;
    let view = &content.view;
    let tag = format!("\"sha256-{}\"", view.sha256.hex());
    if is_not_modified(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, validators(&tag)?).into_response());
    }
    // A range is defined for GET alone: HEAD answers as GET without one would.
    let part = if method == Method::GET { wanted(&headers, &tag, view.size_bytes) } else { Wanted::All };
    let range = match part {
        Wanted::All => None,
        Wanted::Part(range) => Some(range),
        Wanted::Outside => return Err(outside(view.size_bytes)),
    };
    // Opened for HEAD too, so that it says `gone` when GET would.
    let request = actor.request;
    let bytes = content.open(range.clone()).await?.inspect_err(move |error| report(error, request));
    let mut response = Response::new(if method == Method::HEAD { Body::empty() } else { Body::from_stream(bytes) });
    response.headers_mut().extend(validators(&tag)?);
    response.headers_mut().extend(representation(view)?);
    measure(&mut response, range, view.size_bytes)?;
    Ok(response)
}

/// Sets status and length for the whole or a part.
fn measure(response: &mut Response, range: Option<Range<u64>>, size: u64) -> Result<(), Error> {
    let length = range.as_ref().map_or(size, |range| range.end - range.start);
    if let Some(range) = range {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let place = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        response.headers_mut().insert(header::CONTENT_RANGE, value(&place)?);
    }
    response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    Ok(())
}

/// What 200, 206 and 304 have in common: the answer may be kept by its reader and must be asked for again each time.
fn validators(tag: &str) -> Result<HeaderMap, Error> {
    Ok(HeaderMap::from_iter([
        (header::ETAG, value(tag)?),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (header::VARY, HeaderValue::from_static("Authorization, Cookie")),
    ]))
}

/// What the bytes are. The type is that of our own table of kinds, never one that a captured page chose; should a
/// browser show them as a document all the same, it is one without scripts or origin.
fn representation(view: &ArtifactView) -> Result<HeaderMap, Error> {
    Ok(HeaderMap::from_iter([
        (header::CONTENT_TYPE, value(&view.media_type)?),
        (header::CONTENT_DISPOSITION, value(&disposition(&view.media_type, &view.file_name))?),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
        ),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ]))
}

fn outside(size: u64) -> Refused {
    let error = Error::protocol(Code::RangeNotSatisfiable, format!("the artifact has {size} bytes"));
    match HeaderValue::try_from(format!("bytes */{size}")) {
        Ok(place) => Refused::from(error).with_header(header::CONTENT_RANGE, place),
        Err(_) => error.into(),
    }
}

fn value(text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(text).map_err(Error::internal)
}
