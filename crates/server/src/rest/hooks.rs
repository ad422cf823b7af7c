//! Deliveries to webhooks: raw bytes and three headers, for the application to verify. No token opens this door, and
//! none is looked at.

use axum::{
    Extension, Json,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use pinhole_app::SignedDelivery;
use pinhole_contract::DeliveredView;
use pinhole_core::{Code, Error, RequestId, Result};

use crate::http::{Context, Refused};

/// What `WWW-Authenticate` says to a sender that is not believed.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Webhook-Signature realm=\"pinhole\"");

/// `POST /api/v1/hooks/{webhook_id}`.
pub(super) async fn deliver(
    State(context): State<Context>,
    Extension(request_id): Extension<RequestId>,
    Path(webhook): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    // Already read whole and measured on the way in.
    let body = axum::body::to_bytes(body, usize::MAX).await.map_err(Error::internal)?;
    let signed = SignedDelivery {
        webhook: &webhook,
        id: one(&parts.headers, "webhook-id"),
        timestamp: one(&parts.headers, "webhook-timestamp"),
        signature: one(&parts.headers, "webhook-signature"),
        body: &body,
    };
    let delivered: DeliveredView = context.app.deliver(&signed, request_id).await.map_err(|error| {
        let is_unverified = error.code() == Code::Unauthenticated;
        let refused = Refused::from(error);
        if is_unverified { refused.with_header(header::WWW_AUTHENTICATE, CHALLENGE) } else { refused }
    })?;
    let status = if delivered.replayed { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(delivered)).into_response())
}

/// The only value of a header; nothing when it is missing, given twice or no text, which no signature fits.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        _ => "",
    }
}
