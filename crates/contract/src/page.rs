//! Bounded pages: how many items, and from where.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// How many items a page holds, 1 to 200; 50 when left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Limit(u32);

impl Limit {
    /// The greatest page.
    pub const MAX: u32 = 200;

    /// The number of items.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(50)
    }
}

impl TryFrom<u32> for Limit {
    type Error = &'static str;

    fn try_from(value: u32) -> Result<Self, Self::Error> {
        if (1..=Self::MAX).contains(&value) { Ok(Self(value)) } else { Err("expected 1 to 200") }
    }
}

impl From<Limit> for u32 {
    fn from(limit: Limit) -> Self {
        limit.0
    }
}

impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 })
    }
}

/// Where the next page starts. Callers see it sealed and pass it back as it is; within use cases it is the bare position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor(String);

impl Cursor {
    /// Length of a sealed cursor.
    const MAX_BYTES: usize = 200;

    /// Wraps a position that is at most 100 visible ASCII characters.
    pub fn new(position: impl Into<String>) -> Self {
        Self(position.into())
    }

    /// The position.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Cursor {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if (1..=Self::MAX_BYTES).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err("expected a cursor as an earlier page gave it")
        }
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.0
    }
}

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" })
    }
}
