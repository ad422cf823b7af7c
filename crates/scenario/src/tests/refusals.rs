//! What is refused, where, and with which words.

use super::{only_problem, with_step, with_steps, yaml};
use crate::{Diagnostics, Format, MAX_BYTES, parse};

/// Asserts that the step, written in line 6, has exactly this problem.
fn refused(step: &str, expected: &str) {
    let problem = only_problem(&with_step(step));
    assert!(problem.starts_with(expected), "{step}\n expected {expected}\n    found {problem}");
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    refused(
        "clik: { css: a }",
        "steps[2].clik 6:5 unknown key `clik`; the nearest known key is `click` (known: navigate,",
    );
    refused(
        "double_click: { css: a }",
        "steps[2].double_click 6:5 unknown key `double_click`; the nearest known key is `click`",
    );
    refused(
        "click: { csss: a, css: b }",
        "steps[2].click.csss 6:14 unknown key `csss`; the nearest known key is `css`",
    );
    refused("fill: { into: { css: a }, secret: A, value: b }", "steps[2].fill.secret 6:31 unknown key `secret`");
    refused(
        "click: { css: a, frame: b }",
        "steps[2].click.frame 6:22 unknown key `frame`; the nearest known key is `name`",
    );
    refused("assert: { accessible: {} }", "steps[2].assert.accessible 6:15 unknown key `accessible`");
    refused(
        "click: { role: buton }",
        "steps[2].click.role 6:20 unknown role `buton`; the nearest known role is `button`",
    );
    refused(
        "capture: { name: b, area: pag }",
        "steps[2].capture.area 6:31 unknown area `pag`; the nearest known area is `page`",
    );
    let diagnostics = yaml(&with_step("clik: {}")).unwrap_err();
    assert_eq!(diagnostics.problems[0].nearest.as_deref(), Some("click"));
}

#[test]
fn yaml_that_means_more_than_it_shows_is_refused() {
    refused("click: &x { css: a }", " 6:12 anchors are not part of the language");
    refused("click: !x { css: a }", " 6:12 tags are not part of the language");
    refused("click: { css: !!str a }", " 6:19 tags are not part");
    refused("click: { <<: { css: a } }", " 6:14 merge keys are not part");
    refused("click: { css: a, css: b }", " 6:22 the key `css` is there twice, first in line 6");
    refused("click: { ? [a] : b }", " 6:16 a key must be a text");
    let aliases = with_steps("  - navigate: &x /\n  - navigate: *x\n");
    let lines: Vec<_> = yaml(&aliases).unwrap_err().problems.iter().map(|p| (p.line, p.column)).collect();
    assert_eq!(lines, [(4, 15), (5, 15)]);
    let two = with_step("click: { css: a }") + "---\na: b\n";
    assert_eq!(only_problem(&two), " 7:1 a second document: a scenario file holds one");
}

#[test]
fn syntax_errors_have_their_place() {
    assert!(only_problem("schema: [\n").starts_with(" 2:1 not YAML: "));
    assert_eq!(only_problem(""), " 1:1 the text holds no document");
    for (text, line, column) in
        [("{\"a\": x}", 1, 7), ("{\n\"a\": 1,}", 2, 8), ("{'a': 1}", 1, 2), ("", 1, 1), ("{} {}", 1, 4)]
    {
        let problem = parse(text, Format::Json).unwrap_err().problems.remove(0);
        assert_eq!((problem.line, problem.column), (line, column), "{text}: {}", problem.message);
        assert!(problem.message.starts_with("not JSON: "), "{}", problem.message);
    }
}

