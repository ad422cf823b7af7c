//! Types that are one text wherever they are written: in rows, JSON, schemas, paths and messages. The macros give such a
//! type everything but its own rule.

/// Gives a type whose text is that of `Display` and `FromStr` the same text in JSON, with `$schema` as its JSON Schema.
/// The crate that uses it depends on `serde` and `schemars`.
#[macro_export]
macro_rules! text_form {
    ($name:ident, $schema:tt) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                let text = <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|error: $crate::Error| ::serde::de::Error::custom(error.message()))
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!($schema)
            }
        }
    };
}

/// Bounded texts: for each a name, the numbers of characters that it may have, its pattern in schemas, its rule, and
/// what the refusal says.
#[macro_export]
macro_rules! bounded_texts {
    ($($(#[$doc:meta])* $name:ident, $min:literal..=$max:literal, $pattern:literal, $rule:expr, $expected:literal;)*) => {$(
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

        impl ::std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                let rule: fn(&str) -> bool = $rule;
                if ($min..=$max).contains(&text.chars().count()) && rule(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err($crate::Error::invalid("", $expected))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Debug::fmt(&self.0, f)
            }
        }

        $crate::text_form!($name, { "type": "string", "minLength": $min, "maxLength": $max, "pattern": $pattern });
    )*};
}

/// An enum whose variants have one text each.
macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable text.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|value| value.as_str()).collect();
                    $crate::Error::invalid("", format!("expected one of {}", known.join(", ")))
                })
            }
        }
    };
}
pub(crate) use text_enum;
