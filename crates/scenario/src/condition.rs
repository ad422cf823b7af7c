//! Conditions: what `wait_for`, `assert` and `ready` say about a page.

use pinhole_core::True;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    locator::Locator,
    text::{AttributeName, Text, Value},
};

/// Something that holds for a page or does not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The element exists and has a visible box.
    Visible(Locator),
    /// The element exists and has no visible box.
    Hidden(Locator),
    /// Nothing matches.
    Absent(Locator),
    /// The element's text, white space collapsed and trimmed.
    Text(TextCondition),
    /// The current value of a form control.
    Value(TextCondition),
    /// An attribute of the element; an attribute that is not there fails.
    Attribute(AttributeCondition),
    /// How many elements match.
    Count(CountCondition),
    /// The address of the main document. An expected text that starts with a slash is compared with path, query and
    /// fragment only.
    Url(TextMatch),
    /// The document's title.
    Title(TextMatch),
    /// The HTTP status of the main document, 100 to 599.
    Status(#[schemars(range(min = 100, max = 599))] u16),
    /// The console has had no error since the cell began.
    NoConsoleErrors(True),
}

impl Condition {
    /// The key in the language.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Visible(_) => "visible",
            Self::Hidden(_) => "hidden",
            Self::Absent(_) => "absent",
            Self::Text(_) => "text",
            Self::Value(_) => "value",
            Self::Attribute(_) => "attribute",
            Self::Count(_) => "count",
            Self::Url(_) => "url",
            Self::Title(_) => "title",
            Self::Status(_) => "status",
            Self::NoConsoleErrors(_) => "no_console_errors",
        }
    }
}

/// How a text is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextMatch {
    /// Equal in full, case included.
    Equals(Value),
    /// Holds this anywhere, case included.
    Contains(Text),
}

impl TextMatch {
    /// Whether `actual` is what is expected.
    pub fn holds(&self, actual: &str) -> bool {
        match self {
            Self::Equals(expected) => actual == expected.as_str(),
            Self::Contains(part) => actual.contains(part.as_str()),
        }
    }

    /// The text that is compared with.
    pub fn expected(&self) -> &str {
        match self {
            Self::Equals(expected) => expected.as_str(),
            Self::Contains(part) => part.as_str(),
        }
    }
}

/// The text of an element, or the value of a form control.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TextCondition {
    /// The element.
    pub of: Locator,
    /// What its text or value must be.
    #[serde(flatten)]
    pub expected: TextMatch,
}

/// An attribute of an element.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AttributeCondition {
    /// The element.
    pub of: Locator,
    /// The attribute.
    pub name: AttributeName,
    /// What it must be.
    #[serde(flatten)]
    pub expected: TextMatch,
}

/// A number of elements: `equals` alone, or `at_least`, `at_most` or both.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CountCondition {
    /// What is counted; every match counts.
    pub of: Locator,
    /// Exactly so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100000))]
    pub equals: Option<u32>,
    /// So many or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100000))]
    pub at_least: Option<u32>,
    /// So many or fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100000))]
    pub at_most: Option<u32>,
}

impl CountCondition {
    /// The greatest number that can be expected.
    pub const MAX: u32 = 100_000;

    /// Whether `found` elements are what is expected.
    pub fn holds(&self, found: u64) -> bool {
        self.equals.is_none_or(|n| found == u64::from(n))
            && self.at_least.is_none_or(|n| found >= u64::from(n))
            && self.at_most.is_none_or(|n| found <= u64::from(n))
    }
}
