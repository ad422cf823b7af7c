//! The error body of every transport, and the one table from codes to HTTP statuses.

use pinhole_core::{Code, Details, Error, RequestId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The error body.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// The stable code.
    pub code: Code,
    /// For people.
    pub message: String,
    /// For programs.
    pub details: Details,
    /// The call; the log has the cause under it.
    pub request_id: RequestId,
}

impl ErrorBody {
    /// The body of `error` in the call `request_id`.
    pub fn new(error: &Error, request_id: RequestId) -> Self {
        Self { code: error.code(), message: error.message().to_owned(), details: error.details().clone(), request_id }
    }
}

/// The HTTP status of an error: of its code, where a size limit is 413 and a rate limit 429.
pub fn status_of(error: &Error) -> u16 {
    match error.code() {
        Code::InvalidArguments => 422,
        Code::Unauthenticated => 401,
        Code::PermissionDenied => 403,
        Code::NotFound => 404,
        Code::Conflict => 409,
        Code::Gone => 410,
        Code::LimitExceeded if error.reason() == Some("size") => 413,
        Code::LimitExceeded => 429,
        Code::PreconditionRequired => 428,
        Code::ProviderUnavailable => 503,
        Code::Internal => 500,
        Code::MethodNotAllowed => 405,
        Code::NotAcceptable => 406,
        Code::UnsupportedMediaType => 415,
        Code::RangeNotSatisfiable => 416,
    }
}
