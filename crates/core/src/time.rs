//! Instants as microseconds since the Unix epoch, written as RFC 3339 in UTC.

use std::{fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An instant with microsecond precision, the precision that both databases keep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This instant moved forward; saturates at the end of time.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// This instant moved back; saturates at the beginning of time.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this instant is; zero when it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let timestamp: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Self(timestamp.as_microsecond()))
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn is_written_with_six_digits_in_utc() {
        let timestamp = Timestamp::from_micros(1_764_504_000_000_001);
        assert_eq!(timestamp.to_string(), "2025-11-30T12:00:00.000001Z");
        let json = serde_json::to_string(&timestamp).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), timestamp);
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(micros in -62_135_596_800_000_000..253_402_300_799_999_999_i64) {
            let written = serde_json::to_value(Timestamp::from_micros(micros)).unwrap();
            prop_assert_eq!(serde_json::from_value::<Timestamp>(written).unwrap(), Timestamp::from_micros(micros));
        }

        #[test]
        fn no_text_is_too_odd(text in "[+-]?[0-9]{1,6}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}[.,]?[0-9]{0,12}(Z|[+-][0-9:]{2,6})?|.{0,40}") {
            if let Ok(time) = serde_json::from_value::<Timestamp>(text.clone().into()) {
                let again: Timestamp = serde_json::from_value(time.to_string().into()).unwrap();
                prop_assert_eq!(again, time, "{}", text);
            }
        }
    }
}
