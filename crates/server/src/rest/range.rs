//! Conditional requests and byte ranges (RFC 9110, sections 13 and 14), as far as artifact bytes need them: they never
//! change and have no date of modification, so that conditions on dates are ignored as the standard wants.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderName, header};

/// What part of the bytes is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of them: no range, several ranges, or one that is not understood.
    All,
    /// These.
    Part(Range<u64>),
    /// None that exist.
    Outside,
}

/// The part that `Range` asks for of `size` bytes whose strong entity tag is `tag`.
pub(super) fn wanted(headers: &HeaderMap, tag: &str, size: u64) -> Wanted {
    let mut values = headers.get_all(header::RANGE).iter();
    let Some(range) = values.next().and_then(|value| value.to_str().ok()) else { return Wanted::All };
    let condition = headers.get(header::IF_RANGE);
    if values.next().is_some() || condition.is_some_and(|condition| condition.as_bytes() != tag.as_bytes()) {
        return Wanted::All;
    }
    parse(range, size).unwrap_or(Wanted::All)
}

/// Whether `If-Match` asks for other bytes than those whose strong entity tag is `tag`.
pub(super) fn is_another(headers: &HeaderMap, tag: &str) -> bool {
    headers.contains_key(header::IF_MATCH)
        && !names_any(headers, &header::IF_MATCH)
        && !tags(headers, &header::IF_MATCH).any(|given| given == tag)
}

/// Whether `If-None-Match` names `tag`, compared weakly as the standard wants.
pub(super) fn is_not_modified(headers: &HeaderMap, tag: &str) -> bool {
    names_any(headers, &header::IF_NONE_MATCH)
        || tags(headers, &header::IF_NONE_MATCH).any(|given| given.strip_prefix("W/").unwrap_or(given) == tag)
}

/// Whether the header is a star. Within a list it is none: the tags of others may hold one, and commas too.
fn names_any(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get_all(name).iter().any(|value| value.as_bytes().trim_ascii() == b"*")
}

/// The members of a list of entity tags. None of ours holds a comma; one of others is taken for several that are not
/// ours, for no part of it has two quotes.
fn tags<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

fn parse(range: &str, size: u64) -> Option<Wanted> {
    let (unit, set) = range.split_once('=')?;
    let (first, last) = set.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (start, end) = match (first, last) {
        ("", suffix) => (size.saturating_sub(position(suffix)?), size),
        (first, "") => (position(first)?, size),
        (first, last) => {
            let (first, last) = (position(first)?, position(last)?);
            if last < first {
                return None;
            }
            (first, last.saturating_add(1).min(size))
        }
    };
    Some(if start < end { Wanted::Part(start..end) } else { Wanted::Outside })
}

