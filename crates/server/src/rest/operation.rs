//! One operation on REST: merge what arrived, call, and say how it went by the status.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{FromRequestParts, RawPathParams, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, delete, get, post, put},
};
use bytes::Bytes;
use pinhole_app::{Entry, ReplyKind, operations};
use pinhole_contract::{Method, specs};
use pinhole_core::{Actor, Code, Error, Result};
use serde_json::{Map, Value};

use super::{members::Members, merge::Merge};
use crate::http::{Context, Refused, invoke, object};

/// The paths of the table with their handlers, in the contract's order.
pub(super) fn table() -> impl Iterator<Item = (String, MethodRouter<Context>)> {
    let entries = specs().iter().filter_map(|operation| operations().get(operation.spec.name));
    entries.map(|entry| (format!("/api/v1{}", entry.operation.spec.path), route(entry)))
}

fn route(entry: &'static Entry) -> MethodRouter<Context> {
    let members = Arc::new(Members::of(&(entry.operation.schemas)().input.to_value()));
    let handler = move |State(context): State<Context>, Extension(actor): Extension<Actor>, request: Request| {
        let members = Arc::clone(&members);
        async move { answer(entry, &members, &context, &actor, request).await.map_err(Refused::from) }
    };
    match entry.operation.spec.method {
        Method::Get => get(handler),
        Method::Post => post(handler),
        Method::Put => put(handler),
        Method::Delete => delete(handler),
    }
}

async fn answer(
    entry: &Entry,
    members: &Members,
    context: &Context,
    actor: &Actor,
    request: Request,
) -> Result<Response> {
    let input = input(entry.operation.spec.method, members, request).await?;
    let reply = invoke(entry, &context.app, actor, input).await?;
    let status = match reply.kind {
        ReplyKind::Completed => StatusCode::OK,
        ReplyKind::Created => StatusCode::CREATED,
        ReplyKind::ApprovalRequired => StatusCode::ACCEPTED,
    };
    Ok((status, Json(reply.body)).into_response())
}

/// The one object that the operation is called with.
async fn input(method: Method, members: &Members, request: Request) -> Result<Map<String, Value>> {
    let (mut parts, body) = request.into_parts();
    let path = RawPathParams::from_request_parts(&mut parts, &()).await.map_err(|_| Error::not_found())?;
    // Already read whole and measured on the way in.
    let body = axum::body::to_bytes(body, usize::MAX).await.map_err(Error::internal)?;
    let mut merge = Merge::new(members, json_body(method, &parts.headers, &body)?);
    for (name, value) in &path {
        merge.text(name, value)?;
    }
    merge.query(parts.uri.query().unwrap_or_default())?;
    merge.headers(&parts.headers)?;
    Ok(merge.into_object())
}

fn json_body(method: Method, headers: &HeaderMap, body: &Bytes) -> Result<Map<String, Value>> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    if method == Method::Get {
        return Err(Error::invalid("", "this operation takes no body: use the query"));
    }
    require_json(headers)?;
    object(body)
}

/// Refuses a body of another media type.
pub(super) fn require_json(headers: &HeaderMap) -> Result<()> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Error::protocol(Code::UnsupportedMediaType, "the body must be application/json"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn body(method: Method, media_type: &'static str, text: &'static str) -> Result<Map<String, Value>> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        json_body(method, &headers, &Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn bodies_are_json_objects_or_empty() {
        assert_eq!(body(Method::Post, "Application/JSON; charset=utf-8", r#"{"a":1}"#).unwrap()["a"], 1);
        assert!(body(Method::Post, "text/plain", "").unwrap().is_empty());
        assert_eq!(body(Method::Post, "text/plain", "{}").unwrap_err().code(), Code::UnsupportedMediaType);
        assert_eq!(body(Method::Post, "application/json", "[]").unwrap_err().code(), Code::InvalidArguments);
        assert_eq!(body(Method::Get, "application/json", "{}").unwrap_err().code(), Code::InvalidArguments);
    }

    #[test]
    fn every_operation_has_a_route() {
        assert_eq!(table().count(), specs().len());
    }
}
