//! Properties over generated scenarios and arbitrary texts.

use std::fmt::Write as _;

use pinhole_core::{ColorScheme, ProfileOverride, Slug, True, Viewport};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::Value as Json;

use super::{examples::examples, yaml};
use crate::{
    Antialiasing, Area, AttributeCondition, AttributeSource, By, Capture, CompareRules, Condition, CountCondition,
    EvidenceKind, Extract, Fill, Format, Locator, MatrixRow, Press, Role, Scenario, SchemaTag, Step, TextCondition,
    TextMatch, ValueSource, json_schema, parse,
};

fn text() -> impl Strategy<Value = crate::Text> {
    "[^\\x00]{1,12}".prop_map(|text| text.parse().unwrap())
}

fn value() -> impl Strategy<Value = crate::Value> {
    "[^\\x00]{0,12}".prop_map(|text| text.parse().unwrap())
}

fn by() -> impl Strategy<Value = By> {
    prop_oneof![
        text().prop_map(|css| By::Css { css }),
        (select(Role::ALL), option::of(text())).prop_map(|(role, name)| By::Role { role: role.parse().unwrap(), name }),
        text().prop_map(|text| By::Text { text }),
        text().prop_map(|label| By::Label { label }),
        text().prop_map(|placeholder| By::Placeholder { placeholder }),
        text().prop_map(|test_id| By::TestId { test_id }),
        text().prop_map(|alt| By::Alt { alt }),
        text().prop_map(|title| By::Title { title }),
    ]
}

fn locator() -> impl Strategy<Value = Locator> {
    let one = (by(), option::of(text()), option::of(0..=Locator::MAX_NTH)).prop_map(|(by, has_text, nth)| Locator {
        by,
        within: None,
        has_text,
        nth,
    });
    one.prop_recursive(3, 4, 1, |inner| {
        (by(), inner).prop_map(|(by, within)| Locator { within: Some(Box::new(within)), ..Locator::from(by) })
    })
}

fn text_match() -> impl Strategy<Value = TextMatch> {
    prop_oneof![value().prop_map(TextMatch::Equals), text().prop_map(TextMatch::Contains)]
}

fn count() -> impl Strategy<Value = CountCondition> {
    let bounds = prop_oneof![
        (0..=CountCondition::MAX).prop_map(|n| (Some(n), None, None)),
        (0..50u32, 50..100u32).prop_map(|(least, most)| (None, Some(least), Some(most))),
        (0..50u32).prop_map(|most| (None, None, Some(most))),
    ];
    (locator(), bounds).prop_map(|(of, (equals, at_least, at_most))| CountCondition { of, equals, at_least, at_most })
}

fn condition() -> impl Strategy<Value = Condition> {
    prop_oneof![
        locator().prop_map(Condition::Visible),
        locator().prop_map(Condition::Hidden),
        locator().prop_map(Condition::Absent),
        (locator(), text_match()).prop_map(|(of, expected)| Condition::Text(TextCondition { of, expected })),
        (locator(), text_match()).prop_map(|(of, expected)| Condition::Value(TextCondition { of, expected })),
        (locator(), text_match()).prop_map(|(of, expected)| {
            Condition::Attribute(AttributeCondition { of, name: "data-x".parse().unwrap(), expected })
        }),
        count().prop_map(Condition::Count),
        text_match().prop_map(Condition::Url),
        text_match().prop_map(Condition::Title),
        (100..=599u16).prop_map(Condition::Status),
        Just(Condition::NoConsoleErrors(True)),
    ]
}

fn area() -> impl Strategy<Value = Area> {
    prop_oneof![Just(Area::Page), Just(Area::Viewport), locator().prop_map(Area::Element)]
}

fn compare() -> impl Strategy<Value = CompareRules> {
    let antialiasing = select(&[Antialiasing::Tolerate, Antialiasing::Count][..]);
    (0..=CompareRules::MAX_PIXELS, option::of(0.0..=1.0), antialiasing).prop_map(|(pixels, ratio, antialiasing)| {
        CompareRules { max_changed_pixels: pixels, max_changed_ratio: ratio, antialiasing }
    })
}

fn capture() -> impl Strategy<Value = Capture> {
    let locators = || vec(locator(), 0..3);
    (area(), locators(), locators(), locators(), compare()).prop_map(|(area, mask, hide, ignore, compare)| Capture {
        area,
        mask,
        hide,
        ignore,
        compare,
        ..Capture::page("later".parse().unwrap())
    })
}

