//! Locators, conditions, captures and extracts.

use std::collections::BTreeMap;

use pinhole_core::Slug;

use super::{Members, Read, Reader, expected, number, tagged, whole, whole_in, word};
use crate::{
    capture::{Antialiasing, Area, Capture, CompareRules},
    condition::{AttributeCondition, Condition, CountCondition, TextCondition, TextMatch},
    diagnostics::{Path, Problems},
    extract::{AttributeSource, Extract, ValueSource},
    locator::{By, Locator, Role},
    tree::{Kind, Node},
};

/// The keys that find an element. One of them must be there.
const FINDERS: [&str; 8] = ["css", "role", "text", "label", "placeholder", "test_id", "alt", "title"];

impl Read for Locator {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let known: Vec<_> = FINDERS.into_iter().chain(["name", "within", "has_text", "nth"]).collect();
        let members = Members::open(node, path, problems, &known)?;
        let by = finder(&members, problems);
        let within = members.optional("within", problems);
        let has_text = members.optional("has_text", problems);
        let nth = members
            .optional_with("nth", problems, |node, path, problems| whole_in(node, path, problems, 0, Self::MAX_NTH));
        Some(Self { by: by?, within: within?, has_text: has_text?, nth: nth? })
    }
}

fn finder(members: &Members<'_, '_>, problems: &mut Problems) -> Option<By> {
    let key = members.one_of(&FINDERS, problems)?;
    if key == "role" {
        let role = members.required(key, problems);
        let name = members.optional("name", problems);
        return Some(By::Role { role: role?, name: name? });
    }
    if let Some(name) = members.get("name") {
        problems.add(name.at, &Path::Key(members.path, "name"), "`name` goes with `role` only");
        return None;
    }
    let text = members.required(key, problems)?;
    Some(match key {
        "css" => By::Css { css: text },
        "text" => By::Text { text },
        "label" => By::Label { label: text },
        "placeholder" => By::Placeholder { placeholder: text },
        "test_id" => By::TestId { test_id: text },
        "alt" => By::Alt { alt: text },
        _ => By::Title { title: text },
    })
}

impl Read for Role {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let Some(written) = node.text() else {
            return expected("a role", node, path, problems);
        };
        let role = written.parse().ok();
        if role.is_none() {
            problems.add_unknown(node.at, path, "role", written, Self::ALL.iter().copied());
        }
        role
    }
}

/// The conditions of the language.
const CONDITIONS: &[(&str, Reader<Condition>)] = &[
    ("visible", |node, path, problems| Read::read(node, path, problems).map(Condition::Visible)),
    ("hidden", |node, path, problems| Read::read(node, path, problems).map(Condition::Hidden)),
    ("absent", |node, path, problems| Read::read(node, path, problems).map(Condition::Absent)),
    ("text", |node, path, problems| Read::read(node, path, problems).map(Condition::Text)),
    ("value", |node, path, problems| Read::read(node, path, problems).map(Condition::Value)),
    ("attribute", |node, path, problems| Read::read(node, path, problems).map(Condition::Attribute)),
    ("count", |node, path, problems| Read::read(node, path, problems).map(Condition::Count)),
    ("url", |node, path, problems| Read::read(node, path, problems).map(Condition::Url)),
    ("title", |node, path, problems| Read::read(node, path, problems).map(Condition::Title)),
    ("status", |node, path, problems| whole_in(node, path, problems, 100, 599).map(Condition::Status)),
    ("no_console_errors", |node, path, problems| Read::read(node, path, problems).map(Condition::NoConsoleErrors)),
];

impl Read for Condition {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        tagged(node, path, problems, "condition", CONDITIONS)
    }
}

fn text_match(members: &Members<'_, '_>, problems: &mut Problems) -> Option<TextMatch> {
    match members.one_of(&["equals", "contains"], problems)? {
        "equals" => members.required("equals", problems).map(TextMatch::Equals),
        _ => members.required("contains", problems).map(TextMatch::Contains),
    }
}

impl Read for TextMatch {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        text_match(&Members::open(node, path, problems, &["equals", "contains"])?, problems)
    }
}

impl Read for TextCondition {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["of", "equals", "contains"])?;
        let of = members.required("of", problems);
        let expected = text_match(&members, problems);
        Some(Self { of: of?, expected: expected? })
    }
}

impl Read for AttributeCondition {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["of", "name", "equals", "contains"])?;
        let of = members.required("of", problems);
        let name = members.required("name", problems);
        let expected = text_match(&members, problems);
        Some(Self { of: of?, name: name?, expected: expected? })
    }
}

