//! The one error type. It knows nothing of HTTP, MCP or SQL.
//!
//! `message` and `details` are for the caller and never hold internal text; `source` is for the log and never leaves
//! the process. Each transport maps errors in one table.

use std::{borrow::Cow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::text_enum;

/// The longest name of a member in a refusal, in characters.
const MAX_FIELD: usize = 500;
/// The longest reason in a refusal, in characters; the longest of ours lists what is known.
const MAX_REASON: usize = 2000;

/// A result with the one error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

text_enum! {
    /// The closed list of error codes, in the order of the contract.
    Code {
        /// Shape, type or bound of the input is wrong.
        InvalidArguments = "invalid_arguments",
        /// No credential, or one that is not valid now.
        Unauthenticated = "unauthenticated",
        /// The object is visible, the operation on it is not allowed.
        PermissionDenied = "permission_denied",
        /// The object does not exist for this principal.
        NotFound = "not_found",
        /// The state of the object does not allow it, or the expected version is stale.
        Conflict = "conflict",
        /// The object was there and its bytes were removed.
        Gone = "gone",
        /// A size, rate or quota limit.
        LimitExceeded = "limit_exceeded",
        /// An expected version or idempotency key is missing.
        PreconditionRequired = "precondition_required",
        /// A resource or provider is not available now.
        ProviderUnavailable = "provider_unavailable",
        /// A fault of ours; the log has it under the request id.
        Internal = "internal",
        /// REST only: the path exists with other methods.
        MethodNotAllowed = "method_not_allowed",
        /// REST only: no representation that the client accepts.
        NotAcceptable = "not_acceptable",
        /// REST only: the body's media type.
        UnsupportedMediaType = "unsupported_media_type",
        /// REST only: the byte range lies outside the artifact.
        RangeNotSatisfiable = "range_not_satisfiable",
    }
}

/// The most items that details list.
const MAX_ITEMS: usize = 500;

/// What a program can act on. Which members are set depends on the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Details {
    /// Path of the member that is wrong or missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why, as a stable word or a short text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version, state or digest that the caller named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The version, state or digest that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The object that the first call with the same key made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_id: Option<String>,
    /// Seconds after which a retry makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u32>,
    /// The limit that was passed, in the unit that `field` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// What stands in the way, by name; the message says how many there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
}

type Source = Box<dyn std::error::Error + Send + Sync>;

/// An error of any operation.
pub struct Error(Box<Inner>);

struct Inner {
    code: Code,
    message: Cow<'static, str>,
    details: Details,
    source: Option<Source>,
    transient: bool,
}

/// The text, or as much of it as has a place in a refusal.
fn cut(mut text: String, chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
        text.push('…');
    }
    text
}

impl Error {
    fn new(code: Code, message: impl Into<Cow<'static, str>>, details: Details) -> Self {
        Self(Box::new(Inner { code, message: message.into(), details, source: None, transient: false }))
    }

