//! When a schedule is due: a cron expression on the wall clock of a named time zone. The time zones are built in, so
//! that an expression means the same on every machine.

use std::{cmp::Ordering, fmt, str::FromStr};

use croner::{
    Cron,
    errors::CronError,
    parser::{CronParser, Seconds, Year},
    time::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday},
};
use jiff::{SignedDuration, ZonedDateTime, civil, tz::AmbiguousOffset, tz::TimeZone};

use crate::{Error, Result, Timestamp, text_form};

/// A cron expression of five fields (minute, hour, day of the month, month, day of the week), so that it is due at most
/// once in a minute. Written as it was given.
#[derive(Clone)]
pub struct CronExpression {
    text: String,
    cron: Box<Cron>,
}

impl CronExpression {
    /// The greatest number of characters.
    pub const MAX_CHARS: usize = 100;

    /// The first time after `after` at which it is due in `zone`; `None` when that never comes again.
    pub fn next_after(&self, after: Timestamp, zone: &ZoneName) -> Option<Timestamp> {
        let instant = jiff::Timestamp::from_microsecond(after.as_micros()).ok()?;
        let local = Local(instant.to_zoned_datetime(zone.zone.clone()));
        let next = self.cron.find_next_occurrence(&local, false).ok()?;
        Some(Timestamp::from_micros(next.0.timestamp().as_microsecond()))
    }
}

impl FromStr for CronExpression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let expected =
            || Error::invalid("", "expected five cron fields: minute, hour, day of month, month, day of week");
        let plain = |c: char| c.is_ascii_alphanumeric() || "*,/-#?+ ".contains(c);
        if text.len() > Self::MAX_CHARS
            || !text.chars().all(plain)
            || text.split(' ').filter(|f| !f.is_empty()).count() != 5
        {
            return Err(expected());
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|error| expected().with_source(error))?;
        let expression = Self { text: text.to_owned(), cron: Box::new(cron) };
        // Such as the 30th of February.
        let comes = expression.next_after(Timestamp::from_micros(0), &ZoneName::utc()).is_some();
        if comes { Ok(expression) } else { Err(Error::invalid("", "expected a time that comes: this one never does")) }
    }
}

/// The IANA name of a time zone, such as `Europe/Berlin` or `UTC`.
#[derive(Clone)]
pub struct ZoneName {
    name: String,
    zone: TimeZone,
}

impl ZoneName {
    /// The greatest number of characters.
    pub const MAX_CHARS: usize = 64;

    /// Universal time.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), zone: TimeZone::UTC }
    }
}

impl FromStr for ZoneName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let expected = || Error::invalid("", "expected the name of an IANA time zone, such as Europe/Berlin or UTC");
        if !(1..=Self::MAX_CHARS).contains(&text.len()) {
            return Err(expected());
        }
        if text == "UTC" {
            return Ok(Self::utc());
        }
        let zone = jiff::tz::db().get(text).map_err(|error| expected().with_source(error))?;
        // In the one spelling that the database has.
        let name = zone.iana_name().ok_or_else(expected)?.to_owned();
        Ok(Self { name, zone })
    }
}

macro_rules! is_its_text {
    ($type:ident, $text:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.$text)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.$text, f)
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.$text == other.$text
            }
        }

        impl Eq for $type {}
    };
}

