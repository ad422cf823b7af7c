//! Values bound to a statement. Both databases store texts and 64-bit integers, and nothing else:
//! ids, digests, states and JSON are texts; instants are microseconds since the Unix epoch.

use std::{borrow::Cow, fmt::Display};

use pinhole_core::{Result, Timestamp, canonical_json};
use serde::Serialize;

/// One bound value.
pub(crate) enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Int(Option<i64>),
}

/// A text: anything that displays as its stored form.
pub(crate) fn text<'a>(value: impl Display) -> Value<'a> {
    Value::Text(Some(Cow::Owned(value.to_string())))
}

/// A text or NULL.
pub(crate) fn text_or_null<'a>(value: Option<impl Display>) -> Value<'a> {
    Value::Text(value.map(|value| Cow::Owned(value.to_string())))
}

/// An integer.
pub(crate) fn int<'a>(value: impl Into<i64>) -> Value<'a> {
    Value::Int(Some(value.into()))
}

/// An integer or NULL.
pub(crate) fn int_or_null<'a>(value: Option<impl Into<i64>>) -> Value<'a> {
    Value::Int(value.map(Into::into))
}

/// An instant.
pub(crate) fn time<'a>(value: Timestamp) -> Value<'a> {
    Value::Int(Some(value.as_micros()))
}

/// An instant or NULL.
pub(crate) fn time_or_null<'a>(value: Option<Timestamp>) -> Value<'a> {
    Value::Int(value.map(Timestamp::as_micros))
}

/// A value as canonical JSON text.
pub(crate) fn json<'a>(value: &impl Serialize) -> Result<Value<'a>> {
    let bytes = canonical_json(value)?;
    let text = String::from_utf8(bytes).map_err(pinhole_core::Error::internal)?;
    Ok(Value::Text(Some(Cow::Owned(text))))
}

/// A value as canonical JSON text, or NULL.
pub(crate) fn json_or_null<'a>(value: Option<&impl Serialize>) -> Result<Value<'a>> {
    value.map_or(Ok(Value::Text(None)), json)
}
