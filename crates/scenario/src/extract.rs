//! The extract step: values that are read from the page, kept beside the pictures and compared field by field.

use std::collections::BTreeMap;

use pinhole_core::Slug;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{locator::Locator, text::AttributeName};

/// Reads values from the page, which become a checkpoint of their own.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Extract {
    /// The checkpoint's name, unique among captures and extracts.
    pub name: Slug,
    /// What is read, by the names that the values get.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 100))]
    pub values: BTreeMap<Slug, ValueSource>,
}

impl Extract {
    /// The greatest number of values in one step.
    pub const MAX_VALUES: usize = 100;
}

/// Where one value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueSource {
    /// The element's text, white space collapsed and trimmed.
    Text(Locator),
    /// The current value of a form control.
    Value(Locator),
    /// An attribute of the element.
    Attribute(AttributeSource),
    /// How many elements match.
    Count(Locator),
}

/// An attribute of an element.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AttributeSource {
    /// The element.
    pub of: Locator,
    /// The attribute.
    pub name: AttributeName,
}