fn extract() -> impl Strategy<Value = Extract> {
    let source = prop_oneof![
        locator().prop_map(ValueSource::Text),
        locator().prop_map(ValueSource::Value),
        locator().prop_map(|of| ValueSource::Attribute(AttributeSource { of, name: "data-x".parse().unwrap() })),
        locator().prop_map(ValueSource::Count),
    ];
    vec(source, 1..4).prop_map(|sources| Extract {
        name: "later".parse().unwrap(),
        values: sources
            .into_iter()
            .enumerate()
            .map(|(n, source)| (format!("v-{n}").parse().unwrap(), source))
            .collect(),
    })
}

fn step() -> impl Strategy<Value = Step> {
    let target = select(&["/", "/a?b=c#d", "/%C3%A9/é", "https://example.com:8443/x"][..]);
    let key = select(&["Enter", "a", "é", "Control+Shift+ArrowUp", "F5"][..]);
    prop_oneof![
        target.prop_map(|target| Step::Navigate(target.parse().unwrap())),
        locator().prop_map(Step::Click),
        (locator(), value()).prop_map(|(into, value)| Step::Fill(Fill { into, value })),
        (key, option::of(locator())).prop_map(|(key, inside)| Step::Press(Press { key: key.parse().unwrap(), inside })),
        condition().prop_map(Step::WaitFor),
        condition().prop_map(Step::Assert),
        capture().prop_map(Step::Capture),
        extract().prop_map(Step::Extract),
    ]
}

fn profile() -> impl Strategy<Value = ProfileOverride> {
    let viewport = (1..=10_000u32, 1..=10_000u32).prop_map(|(width, height)| Viewport { width, height });
    let words =
        (select(ColorScheme::ALL), select(&["en-GB", "de", "zh-Hant-TW"][..]), select(&["UTC", "Etc/GMT+1"][..]));
    (option::of(viewport), option::of(0.5..=4.0), option::of(words), option::of(any::<bool>())).prop_map(
        |(viewport, scale, words, touch)| ProfileOverride {
            viewport,
            scale,
            color_scheme: words.map(|words| words.0),
            locale: words.map(|words| words.1.into()),
            timezone: words.map(|words| words.2.into()),
            touch,
        },
    )
}

fn slugs(prefix: &'static str, max: usize) -> impl Strategy<Value = Vec<Slug>> {
    (0..=max).prop_map(move |count| (0..count).map(|n| format!("{prefix}-{n}").parse().unwrap()).collect())
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let evidence = proptest::sample::subsequence(vec![EvidenceKind::Console], 0..=1);
    let head = ("\\P{Cc}{1,20}", slugs("tag", 3), profile(), vec(profile(), 0..4), vec(condition(), 0..3), evidence);
    (head, vec(step(), 0..8)).prop_map(|((title, tags, profile, rows, ready, evidence), steps)| {
        let row = |(n, profile)| MatrixRow { name: format!("row-{n}").parse().unwrap(), profile };
        let first = Step::Navigate("/".parse().unwrap());
        let last = Step::Capture(Capture::page("last".parse().unwrap()));
        let mut steps: Vec<_> = [first].into_iter().chain(steps).chain([last]).collect();
        for (n, step) in steps.iter_mut().enumerate() {
            match step {
                Step::Capture(capture) => capture.name = format!("capture-{n}").parse().unwrap(),
                Step::Extract(extract) => extract.name = format!("extract-{n}").parse().unwrap(),
                _ => {}
            }
        }
        Scenario {
            schema: SchemaTag,
            title: title.parse().unwrap(),
            tags,
            profile,
            matrix: rows.into_iter().enumerate().map(row).collect(),
            ready,
            evidence,
            steps,
        }
    })
}

