//! Values bound to a statement. Both databases store texts and 64-bit integers, and nothing else:
//! ids, digests, states and JSON are texts; instants are microseconds since the Unix epoch.

use std::fmt::Display;

use pinhole_core::{EnvironmentId, Result, Timestamp, canonical_json};
use serde::Serialize;

/// One bound value.
pub(crate) enum Value {
    Text(Option<String>),
    Int(Option<i64>),
}

/// A text: anything that displays as its stored form.
pub(crate) fn text(value: impl Display) -> Value {
    Value::Text(Some(value.to_string()))
}

/// A text or NULL.
pub(crate) fn text_or_null(value: Option<impl Display>) -> Value {
    Value::Text(value.map(|value| value.to_string()))
}

/// An integer.
pub(crate) fn int(value: impl Into<i64>) -> Value {
    Value::Int(Some(value.into()))
}

/// A number of things; none of ours comes near the greatest that fits.
pub(crate) fn count(value: u64) -> Value {
    Value::Int(Some(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// An integer or NULL.
pub(crate) fn int_or_null(value: Option<impl Into<i64>>) -> Value {
    Value::Int(value.map(Into::into))
}

/// Environments as one text, each between slashes, so that a statement that looks for one among them stays fixed; NULL
/// for all.
pub(crate) fn environments(ids: Option<&[EnvironmentId]>) -> Value {
    Value::Text(ids.map(|ids| ids.iter().map(|id| format!("/{id}/")).collect()))
}

/// An instant.
pub(crate) fn time(value: Timestamp) -> Value {
    Value::Int(Some(value.as_micros()))
}

/// An instant or NULL.
pub(crate) fn time_or_null(value: Option<Timestamp>) -> Value {
    Value::Int(value.map(Timestamp::as_micros))
}

/// A value as canonical JSON text.
pub(crate) fn json(value: &impl Serialize) -> Result<Value> {
    let bytes = canonical_json(value)?;
    let text = String::from_utf8(bytes).map_err(pinhole_core::Error::internal)?;
    Ok(Value::Text(Some(text)))
}

/// A value as canonical JSON text, or NULL.
pub(crate) fn json_or_null(value: Option<&impl Serialize>) -> Result<Value> {
    value.map_or(Ok(Value::Text(None)), json)
}
