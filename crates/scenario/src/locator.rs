//! Locators: how a step names an element. Resolving them is the browser's work.

use std::{fmt, str::FromStr};

use pinhole_core::{Error, Result, text_form};
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::text::Text;

/// Names one element: exactly one must match, unless `nth` picks one or the step counts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Locator {
    /// How the element is found.
    #[serde(flatten)]
    pub by: By,
    /// Only inside this element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Box<Locator>>,
    /// Only elements whose text, white space collapsed, contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_text: Option<Text>,
    /// Which of several matches, in document order; 0 is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9999))]
    pub nth: Option<u32>,
}

impl Locator {
    /// The greatest `nth`.
    pub const MAX_NTH: u32 = 9999;

    /// The locator of a CSS selector without refinement.
    pub fn css(selector: Text) -> Self {
        Self::from(By::Css { css: selector })
    }
}

impl From<By> for Locator {
    fn from(by: By) -> Self {
        Self { by, within: None, has_text: None, nth: None }
    }
}

/// The one way in which a locator finds its element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(transform = exactly_one)]
pub enum By {
    /// CSS selector.
    Css {
        /// The selector.
        css: Text,
    },
    /// ARIA role, explicit or implied by the element.
    Role {
        /// The role.
        role: Role,
        /// The accessible name, white space collapsed, equal in full.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text>,
    },
    /// The innermost element whose text, white space collapsed, equals this.
    Text {
        /// The text.
        text: Text,
    },
    /// The form control whose label's text equals this.
    Label {
        /// The label.
        label: Text,
    },
    /// The form control with this placeholder.
    Placeholder {
        /// The placeholder.
        placeholder: Text,
    },
    /// The element with this `data-testid`.
    TestId {
        /// The test id.
        test_id: Text,
    },
    /// The element with this alternative text.
    Alt {
        /// The alternative text.
        alt: Text,
    },
    /// The element with this `title` attribute.
    Title {
        /// The title.
        title: Text,
    },
}

/// The derived schema would take a locator with two ways.
fn exactly_one(schema: &mut Schema) {
    if let Some(ways) = schema.remove("anyOf") {
        schema.insert("oneOf".into(), ways);
    }
}

/// A role of WAI-ARIA 1.2 (W3C, section 5.4), without the abstract ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(&'static str);

impl Role {
    /// Every role, in alphabetical order.
    pub const ALL: &'static [&'static str] = &[
        "alert",
        "alertdialog",
        "application",
        "article",
        "banner",
        "blockquote",
        "button",
        "caption",
        "cell",
        "checkbox",
        "code",
        "columnheader",
        "combobox",
        "complementary",
        "contentinfo",
        "definition",
        "deletion",
        "dialog",
        "directory",
        "document",
        "emphasis",
        "feed",
        "figure",
        "form",
        "generic",
        "grid",
        "gridcell",
        "group",
        "heading",
        "img",
        "insertion",
        "link",
        "list",
        "listbox",
        "listitem",
        "log",
        "main",
        "marquee",
        "math",
        "menu",
        "menubar",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "meter",
        "navigation",
        "none",
        "note",
        "option",
        "paragraph",
        "presentation",
        "progressbar",
        "radio",
        "radiogroup",
        "region",
        "row",
        "rowgroup",
        "rowheader",
        "scrollbar",
        "search",
        "searchbox",
        "separator",
        "slider",
        "spinbutton",
        "status",
        "strong",
        "subscript",
        "superscript",
        "switch",
        "tab",
        "table",
        "tablist",
        "tabpanel",
        "term",
        "textbox",
        "time",
        "timer",
        "toolbar",
        "tooltip",
        "tree",
        "treegrid",
        "treeitem",
    ];

    /// The role's name.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::ALL.iter().find(|role| **role == text);
        known.map(|role| Self(role)).ok_or_else(|| Error::invalid("", "expected a role of WAI-ARIA 1.2 such as button"))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

text_form!(Role, { "type": "string", "enum": Role::ALL });
