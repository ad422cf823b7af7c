//! The bytes of an artifact. Each request is authorised on its own, before conditions and ranges are looked at, and a
//! body that takes long again while it flows.
//!
//! It must not hold more of an artifact than the piece that is being sent.

use std::{ops::Range, time::Duration};

use axum::{
    Extension,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::TryStreamExt;
use pinhole_contract::ArtifactView;
use pinhole_core::{Actor, ArtifactId, Code, Error};

use super::{
    disposition::disposition,
    flow::{Pace, watched},
    range::{Wanted, is_another, is_not_modified, wanted},
};
use crate::http::{Context, Refused, report};

/// A revoked reader gets bytes for this long at most; one that is slow asks for the rest with `Range`.
const PACE: Pace = Pace { recheck: Duration::from_secs(30), whole: Duration::from_secs(15 * 60) };

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
    if is_another(&headers, &tag) {
        let message = "the artifact's bytes are not those that If-Match names: they have another entity tag";
        return Err(Refused::from(Error::conflict("entity_tag", message)).with_header(header::ETAG, value(&tag)?));
    }
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
    let bytes = content.open(range.clone()).await?;
    let mut response = Response::new(Body::empty());
    response.headers_mut().extend(validators(&tag)?);
    response.headers_mut().extend(representation(view)?);
    measure(&mut response, range, view.size_bytes)?;
    if method == Method::GET {
        let request = actor.request;
        let ask = move || may_still_read(context.clone(), actor.clone(), id);
        let bytes = watched(bytes, PACE, ask).inspect_err(move |error| report(error, request));
        *response.body_mut() = Body::from_stream(bytes);
    }
    Ok(response)
}

/// Authorises a body that flows already once more.
async fn may_still_read(context: Context, actor: Actor, id: ArtifactId) -> Result<(), Error> {
    context.app.artifact_content(&actor, id).await.map(|_| ())
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

/// What the bytes are, in all: a part has the digest of the whole (RFC 9530). The type is that of our own table of kinds, never one that a captured page chose; should a
/// browser show them as a document all the same, it is one without scripts or origin.
fn representation(view: &ArtifactView) -> Result<HeaderMap, Error> {
    Ok(HeaderMap::from_iter([
        (header::CONTENT_TYPE, value(&view.media_type)?),
        (header::CONTENT_DISPOSITION, value(&disposition(&view.media_type, &view.file_name))?),
        (HeaderName::from_static("repr-digest"), value(&repr_digest(view))?),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
        ),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ]))
}

fn repr_digest(view: &ArtifactView) -> String {
    format!("sha-256=:{}:", STANDARD.encode(view.sha256.as_bytes()))
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