#[test]
fn json_problems_have_their_place() {
    let text = "{\"schema\": \"pinhole.scenario.v1\", \"title\": \"é\", \"tag\": [],\n\t\"steps\": [{\"navigate\": \"/\"},\n\t{\"capture\": {\"name\": 7}}]}";
    let diagnostics = parse(text, Format::Json).unwrap_err();
    let places: Vec<_> = diagnostics.problems.iter().map(|p| (p.path.as_str(), p.line, p.column)).collect();
    assert_eq!(places, [("tag", 1, 49), ("steps[1].capture.name", 3, 23)]);
    let twice = parse("{\"a\": 1,\n \"a\": 2}", Format::Json).unwrap_err();
    assert_eq!((twice.problems[0].line, twice.problems[0].column), (2, 2));
    let surrogate = parse("{\"title\": \"\\ud800\"}", Format::Json).unwrap_err();
    assert!(surrogate.problems[0].message.starts_with("not JSON"), "{surrogate}");
}

#[test]
fn all_problems_are_told_at_once() {
    let text = "schema: pinhole.scenario.v2\ntitle: ''\ntags: [A]\nsteps:\n  - navigate: cart\n  - click: {}\n  - fill: { into: { css: 1 } }\n  - press: { key: enter }\n";
    let diagnostics = yaml(text).unwrap_err();
    let paths: Vec<_> = diagnostics.problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "schema",
            "title",
            "tags[0]",
            "steps[0].navigate",
            "steps[1].click",
            "steps[2].fill.into.css",
            "steps[2].fill",
            "steps[3].press.key"
        ]
    );
    let error = pinhole_core::Error::from(diagnostics.clone());
    assert_eq!(error.code(), pinhole_core::Code::InvalidArguments);
    assert_eq!(error.details().field.as_deref(), Some("schema"));
    assert_eq!(error.reason(), Some(diagnostics.problems[0].message.as_str()));
    assert_eq!(error.message(), diagnostics.to_string());
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    refused("navigate: 7", "steps[2].navigate 6:15 expected a text: put the number in quotes, \"7\"");
    refused("navigate:", "steps[2].navigate 6:13 expected a text, found nothing");
    refused("navigate: no slash", "steps[2].navigate 6:15 expected a path that starts with one slash");
    refused("click: [a]", "steps[2].click 6:12 expected a map with css, role");
    refused("click: '#a'", "steps[2].click 6:12 expected a map with css, role");
    refused(
        "assert: { status: 99 }",
        "steps[2].assert.status 6:23 expected a whole number from 100 to 599, found the number `99`",
    );
    refused("assert: { status: 2e2 }", "steps[2].assert.status 6:23 expected a whole number");
    refused("assert: { status: \"200\" }", "steps[2].assert.status 6:23 expected a whole number");
    refused(
        "assert: { no_console_errors: false }",
        "steps[2].assert.no_console_errors 6:34 expected true, found false",
    );
    refused(
        "assert: { no_console_errors: yes }",
        "steps[2].assert.no_console_errors 6:34 expected true, found the text",
    );
    refused("capture", "steps[2] 6:5 expected a map whose one key is the action, found the text `capture`");
    refused("capture: { name: A b }", "steps[2].capture.name 6:22 expected 1 to 64 lower-case");
    refused(
        "capture: { name: b, compare: { max_changed_ratio: 1.5 } }",
        "steps[2].capture.compare.max_changed_ratio 6:55 expected a number from 0 to 1",
    );
    refused(
        "capture: { name: b, compare: { max_changed_ratio: .nan } }",
        "steps[2].capture.compare.max_changed_ratio 6:55 expected a number",
    );
    refused(
        "capture: { name: b, compare: { max_changed_pixels: -1 } }",
        "steps[2].capture.compare.max_changed_pixels 6:56 expected a whole number",
    );
    refused("capture: { name: b, mask: { css: a } }", "steps[2].capture.mask 6:31 expected a list, found a map");
}