    /// Wrong input: which member and why. Both may quote the input, so that they are cut to a length of their own.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        let (field, reason) = (cut(field.into(), MAX_FIELD), cut(reason.into(), MAX_REASON));
        let message = if field.is_empty() { reason.clone() } else { format!("{field}: {reason}") };
        let field = (!field.is_empty()).then_some(field);
        Self::new(Code::InvalidArguments, message, Details { field, reason: Some(reason), ..Details::default() })
    }

    /// No usable credential. Never says which part was wrong.
    pub fn unauthenticated() -> Self {
        Self::new(Code::Unauthenticated, "a valid credential is needed", Details::default())
    }

    /// Visible but not allowed; `reason` is a stable word such as the permission that is missing.
    pub fn permission_denied(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(
            Code::PermissionDenied,
            format!("not allowed: needs {reason}"),
            Details { reason: Some(reason), ..Details::default() },
        )
    }

    /// Missing, or hidden from this principal: both look the same.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "no such object", Details::default())
    }

    /// A state rule refuses it; `reason` is a stable word.
    pub fn conflict(reason: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Conflict, message, Details { reason: Some(reason.into()), ..Details::default() })
    }

    /// A state rule refuses some of what was asked for; `items` are their names, of which the details list the first 500.
    pub fn conflict_of(
        reason: impl Into<String>,
        message: impl Into<Cow<'static, str>>,
        mut items: Vec<String>,
    ) -> Self {
        items.truncate(MAX_ITEMS);
        let mut error = Self::conflict(reason, message);
        error.0.details.items = items;
        error
    }

    /// The expected version is not the present one.
    pub fn stale(expected: impl fmt::Display, actual: impl fmt::Display) -> Self {
        Self::new(
            Code::Conflict,
            format!("expected version {expected}, found {actual}: read it again"),
            Details {
                reason: Some("stale_version".into()),
                expected: Some(expected.to_string()),
                actual: Some(actual.to_string()),
                ..Details::default()
            },
        )
    }

    /// The idempotency key was used for another intent.
    pub fn changed_intent(first_id: impl fmt::Display) -> Self {
        Self::new(
            Code::Conflict,
            "this idempotency key was used for another request: use a new key",
            Details {
                reason: Some("changed_intent".into()),
                first_id: Some(first_id.to_string()),
                ..Details::default()
            },
        )
    }

    /// The bytes were removed by retention.
    pub fn gone(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Gone, message, Details::default())
    }

    /// A size limit; `field` names what is too large and the unit.
    pub fn too_large(field: impl Into<String>, limit: u64) -> Self {
        let field = field.into();
        Self::new(
            Code::LimitExceeded,
            format!("{field}: the limit is {limit}"),
            Details { field: Some(field), reason: Some("size".into()), limit: Some(limit), ..Details::default() },
        )
    }

    /// A rate or quota limit.
    pub fn rate_limited(retry_after_s: u32) -> Self {
        Self::new(
            Code::LimitExceeded,
            "too many requests",
            Details { reason: Some("rate".into()), retry_after_s: Some(retry_after_s), ..Details::default() },
        )
    }

    /// An expected version or idempotency key is missing.
    pub fn precondition_required(field: impl Into<String>) -> Self {
        let field = field.into();
        Self::new(
            Code::PreconditionRequired,
            format!("{field} is required"),
            Details { field: Some(field), ..Details::default() },
        )
    }

    /// Something that the operation needs is not available now; `reason` is a stable word.
    pub fn unavailable(reason: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(
            Code::ProviderUnavailable,
            message,
            Details { reason: Some(reason.into()), retry_after_s: Some(30), ..Details::default() },
        )
    }

    /// A fault of ours or of a library. The caller sees a request id and nothing else.
    pub fn internal(source: impl Into<Source>) -> Self {
        let mut error = Self::new(Code::Internal, "internal error", Details::default());
        error.0.source = Some(source.into());
        error
    }

    /// A REST-level refusal that has no details.
    pub fn protocol(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code, message, Details::default())
    }

    /// A serialisation failure or a busy database: the transaction may run again.
    pub fn transient(source: impl Into<Source>) -> Self {
        let mut error = Self::unavailable("busy", "the database is busy: try again");
        error.0.source = Some(source.into());
        error.0.transient = true;
        error
    }

    /// Puts `prefix` before the field's path, for errors of nested input.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        if self.0.code == Code::InvalidArguments {
            let inner = self.0.details.field.take();
            let field = inner.map_or_else(|| prefix.to_owned(), |inner| format!("{prefix}.{inner}"));
            self.0.message = format!("{field}: {}", self.0.details.reason.as_deref().unwrap_or_default()).into();
            self.0.details.field = Some(field);
        }
        self
    }

    /// Says more to the caller than field and reason do.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Adds the cause for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The text for the caller.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What a program can act on.
    pub fn details(&self) -> &Details {
        &self.0.details
    }

    /// The stable word in the details, if there is one.
    pub fn reason(&self) -> Option<&str> {
        self.0.details.reason.as_deref()
    }

    /// Whether the same transaction may simply run again.
    pub fn is_transient(&self) -> bool {
        self.0.transient
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_as_they_serialise() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn the_source_is_in_debug_and_not_in_display() {
        let error = Error::internal("disk on fire");
        assert!(!error.to_string().contains("fire"));
        assert!(format!("{error:?}").contains("fire"));
        assert!(!error.message().contains("fire"));
    }

    #[test]
    fn what_a_refusal_quotes_has_a_bound() {
        let error = Error::invalid("é".repeat(100_000), "é".repeat(100_000));
        assert!(error.message().chars().count() < 2600, "{}", error.message().len());
        assert_eq!(Error::invalid("a", "é".repeat(2000)).reason(), Some("é".repeat(2000).as_str()));
    }

    #[test]
    fn nested_fields_are_named_by_path() {
        let error = Error::invalid("width", "too small").within("viewport").within("profile");
        assert_eq!(error.details().field.as_deref(), Some("profile.viewport.width"));
        assert_eq!(error.message(), "profile.viewport.width: too small");
    }
}
