//! The scenario itself: its steps, its matrix and what each cell is.
//!
//! A value that came out of the parser keeps every bound of the language. The written form leaves defaults out, so
//! that a member added to the language later does not change the digest of a scenario that does not use it.

use std::borrow::Cow;

use pinhole_core::{ActionClass, Profile, ProfileOverride, Slug, Title};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::{
    capture::Capture,
    condition::Condition,
    extract::Extract,
    locator::Locator,
    text::{KeyChord, Target, Value},
};

/// One scenario: a page walked through step by step, with captures and assertions on the way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// The language.
    pub schema: SchemaTag,
    /// One line for people.
    pub title: Title,
    /// Words to filter by, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 20))]
    pub tags: Vec<Slug>,
    /// What the profile says differently from the environment's default.
    #[serde(skip_serializing_if = "is_empty")]
    #[schemars(default)]
    pub profile: ProfileOverride,
    /// The cells of a run; one cell named `default` when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 20))]
    pub matrix: Vec<MatrixRow>,
    /// What must hold before every capture.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 20))]
    pub ready: Vec<Condition>,
    /// What is stored beside the pictures, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 5))]
    pub evidence: Vec<EvidenceKind>,
    /// What is done, in this order. The first is `navigate`, and at least one is `capture`, `extract` or `assert`.
    #[schemars(length(min = 1, max = 200))]
    pub steps: Vec<Step>,
}

impl Scenario {
    /// The greatest number of steps.
    pub const MAX_STEPS: usize = 200;
    /// The greatest number of captures among the steps.
    pub const MAX_CAPTURES: usize = 50;
    /// The greatest number of extracts among the steps.
    pub const MAX_EXTRACTS: usize = 50;
    /// The greatest number of matrix rows.
    pub const MAX_ROWS: usize = 20;
    /// The greatest number of tags.
    pub const MAX_TAGS: usize = 20;
    /// The greatest number of conditions in `ready`.
    pub const MAX_READY: usize = 20;
    /// The greatest number of words in `evidence`.
    pub const MAX_EVIDENCE: usize = 5;
}

fn is_empty(profile: &ProfileOverride) -> bool {
    *profile == ProfileOverride::default()
}

/// The language and its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaTag;

impl SchemaTag {
    /// As written.
    pub const TEXT: &'static str = "pinhole.scenario.v1";
}

impl Serialize for SchemaTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::TEXT)
    }
}

impl JsonSchema for SchemaTag {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SchemaTag".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "const": Self::TEXT })
    }
}

/// One row of the matrix: a name and what its profile says differently from the scenario's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MatrixRow {
    /// The cell's name, unique in the matrix.
    pub name: Slug,
    /// What its profile says differently.
    #[serde(flatten)]
    pub profile: ProfileOverride,
}

/// One cell of a run: a name and the whole profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The row's name, or `default`.
    pub name: Slug,
    /// What the page is shown.
    pub profile: Profile,
}

/// What is stored beside the pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// Console messages and uncaught errors.
    Console,
}

/// One action. In the language a step is a map with this one key.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Opens an address in the main frame.
    Navigate(Target),
    /// Clicks the middle of an element.
    Click(Locator),
    /// Replaces the content of a text control.
    Fill(Fill),
    /// Presses a key with its modifiers.
    Press(Press),
    /// Waits until a condition holds.
    WaitFor(Condition),
    /// Fails the run when a condition does not hold.
    Assert(Condition),
    /// Takes a picture.
    Capture(Capture),
    /// Reads values from the page.
    Extract(Extract),
}

impl Step {
    /// The key in the language.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Navigate(_) => "navigate",
            Self::Click(_) => "click",
            Self::Fill(_) => "fill",
            Self::Press(_) => "press",
            Self::WaitFor(_) => "wait_for",
            Self::Assert(_) => "assert",
            Self::Capture(_) => "capture",
            Self::Extract(_) => "extract",
        }
    }

    /// Whether the step waits for a person. What starts runs without one takes no scenario with such a step.
    pub fn needs_person(&self) -> bool {
        match self {
            Self::Navigate(_)
            | Self::Click(_)
            | Self::Fill(_)
            | Self::Press(_)
            | Self::WaitFor(_)
            | Self::Assert(_)
            | Self::Capture(_)
            | Self::Extract(_) => false,
        }
    }

    /// What kind of thing it does, by which an environment allows or denies it.
    pub const fn class(&self) -> ActionClass {
        match self {
            Self::Navigate(_) => ActionClass::Navigate,
            Self::Click(_) | Self::Fill(_) | Self::Press(_) => ActionClass::Interact,
            Self::WaitFor(_) | Self::Assert(_) | Self::Extract(_) | Self::Capture(_) => ActionClass::Read,
        }
    }
}

/// Replaces the content of a text control.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Fill {
    /// The control.
    pub into: Locator,
    /// The new content.
    pub value: Value,
}

/// Presses a key with its modifiers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Press {
    /// The key, such as `Enter` or `Control+a`.
    pub key: KeyChord,
    /// The element that is focused first; otherwise the key goes to whatever has the focus.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub inside: Option<Locator>,
}