/// Digits alone; `None` sends the whole. A number beyond 64 bits lies outside every artifact.
fn position(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::{collection::vec, option, prelude::*};

    use super::*;

    const TAG: &str = "\"sha256-00\"";

    fn of(range: &str, if_range: Option<&str>) -> Wanted {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_str(range).unwrap());
        if let Some(condition) = if_range {
            headers.insert(header::IF_RANGE, HeaderValue::from_str(condition).unwrap());
        }
        wanted(&headers, TAG, 100)
    }

    #[test]
    fn single_ranges() {
        for (range, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=10-19", 10..20),
            ("Bytes=90-", 90..100),
            ("bytes=-5", 95..100),
            ("bytes=-500", 0..100),
            ("bytes=99-500", 99..100),
            ("bytes=0-99999999999999999999999", 0..100),
        ] {
            assert_eq!(of(range, None), Wanted::Part(part), "{range}");
        }
    }

    #[test]
    fn ranges_outside_are_told_apart_from_ranges_not_understood() {
        for range in ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(of(range, None), Wanted::Outside, "{range}");
        }
        let many = format!("bytes={}", vec!["0-0"; 1000].join(","));
        for range in ["bytes=5-1", "bytes=a-b", "bytes=1", "lines=1-2", "bytes=0-0,2-3", "bytes=+1-2", many.as_str()] {
            assert_eq!(of(range, None), Wanted::All, "{range}");
        }
        assert_eq!(wanted(&HeaderMap::new(), TAG, 100), Wanted::All);
    }

    #[test]
    fn if_range_needs_the_strong_tag() {
        assert_eq!(of("bytes=0-0", Some(TAG)), Wanted::Part(0..1));
        assert_eq!(of("bytes=0-0", Some("W/\"sha256-00\"")), Wanted::All);
        assert_eq!(of("bytes=0-0", Some("Sun, 06 Nov 1994 08:49:37 GMT")), Wanted::All);
    }

    #[test]
    fn known_tags_are_recognised() {
        let matches = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(text));
            is_not_modified(&headers, TAG)
        };
        assert!(matches("\"sha256-00\"") && matches("\"x\", W/\"sha256-00\"") && matches("*"));
        assert!(!matches("\"sha256-01\"") && !matches("sha256-00") && !is_not_modified(&HeaderMap::new(), TAG));
    }

    #[test]
    fn other_bytes_than_ours_are_told_apart() {
        let another = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_MATCH, HeaderValue::from_static(text));
            is_another(&headers, TAG)
        };
        assert!(another("\"sha256-01\"") && another("W/\"sha256-00\"") && another(""));
        assert!(!another("\"sha256-00\"") && !another("\"x\", \"sha256-00\"") && !another("*"));
        assert!(!is_another(&HeaderMap::new(), TAG));
    }

    /// What a range of these ends means, said position by position. All that lies beyond 64 bits is one place.
    fn naive(first: Option<u128>, last: Option<u128>, size: u64) -> Wanted {
        let [first, last] = [first, last].map(|end| end.map(|end| end.min(u64::MAX.into())));
        let is_chosen = |position: u64| match (first, last) {
            (Some(first), Some(last)) => (first..=last).contains(&position.into()),
            (Some(first), None) => first <= position.into(),
            (None, Some(count)) => u128::from(position).saturating_add(count) >= size.into(),
            (None, None) => false,
        };
        let chosen: Vec<_> = (0..size).filter(|position| is_chosen(*position)).collect();
        match (first, last, chosen.as_slice()) {
            (None, None, _) => Wanted::All,
            (Some(first), Some(last), _) if last < first => Wanted::All,
            (_, _, []) => Wanted::Outside,
            (_, _, [start, ..]) => Wanted::Part(*start..*start + chosen.len() as u64),
        }
    }

    fn end() -> impl Strategy<Value = Option<u128>> {
        option::of(prop_oneof![0..130_u128, Just(u64::MAX.into()), Just(u128::MAX)])
    }

    /// An entity tag, and whether it is weak.
    fn tag() -> impl Strategy<Value = (bool, String)> {
        (any::<bool>(), prop_oneof![Just(TAG.to_owned()), "\"[!#-~]{0,8}\"", Just("\"a, *, b\"".to_owned())])
    }

    /// Header lines with those tags, some in a line.
    fn lines(name: &HeaderName, tags: &[(bool, String)], in_a_line: usize) -> HeaderMap {
        let written = |(weak, tag): &(bool, String)| format!("{}{tag}", if *weak { "W/" } else { "" });
        let lines = tags.chunks(in_a_line).map(|line| line.iter().map(written).collect::<Vec<_>>().join(" , "));
        lines.map(|line| (name.clone(), HeaderValue::try_from(line).unwrap())).collect()
    }

    proptest! {
        #[test]
        fn a_range_is_what_it_says_position_by_position(first in end(), last in end(), size in 0..120_u64) {
            let written = |end: Option<u128>| end.map(|end| end.to_string()).unwrap_or_default();
            let text = format!("bytes={}-{}", written(first), written(last));
            prop_assert_eq!(parse(&text, size).unwrap_or(Wanted::All), naive(first, last, size), "{} of {}", text, size);
        }

        #[test]
        fn no_part_is_empty_or_outside(text in "(bytes ?= ?)?[0-9 ,+=a-]{0,12}-?[0-9]{0,25}|[ -~]{0,30}", size in any::<u64>()) {
            if let Some(Wanted::Part(part)) = parse(&text, size) {
                prop_assert!(part.start < part.end && part.end <= size, "{} of {}: {:?}", text, size, part);
            }
        }

        #[test]
        fn lists_of_tags_are_read_tag_by_tag(tags in vec(tag(), 1..6), in_a_line in 1..4_usize) {
            let headers = lines(&header::IF_NONE_MATCH, &tags, in_a_line);
            prop_assert_eq!(is_not_modified(&headers, TAG), tags.iter().any(|(_, tag)| tag == TAG), "{:?}", headers);
            let headers = lines(&header::IF_MATCH, &tags, in_a_line);
            prop_assert_eq!(is_another(&headers, TAG), !tags.contains(&(false, TAG.to_owned())), "{:?}", headers);
        }

        #[test]
        fn no_header_is_too_odd(bytes in vec(32_u8..=255, 0..40).prop_filter("no control", |b| !b.contains(&127))) {
            let value = HeaderValue::from_bytes(&bytes).unwrap();
            let names = [header::RANGE, header::IF_RANGE, header::IF_MATCH, header::IF_NONE_MATCH];
            let headers: HeaderMap = names.into_iter().map(|name| (name, value.clone())).collect();
            prop_assert_ne!(wanted(&headers, TAG, 100), Wanted::Outside, "If-Range does not hold");
            prop_assert!(!is_not_modified(&headers, TAG) || bytes.trim_ascii() == b"*");
        }
    }
}