impl Read for CountCondition {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["of", "equals", "at_least", "at_most"])?;
        let of = members.required("of", problems);
        let mut bound = |key| {
            members.optional_with(key, problems, |node, path, problems| whole_in(node, path, problems, 0, Self::MAX))
        };
        let (equals, at_least, at_most) = (bound("equals"), bound("at_least"), bound("at_most"));
        let count = Self { of: of?, equals: equals?, at_least: at_least?, at_most: at_most? };
        let wrong = match (count.equals, count.at_least, count.at_most) {
            (None, None, None) => "expected one of the keys equals, at_least, at_most",
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) => "`equals` excludes `at_least` and `at_most`",
            (None, Some(least), Some(most)) if least > most => "no number is at least and at most that",
            _ => return Some(count),
        };
        problems.add(node.at, path, wrong);
        None
    }
}

impl Read for Capture {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["name", "area", "mask", "hide", "ignore", "compare"])?;
        let name = members.required("name", problems);
        let area = members.optional("area", problems);
        let mut locators = |key| members.list(key, problems, Self::MAX_LOCATORS);
        let (mask, hide, ignore) = (locators("mask"), locators("hide"), locators("ignore"));
        let compare = members.optional("compare", problems);
        Some(Self {
            name: name?,
            area: area?.unwrap_or_default(),
            mask: mask?,
            hide: hide?,
            ignore: ignore?,
            compare: compare?.unwrap_or_default(),
        })
    }
}

impl Read for Area {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        if let Kind::Map(_) = node.kind {
            let table: &[(&str, Reader<Self>)] =
                &[("element", |node, path, problems| Read::read(node, path, problems).map(Area::Element))];
            return tagged(node, path, problems, "area", table);
        }
        let words = [("page", false), ("viewport", true)];
        let viewport = word(node, path, problems, "area", &words)?;
        Some(if viewport { Self::Viewport } else { Self::Page })
    }
}

impl Read for CompareRules {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members =
            Members::open(node, path, problems, &["max_changed_pixels", "max_changed_ratio", "antialiasing"])?;
        let pixels = members.optional_with("max_changed_pixels", problems, |node, path, problems| {
            whole(node, path, problems, 0, Self::MAX_PIXELS)
        });
        let ratio = members.optional_with("max_changed_ratio", problems, |node, path, problems| {
            number(node, path, problems, 0.0, 1.0)
        });
        let antialiasing = members.optional_with("antialiasing", problems, |node, path, problems| {
            let known = [("tolerate", Antialiasing::Tolerate), ("count", Antialiasing::Count)];
            word(node, path, problems, "word", &known)
        });
        Some(Self {
            max_changed_pixels: pixels?.unwrap_or_default(),
            max_changed_ratio: ratio?,
            antialiasing: antialiasing?.unwrap_or_default(),
        })
    }
}

impl Read for Extract {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["name", "values"])?;
        let name = members.required("name", problems);
        let values = members.required_with("values", problems, values);
        Some(Self { name: name?, values: values? })
    }
}

/// A map whose keys are names of the scenario's own.
fn values(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<BTreeMap<Slug, ValueSource>> {
    let Kind::Map(entries) = &node.kind else {
        return expected("a map of names to what is read", node, path, problems);
    };
    if entries.is_empty() || entries.len() > Extract::MAX_VALUES {
        problems.add(node.at, path, format!("expected 1 to {} values, found {}", Extract::MAX_VALUES, entries.len()));
        return None;
    }
    let mut values = BTreeMap::new();
    for entry in entries {
        let path = Path::Key(path, &entry.key);
        let name: Option<Slug> = entry.key.parse().ok();
        if name.is_none() {
            problems.add(entry.at, &path, "a value's name is lower-case letters, digits and inner hyphens");
        }
        let source = ValueSource::read(&entry.value, &path, problems);
        values.extend(name.zip(source));
    }
    (values.len() == entries.len()).then_some(values)
}

/// What can be read.
const SOURCES: &[(&str, Reader<ValueSource>)] = &[
    ("text", |node, path, problems| Read::read(node, path, problems).map(ValueSource::Text)),
    ("value", |node, path, problems| Read::read(node, path, problems).map(ValueSource::Value)),
    ("attribute", |node, path, problems| Read::read(node, path, problems).map(ValueSource::Attribute)),
    ("count", |node, path, problems| Read::read(node, path, problems).map(ValueSource::Count)),
];

impl Read for ValueSource {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        tagged(node, path, problems, "value", SOURCES)
    }
}

impl Read for AttributeSource {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["of", "name"])?;
        let (of, name) = (members.required("of", problems), members.required("name", problems));
        Some(Self { of: of?, name: name? })
    }
}