#[test]
fn keys_that_go_together_or_not() {
    refused("click: { css: a, text: b }", "steps[2].click 6:12 `css` and `text` exclude each other");
    refused("click: { nth: 1 }", "steps[2].click 6:12 expected one of the keys css, role");
    refused("click: { css: a, name: b }", "steps[2].click.name 6:28 `name` goes with `role` only");
    refused(
        "assert: { text: { of: { css: a } } }",
        "steps[2].assert.text 6:21 expected one of the keys equals, contains",
    );
    refused("assert: { text: { equals: a } }", "steps[2].assert.text 6:21 the key `of` is missing");
    refused("assert: { url: { equals: a, contains: b } }", "steps[2].assert.url 6:20 `equals` and `contains` exclude");
    let count = |bounds: &str| format!("assert: {{ count: {{ of: {{ css: a }}{bounds} }} }}");
    refused(&count(""), "steps[2].assert.count 6:22 expected one of the keys equals, at_least, at_most");
    refused(&count(", equals: 1, at_most: 2"), "steps[2].assert.count 6:22 `equals` excludes");
    refused(&count(", at_least: 3, at_most: 2"), "steps[2].assert.count 6:22 no number is");
    assert!(yaml(&with_step(&count(", at_least: 2, at_most: 2"))).is_ok());
    refused("click:\n    css: a", "steps[2] 7:5 expected one key, found `css` beside `click`: indent it further");
}

#[test]
fn names_differ() {
    refused("capture: { name: a }", "steps[2].capture.name 6:22 `a` is there twice, first in line 5, column 22: each");
    let head = |member: &str| format!("{member}\n{}", with_step("click: { css: a }"));
    assert!(
        only_problem(&head("tags: [a, b, a]"))
            .starts_with("tags[2] 1:14 `a` is there twice, first in line 1, column 8")
    );
    assert!(
        only_problem(&head("evidence: [console, console]")).starts_with("evidence[1] 1:21 `console` is there twice")
    );
    assert!(only_problem(&head("matrix: [{ name: a }, { name: a }]")).starts_with("matrix[1].name 1:31 `a` is there"));
}

#[test]
fn profiles_are_checked_as_they_will_be_used() {
    let head = |member: &str| only_problem(&format!("{member}\n{}", with_step("click: { css: a }")));
    assert!(head("profile: { locale: e }").starts_with("profile.locale 1:20 expected a BCP 47"));
    assert!(
        head("profile: { viewport: { width: 0, height: 1 } }")
            .starts_with("profile.viewport.width 1:31 expected a whole")
    );
    assert!(
        head("profile: { viewport: { width: 1 } }").starts_with("profile.viewport 1:22 the key `height` is missing")
    );
    assert!(head("profile: { scale: 5 }").starts_with("profile.scale 1:19 expected a number from 0.5 to 4"));
    assert!(head("profile: { color_scheme: drak }").contains("the nearest known colour scheme is `dark`"));
    assert!(head("matrix: [{ name: a, timezone: 'x y' }]").starts_with("matrix[0].timezone 1:31 expected an IANA"));
    assert!(head("matrix: [{ scale: 2 }]").starts_with("matrix[0] 1:10 the key `name` is missing"));
}

#[test]
fn the_steps_make_a_test() {
    let start = with_steps("  - capture: { name: a }\n");
    assert_eq!(only_problem(&start), "steps 4:3 expected `navigate` as the first step");
    let nothing = with_steps("  - navigate: /\n  - click: { css: a }\n");
    assert!(only_problem(&nothing).starts_with("steps 4:3 expected at least one `capture`, `extract` or `assert`"));
    assert_eq!(only_problem("schema: pinhole.scenario.v1\ntitle: T\n"), " 1:1 the key `steps` is missing");
    assert!(yaml(&with_steps("  - navigate: /\n  - assert: { status: 200 }\n")).is_ok());
}

