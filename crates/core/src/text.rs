//! Bounded texts. Each type enforces what its schema says, so that nothing unbounded gets past deserialisation.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Error;

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident, $max:literal, $pattern:literal, $check:expr, $expected:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The greatest number of characters.
            pub const MAX_CHARS: usize = $max;

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let check: fn(&str) -> bool = $check;
                if text.is_empty() || text.chars().count() > $max || !check(text) {
                    return Err(Error::invalid("text", $expected));
                }
                Ok(Self(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(|_| serde::de::Error::custom($expected))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": 1, "maxLength": $max, "pattern": $pattern })
            }
        }
    )*};
}

texts! {
    /// A short name in URLs and Git paths: projects, environments, scenarios, remotes, checkpoints.
    Slug, 64, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", is_slug,
        "expected 1 to 64 lower-case letters, digits and inner hyphens";
    /// A catalog line: a slug, with slashes between parts.
    LineName, 100, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?(/[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
        |text| text.split('/').all(is_slug),
        "expected 1 to 100 characters: lower-case letters, digits and hyphens, with slashes between parts";
    /// One line of text for people: names and release labels.
    Name, 100, "^\\P{Cc}+$", is_one_line, "expected 1 to 100 characters without control characters";
    /// One line of text for people: titles.
    Title, 200, "^\\P{Cc}+$", is_one_line, "expected 1 to 200 characters without control characters";
    /// Why somebody did something; recorded for ever.
    Reason, 2000, "^[\\n\\P{Cc}]*\\S[\\n\\P{Cc}]*$", |text| text.chars().all(|c| c == '\n' || !c.is_control()) && !text.trim().is_empty(),
        "expected 1 to 2000 characters, not only white space, without control characters";
    /// A caller's key for one intent.
    IdempotencyKey, 200, "^[!-~]+$", |text| text.bytes().all(|b| b.is_ascii_graphic()),
        "expected 1 to 200 visible ASCII characters";
}

fn is_slug(text: &str) -> bool {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && edge(text.bytes().next())
        && edge(text.bytes().last())
}

fn is_one_line(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

impl Default for LineName {
    /// The line `main`.
    fn default() -> Self {
        Self("main".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_and_lines() {
        assert!("cart-2".parse::<Slug>().is_ok());
        for wrong in ["", "-a", "a-", "A", "a b", "../x", "a/b", "é"] {
            assert!(wrong.parse::<Slug>().is_err(), "{wrong}");
        }
        assert!("release/2-1".parse::<LineName>().is_ok());
        assert!("release//x".parse::<LineName>().is_err());
        assert!("a".repeat(65).parse::<Slug>().is_err());
    }

    #[test]
    fn a_reason_is_not_blank() {
        assert!(" \n".parse::<Reason>().is_err());
        assert!("looks right\nto me".parse::<Reason>().is_ok());
        assert!("bell\u{7}".parse::<Reason>().is_err());
    }
}