is_its_text!(CronExpression, text);
is_its_text!(ZoneName, name);
text_form!(CronExpression, { "type": "string", "minLength": 9, "maxLength": 100, "pattern": "^[0-9A-Za-z*,/#?+ -]+$" });
text_form!(ZoneName, { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_+/-]+$" });

/// An instant with the wall clock of its zone, as the search for the next time sees it.
#[derive(Clone)]
struct Local(ZonedDateTime);

impl CronDateTime for Local {
    fn to_civil(&self) -> CivilDateTime {
        // The calendar gives every part in its range.
        let part = |number: i8| u32::from(number.unsigned_abs());
        let (date, time) = (self.0.date(), self.0.time());
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(i32::from(date.year()), part(date.month()), part(date.day())),
            CivilTime::from_parts_unchecked(part(time.hour()), part(time.minute()), part(time.second())),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(self.0.weekday().to_sunday_zero_offset().unsigned_abs().into())
    }

    fn resolve_civil(&self, wanted: CivilDateTime) -> std::result::Result<Resolution<Self>, CronError> {
        let part = |number: u32| i8::try_from(number).map_err(|_| CronError::InvalidDate);
        let year = i16::try_from(wanted.year()).map_err(|_| CronError::InvalidDate)?;
        let (month, day) = (part(wanted.month())?, part(wanted.day())?);
        let (hour, minute, second) = (part(wanted.hour())?, part(wanted.minute())?, part(wanted.second())?);
        let civil = civil::DateTime::new(year, month, day, hour, minute, second, 0);
        let found = self.0.time_zone().to_ambiguous_zoned_datetime(civil.map_err(|_| CronError::InvalidDate)?);
        let local = |zoned: std::result::Result<ZonedDateTime, jiff::Error>| {
            zoned.map(Self).map_err(|_| CronError::InvalidTime)
        };
        Ok(match found.offset() {
            AmbiguousOffset::Unambiguous { .. } => Resolution::Single(local(found.unambiguous())?),
            AmbiguousOffset::Fold { .. } => {
                Resolution::Ambiguous(local(found.clone().earlier())?, local(found.later())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(SignedDuration::from_secs(seconds)).ok().map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.timestamp().cmp(&other.0.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Far more than an expression and nine times take on a busy machine; a search without bounds takes longer.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn at(text: &str) -> Timestamp {
        serde_json::from_value(text.into()).unwrap()
    }

    fn next(cron: &str, zone: &str, after: &str) -> String {
        let (cron, zone): (CronExpression, ZoneName) = (cron.parse().unwrap(), zone.parse().unwrap());
        cron.next_after(at(after), &zone).unwrap().to_string().replace(".000000", "")
    }

    #[test]
    fn the_next_time_is_after_the_given_one() {
        assert_eq!(next("*/5 * * * *", "UTC", "2026-01-01T00:00:00Z"), "2026-01-01T00:05:00Z");
        assert_eq!(next("*/5 * * * *", "UTC", "2026-01-01T00:04:59.999999Z"), "2026-01-01T00:05:00Z");
        assert_eq!(next("30 6 * * MON-FRI", "UTC", "2026-01-02T07:00:00Z"), "2026-01-05T06:30:00Z");
        assert_eq!(next("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
    }

    #[test]
    fn times_are_those_of_the_zone() {
        assert_eq!(next("0 9 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z"), "2026-01-01T08:00:00Z");
        assert_eq!(next("0 9 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z"), "2026-07-01T07:00:00Z");
        assert_eq!(next("0 9 * * *", "America/New_York", "2026-01-01T00:00:00Z"), "2026-01-01T14:00:00Z");
    }

    #[test]
    fn each_day_has_its_turn_when_the_clock_is_changed() {
        // 02:30 does not exist on the 29th of March, and comes twice on the 25th of October.
        let spring = next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z");
        assert!(spring.starts_with("2026-03-29T0"), "{spring}");
        let autumn = next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z");
        assert_eq!(autumn, "2026-10-25T00:30:00Z");
        assert_eq!(next("30 2 * * *", "Europe/Berlin", &autumn), "2026-10-26T01:30:00Z", "once, not twice");
    }

    #[test]
    fn anything_else_is_refused() {
        let long = format!("{} * * * *", "1,".repeat(60));
        for wrong in [
            "",
            "* * * *",
            "* * * * * *",
            "@daily",
            "@reboot",
            "60 * * * *",
            "* 24 * * *",
            "a b c d e",
            "0 0 30 2 *",
            "*\t* * * *",
            &long,
        ] {
            assert!(wrong.parse::<CronExpression>().is_err(), "{wrong}");
        }
        for wrong in ["", "Mars/Olympus", "../etc/passwd", "local", "+01:00", " UTC"] {
            assert!(wrong.parse::<ZoneName>().is_err(), "{wrong}");
        }
        assert_eq!("europe/berlin".parse::<ZoneName>().unwrap().to_string(), "Europe/Berlin");
    }

    fn field() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[*]|[0-9]{1,2}|[*]/[0-9]{1,2}",
            2 => "[0-9]{1,2}-[0-9]{1,2}(/[0-9]{1,2})?|[0-9]{1,2}(,[0-9]{1,2}){1,3}",
            1 => "[A-Z]{1,3}(-[A-Z]{3})?|MON|JAN|L|[0-9]L|[0-9]#[0-9]|[?]|[0-9]{1,2}W",
            1 => "[0-9A-Za-z*,/#?+-]{1,12}",
        ]
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_due_again_and_again(fields in vec(field(), 5), after in 0..4_102_444_800_i64) {
            let text = fields.join(" ");
            let started = Instant::now();
            if let Ok(cron) = text.parse::<CronExpression>() {
                prop_assert_eq!(cron.to_string(), text.as_str());
                for zone in ["UTC", "Europe/Berlin", "Australia/Lord_Howe"] {
                    let zone = zone.parse().unwrap();
                    let mut before = Timestamp::from_micros(after * 1_000_000);
                    for _ in 0..3 {
                        let Some(next) = cron.next_after(before, &zone) else { break };
                        prop_assert!(next > before && next.as_micros() % 60_000_000 == 0, "{} after {}: {}", text, before, next);
                        before = next;
                    }
                }
            }
            prop_assert!(started.elapsed() < PATIENCE, "{}: {:?}", text, started.elapsed());
        }

        #[test]
        fn a_time_of_day_comes_once_a_day(hour in 0..24_i64, minute in 0..60_i64, after in 0..4_102_444_800_i64) {
            let cron: CronExpression = format!("{minute} {hour} * * *").parse().unwrap();
            let (day, wanted) = (24 * 3600, (hour * 60 + minute) * 60);
            let expected = after + (wanted - after % day - 1).rem_euclid(day) + 1;
            let next = cron.next_after(Timestamp::from_micros(after * 1_000_000), &ZoneName::utc()).unwrap();
            prop_assert_eq!(next, Timestamp::from_micros(expected * 1_000_000));
        }

        #[test]
        fn no_text_is_too_odd(text in ".{0,120}", zone in "[A-Za-z_]{1,10}/[A-Za-z_]{1,10}|.{0,80}") {
            let _refused = text.parse::<CronExpression>();
            if let Ok(zone) = zone.parse::<ZoneName>() {
                prop_assert_eq!(zone.to_string().parse::<ZoneName>().unwrap(), zone);
            }
        }
    }
}
