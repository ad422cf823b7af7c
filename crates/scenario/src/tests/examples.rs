//! What parses, and what comes out.

use std::{collections::BTreeSet, fs, path::PathBuf};

use pinhole_core::{ColorScheme, Viewport};
use serde_json::json;
use url::Url;

use super::{with_step, with_steps, yaml};
use crate::{Format, KeyChord, Modifier, Scenario, Target, json_schema, parse};

/// The example files, by name.
pub(super) fn examples() -> Vec<(PathBuf, Scenario)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenarios");
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let format =
            if path.extension().is_some_and(|extension| extension == "json") { Format::Json } else { Format::Yaml };
        let scenario = parse(&fs::read_to_string(&path).unwrap(), format);
        let scenario = scenario.unwrap_or_else(|problems| panic!("{}: {problems}", path.display()));
        (path, scenario)
    };
    files.into_iter().map(read).collect()
}

fn example(name: &str) -> Scenario {
    let found = examples().into_iter().find(|(path, _)| path.ends_with(name));
    found.unwrap_or_else(|| panic!("no example {name}")).1
}

#[test]
fn every_example_parses_and_round_trips() {
    let examples = examples();
    assert!(examples.len() >= 3);
    for (path, scenario) in examples {
        let canonical = scenario.canonical().unwrap();
        assert_eq!(Scenario::from_canonical(&canonical.bytes).unwrap(), scenario, "{}", path.display());
    }
}

#[test]
fn the_search_example_uses_every_action_and_condition() {
    let scenario = example("search.yaml");
    let used: BTreeSet<_> = scenario.steps.iter().map(|step| step.name()).collect();
    let schema = json_schema();
    // The keys are written in three places: the reader's table, the type's own name and the derived schema.
    let variants = schema["$defs"]["Step"]["oneOf"].as_array().unwrap();
    let known: BTreeSet<_> = variants.iter().map(|variant| variant["required"][0].as_str().unwrap()).collect();
    assert_eq!(used, known);
    let text = serde_json::to_value(&scenario).unwrap().to_string();
    let variants = schema["$defs"]["Condition"]["oneOf"].as_array().unwrap();
    for variant in variants {
        let name = variant["required"][0].as_str().unwrap();
        assert!(text.contains(&format!("{{\"{name}\":")), "{name} is in no step");
    }
}

#[test]
fn cells_are_the_rows_over_the_profile() {
    let cells = example("search.yaml").cells().unwrap();
    let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["desktop", "phone", "dark"]);
    let phone = &cells[1].profile;
    assert_eq!((phone.viewport, phone.scale, phone.touch), (Viewport { width: 390, height: 844 }, 2.0, true));
    assert_eq!((phone.locale.as_str(), phone.timezone.as_str()), ("en-GB", "Europe/London"));
    assert_eq!((cells[2].profile.color_scheme, cells[2].profile.scale), (ColorScheme::Dark, 1.0));

    let single = example("minimal.yaml").cells().unwrap();
    assert_eq!((single.len(), single[0].name.as_str()), (1, "default"));
}

#[test]
fn the_digest_is_of_the_content_and_not_of_the_writing() {
    let plain = yaml(&with_steps("  - navigate: /\n  - capture: { name: a }\n")).unwrap();
    let wordy = yaml(&with_steps(
        "  - navigate: '/' # front\n  - capture:\n      area: page\n      name: a\n      mask: []\n      compare: { antialiasing: tolerate, max_changed_pixels: 0 }\n",
    ));
    let json =
        r#"{"title":"Test","steps":[{"navigate":"\/"},{"capture":{"name":"a"}}],"schema":"pinhole.scenario.v1"}"#;
    let canonical = plain.canonical().unwrap();
    assert_eq!(wordy.unwrap().canonical().unwrap(), canonical);
    assert_eq!(parse(json, Format::Json).unwrap().canonical().unwrap(), canonical);
    let expected =
        br#"{"schema":"pinhole.scenario.v1","steps":[{"navigate":"/"},{"capture":{"name":"a"}}],"title":"Test"}"#;
    assert_eq!(canonical.bytes, expected);
    let other = yaml(&with_steps("  - navigate: /x\n  - capture: { name: a }\n")).unwrap().canonical().unwrap();
    assert_ne!(other.digest, canonical.digest);
    assert_ne!(other.sha256, canonical.sha256);
}

