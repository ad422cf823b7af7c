//! The capture step: what is pictured, what is covered or left out, and how it is compared.

use pinhole_core::Slug;
use schemars::JsonSchema;
use serde::Serialize;

use crate::locator::Locator;

/// Takes one picture, which becomes a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Capture {
    /// The checkpoint's name, unique in the scenario.
    pub name: Slug,
    /// What is pictured.
    #[serde(skip_serializing_if = "Area::is_default")]
    #[schemars(default)]
    pub area: Area,
    /// Painted over before the picture is taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 50))]
    pub mask: Vec<Locator>,
    /// Made invisible before the picture is taken; the layout stays.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 50))]
    pub hide: Vec<Locator>,
    /// Left in the picture and not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 50))]
    pub ignore: Vec<Locator>,
    /// What difference is tolerated.
    #[serde(skip_serializing_if = "CompareRules::is_default")]
    #[schemars(default)]
    pub compare: CompareRules,
}

impl Capture {
    /// The greatest number of locators in each of `mask`, `hide` and `ignore`.
    pub const MAX_LOCATORS: usize = 50;

    /// A capture of the whole page with the default rules.
    pub fn page(name: Slug) -> Self {
        Self {
            name,
            area: Area::default(),
            mask: Vec::new(),
            hide: Vec::new(),
            ignore: Vec::new(),
            compare: CompareRules::default(),
        }
    }
}

/// The part of the page that is pictured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// The whole page, however tall.
    #[default]
    Page,
    /// What the window shows.
    Viewport,
    /// The box of one element.
    Element(Locator),
}

impl Area {
    fn is_default(&self) -> bool {
        *self == Self::Page
    }
}

/// What difference from the baseline still counts as equal. The defaults tolerate detected anti-aliasing and nothing
/// else. When both limits are given, both must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CompareRules {
    /// Pixels that may differ.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default, range(max = 1_000_000_000))]
    pub max_changed_pixels: u64,
    /// Share of the compared pixels that may differ, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_changed_ratio: Option<f64>,
    /// What becomes of differences at smoothed edges.
    #[serde(skip_serializing_if = "Antialiasing::is_default")]
    #[schemars(default)]
    pub antialiasing: Antialiasing,
}

impl CompareRules {
    /// The greatest `max_changed_pixels`.
    pub const MAX_PIXELS: u64 = 1_000_000_000;

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(pixels: &u64) -> bool {
    *pixels == 0
}

/// What becomes of a difference that looks like anti-aliasing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Antialiasing {
    /// Reported, not counted as changed.
    #[default]
    Tolerate,
    /// Counted as changed.
    Count,
}

impl Antialiasing {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::Tolerate
    }
}