#[test]
fn counts_are_bounded() {
    let steps = |count: usize| {
        with_steps(
            &("  - navigate: /\n  - assert: { status: 200 }\n".to_owned()
                + &"  - press: { key: a }\n".repeat(count - 2)),
        )
    };
    assert!(yaml(&steps(200)).is_ok());
    assert_eq!(only_problem(&steps(201)), "steps 4:3 expected at most 200 items, found 201");
    let captures = |count: usize| {
        let captures: String = (0..count).map(|n| format!("  - capture: {{ name: c{n} }}\n")).collect();
        with_steps(&format!("  - navigate: /\n{captures}"))
    };
    assert!(yaml(&captures(50)).is_ok());
    assert_eq!(only_problem(&captures(51)), "steps 4:3 expected at most 50 captures, found 51");
    let rows = |count: usize| {
        let rows: String = (0..count).map(|n| format!("  - {{ name: r{n} }}\n")).collect();
        format!("matrix:\n{rows}{}", with_step("click: { css: a }"))
    };
    assert!(yaml(&rows(20)).is_ok());
    assert_eq!(only_problem(&rows(21)), "matrix 2:3 expected at most 20 items, found 21");
    let masks = |count: usize| with_step(&format!("capture: {{ name: b, mask: [{}] }}", "{ css: a }, ".repeat(count)));
    assert!(yaml(&masks(50)).is_ok());
    assert!(only_problem(&masks(51)).contains("expected at most 50 items"));
    let text = |count: usize| with_step(&format!("click: {{ css: {} }}", "a".repeat(count)));
    assert!(yaml(&text(2000)).is_ok());
    assert!(only_problem(&text(2001)).contains("expected 1 to 2000 characters"));
}

#[test]
fn sizes_and_depths_are_bounded() {
    let padded = |bytes: usize| {
        let text = with_step("click: { css: a }");
        let comment = format!("#{}\n", "x".repeat(bytes - text.len() - 2));
        text + &comment
    };
    assert!(yaml(&padded(MAX_BYTES)).is_ok());
    assert!(only_problem(&padded(MAX_BYTES + 1)).contains("expected at most 262144 bytes, found 262145"));

    let nested = |depth: usize| {
        let locator = (0..depth).fold("{ css: a }".to_owned(), |inner, _| format!("{{ css: a, within: {inner} }}"));
        with_step(&format!("click: {locator}"))
    };
    assert!(yaml(&nested(15)).is_ok());
    assert!(only_problem(&nested(30)).contains("nested deeper than 24"));
    let json = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(parse(&json, Format::Json).unwrap_err().to_string().contains("nested deeper than 24"));

    // A character of one byte that canonical JSON writes with six.
    let bells = format!("fill: {{ into: {{ css: a }}, value: \"{}\" }}", "\\a".repeat(9000));
    let grown = with_step(&vec![bells; 6].join("\n  - "));
    assert!(grown.len() < MAX_BYTES);
    assert!(only_problem(&grown).contains("bytes in canonical form"));
}

#[test]
fn hostile_texts_end_fast() {
    let many = MAX_BYTES / 8;
    let texts = [
        "[".repeat(MAX_BYTES),
        "- ".repeat(MAX_BYTES / 2),
        "a: ".repeat(MAX_BYTES / 3),
        "? ".repeat(MAX_BYTES / 2),
        "{a: ".repeat(MAX_BYTES / 4),
        (0..many).map(|n| format!("{n:06}:\n")).collect(),
        format!("steps: [{}]", "x,".repeat(MAX_BYTES / 2 - 8)),
        format!("tags: [{}]", (0..many).map(|n| format!("{n:06},")).collect::<String>()),
        format!("a: \"{}", "x".repeat(MAX_BYTES - 4)),
        format!("a: '{}'", "\n".repeat(MAX_BYTES - 5)),
        "!a ".repeat(MAX_BYTES / 3),
        "&a\n".repeat(MAX_BYTES / 3),
        "%TAG ! a\n".repeat(MAX_BYTES / 9),
        "---\n".repeat(MAX_BYTES / 4),
    ];
    for text in texts {
        assert!(text.len() <= MAX_BYTES);
        let begun = std::time::Instant::now();
        for format in [Format::Yaml, Format::Json] {
            let diagnostics = parse(&text, format).unwrap_err();
            assert!(diagnostics.problems.len() <= Diagnostics::MAX);
            assert!(diagnostics.to_string().len() < 100_000);
        }
        assert!(begun.elapsed().as_secs() < 20, "{:.20} took {:?}", text, begun.elapsed());
    }
}
