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

use crate::http::{Context, Refused, address_of, stranger};

/// What `WWW-Authenticate` says to a sender that is not believed.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Webhook-Signature realm=\"pinhole\"");

/// `POST /api/v1/hooks/{webhook_id}`.
pub(super) async fn deliver(
    State(context): State<Context>,
    Extension(request_id): Extension<RequestId>,
    Path(webhook): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let address = address_of(&context.settings, request.extensions(), request.headers());
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
    let verified = context.app.verify_delivery(&signed).await.map_err(|error| {
        // As for every other door: whoever is refused often has to wait, so that nobody tries out secrets.
        let refused = stranger(&context, address, error);
        let challenge = refused.code() == Code::Unauthenticated;
        if challenge { refused.with_header(header::WWW_AUTHENTICATE, CHALLENGE) } else { refused }
    })?;
    context.rates.principal(verified.principal())?;
    let delivered: DeliveredView = context.app.deliver(&verified, request_id).await?;
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