#[test]
fn only_canonical_bytes_are_read_back() {
    let bytes = example("search.yaml").canonical().unwrap().bytes;
    let mut padded = bytes.clone();
    padded.push(b'\n');
    assert!(Scenario::from_canonical(&padded).is_err());
    let explicit = br#"{"schema":"pinhole.scenario.v1","steps":[{"navigate":"/"},{"capture":{"area":"page","name":"a"}}],"title":"T"}"#;
    assert_eq!(Scenario::from_canonical(explicit).unwrap_err().message(), "the scenario is not in canonical form");
    assert!(Scenario::from_canonical(&[0xFF]).is_err());
}

#[test]
fn a_scenario_inside_other_json_keeps_the_same_rules() {
    let value = serde_json::to_value(example("search.yaml")).unwrap();
    assert_eq!(serde_json::from_value::<Scenario>(value.clone()).unwrap(), example("search.yaml"));
    let mut wrong = value;
    wrong["steps"][0] = json!({ "hover": { "css": "a" } });
    let error = serde_json::from_value::<Scenario>(wrong).unwrap_err().to_string();
    assert!(error.contains("unknown key `hover`"), "{error}");
}

#[test]
fn a_single_page_is_a_scenario_of_the_language() {
    let scenario = Scenario::single_page("https://example.com/a?b#c", "page".parse().unwrap()).unwrap();
    let canonical = scenario.canonical().unwrap();
    assert_eq!(Scenario::from_canonical(&canonical.bytes).unwrap(), scenario);
    assert_eq!(scenario.captures().count(), 1);
    let error = Scenario::single_page("ftp://example.com", "page".parse().unwrap()).unwrap_err();
    assert_eq!(error.details().field.as_deref(), Some("navigate"));
}

#[test]
fn rules_are_the_capture_without_its_name() {
    let scenario = example("search.yaml");
    let rules: Vec<_> = scenario.captures().map(|capture| capture.rules()).collect();
    assert_eq!(
        rules[0],
        json!({
            "area": "viewport", "mask": [{ "css": ".clock" }], "hide": [{ "title": "Chat" }], "ignore": [{ "alt": "Portrait" }],
            "compare": { "max_changed_pixels": 20, "max_changed_ratio": 0.001, "antialiasing": "count" },
        })
    );
    let renamed = yaml(&with_step("capture: { name: b }")).unwrap();
    let rules: Vec<_> = renamed.captures().map(|capture| capture.rules()).collect();
    assert_eq!(rules, [json!({}), json!({})]);
}

#[test]
fn paths_are_opened_below_the_base_url() {
    let resolve = |target: &str, base: &str| {
        target.parse::<Target>().unwrap().resolve(&Url::parse(base).unwrap()).unwrap().to_string()
    };
    assert_eq!(resolve("/cart", "https://a.example"), "https://a.example/cart");
    assert_eq!(resolve("/cart?x=1#y", "https://a.example/preview/7/?z"), "https://a.example/preview/7/cart?x=1#y");
    assert_eq!(resolve("/", "https://a.example/app"), "https://a.example/app/");
    assert_eq!(resolve("/a:b", "https://a.example"), "https://a.example/a:b");
    assert_eq!(resolve("http://b.example/x", "https://a.example/app"), "http://b.example/x");
    for wrong in
        ["cart", "//b.example/x", "/\\b", "/a b", "javascript:alert(1)", "https://", "https://u:p@b.example", ""]
    {
        assert!(wrong.parse::<Target>().is_err(), "{wrong}");
    }
}

#[test]
fn key_chords_are_taken_apart() {
    let chord: KeyChord = "Control+Shift+k".parse().unwrap();
    assert_eq!(chord.modifiers().collect::<Vec<_>>(), [Modifier::Control, Modifier::Shift]);
    assert_eq!(chord.key(), "k");
    for right in ["Enter", "a", "é", "F12", "Alt+ArrowLeft", "Plus", "-"] {
        assert!(right.parse::<KeyChord>().is_ok(), "{right}");
    }
    for wrong in ["", "+", "a+", "+a", "enter", "Ctrl+a", "Control", "Control+Control+a", "ab", "Control a", " "] {
        assert!(wrong.parse::<KeyChord>().is_err(), "{wrong}");
    }
}