/// Writes JSON as block-style YAML with double-quoted texts.
fn print_yaml(value: &Json, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                write!(out, "\n{pad}{key}:").unwrap();
                print_yaml(value, indent + 2, out);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for item in items {
                write!(out, "\n{pad}-").unwrap();
                print_yaml(item, indent + 2, out);
            }
        }
        Json::String(text) => {
            out.push_str(" \"");
            for c in text.chars() {
                match c {
                    ' '..='~' if c != '"' && c != '\\' => out.push(c),
                    _ => write!(out, "\\U{:08x}", u32::from(c)).unwrap(),
                }
            }
            out.push('"');
        }
        other => write!(out, " {other}").unwrap(),
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_parsed_back(scenario in scenario()) {
        let canonical = scenario.canonical().unwrap();
        prop_assert_eq!(&Scenario::from_canonical(&canonical.bytes).unwrap(), &scenario);
        let pretty = serde_json::to_string_pretty(&scenario).unwrap();
        prop_assert_eq!(&parse(&pretty, Format::Json).unwrap(), &scenario);
        let mut printed = String::new();
        print_yaml(&serde_json::to_value(&scenario).unwrap(), 0, &mut printed);
        match yaml(&printed) {
            Ok(parsed) => prop_assert_eq!(parsed.canonical().unwrap(), canonical),
            Err(problems) => prop_assert!(false, "{}\n{}", problems, printed),
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,60}|[\\-\\[\\]{}:,?&*!|>'\"%@` \n\t#a0.\\\\~<]{0,60}") {
        for format in [Format::Yaml, Format::Json] {
            if let Err(diagnostics) = parse(&text, format) {
                prop_assert!(!diagnostics.problems.is_empty());
            }
        }
    }

    #[test]
    fn no_change_to_an_example_makes_the_parser_panic(
        at in any::<proptest::sample::Index>(),
        length in 0..6usize,
        insert in "[\\-\\[\\]{}:,?&*!|>'\"%@` \n\t#a0.\\\\~<\u{feff}é]{0,4}",
    ) {
        let text = include_str!("../../../../fixtures/scenarios/search.yaml");
        let mut chars: Vec<char> = text.chars().collect();
        let start = at.index(chars.len());
        let end = (start + length).min(chars.len());
        chars.splice(start..end, insert.chars());
        let changed: String = chars.into_iter().collect();
        match yaml(&changed) {
            Ok(scenario) => {
                let canonical = scenario.canonical().unwrap();
                prop_assert_eq!(Scenario::from_canonical(&canonical.bytes).unwrap(), scenario);
            }
            Err(diagnostics) => {
                let lines = u32::try_from(changed.lines().count()).unwrap() + 1;
                for problem in diagnostics.problems {
                    prop_assert!(problem.line >= 1 && problem.line <= lines && problem.column >= 1, "{}", problem);
                }
            }
        }
    }
}

#[test]
fn the_schema_takes_what_the_parser_takes() {
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    let check = |scenario: &Scenario| {
        let value = serde_json::to_value(scenario).unwrap();
        let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{value}\n{errors:?}");
    };
    examples().iter().for_each(|(_, scenario)| check(scenario));
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&scenario(), |scenario| {
            check(&scenario);
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_schema_refuses_what_an_editor_should_mark() {
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    let (_, scenario) = examples().into_iter().find(|(path, _)| path.ends_with("search.yaml")).unwrap();
    let right = serde_json::to_value(scenario).unwrap();
    let changes: [(&str, Json); 16] = [
        ("/schema", "pinhole.scenario.v2".into()),
        ("/title", "".into()),
        ("/profile/scale", 9.into()),
        ("/profile", serde_json::json!({ "zoom": 1 })),
        ("/matrix/0", serde_json::json!({ "name": "a", "zoom": 1 })),
        ("/matrix/0", serde_json::json!({ "scale": 1 })),
        ("/steps/0", serde_json::json!({ "hover": { "css": "a" } })),
        ("/steps/0", serde_json::json!({ "click": { "css": "a", "frame": "b" } })),
        ("/steps/0", serde_json::json!({ "click": { "css": "a", "text": "b" } })),
        ("/steps/0", serde_json::json!({ "click": { "nth": 1 } })),
        ("/steps/0", serde_json::json!({ "click": { "role": "buton" } })),
        ("/steps/0", serde_json::json!({ "assert": { "status": 99 } })),
        ("/steps/0", serde_json::json!({ "assert": { "text": { "of": { "css": "a" } } } })),
        ("/steps/0", serde_json::json!({ "press": { "key": "a", "in": null } })),
        ("/profile/touch", Json::Null),
        ("/steps", Json::Array(Vec::new())),
    ];
    assert!(validator.is_valid(&right));
    for (pointer, value) in changes {
        let mut wrong = right.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match wrong.pointer_mut(parent).unwrap() {
            Json::Object(members) => drop(members.insert(key.into(), value.clone())),
            parent => parent[key.parse::<usize>().unwrap()] = value.clone(),
        }
        assert!(!validator.is_valid(&wrong), "{pointer} {value}");
        assert!(parse(&wrong.to_string(), Format::Json).is_err(), "{pointer} {value}");
    }
}
