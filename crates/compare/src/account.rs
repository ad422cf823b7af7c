//! The account of a comparison: which rule took each pixel.

use serde::{Deserialize, Serialize};

/// How many pixels of the canvas fell to which rule.
///
/// The canvas is the smallest rectangle that holds both pictures laid with their top left corners together: the
/// greater width by the greater height. Each of its pixels is in exactly one class, decided in this order: outside the
/// common area, masked, ignored, and then by comparing. The eight numbers add up to the area of the canvas.
///
/// A masked or ignored pixel is counted whether or not it differs: the numbers say how much was not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// Compared, and the same in both pictures.
    pub equal: u64,
    /// Compared and different by less than the metric's threshold. Always 0 with an exact metric.
    pub below_threshold: u64,
    /// Compared and different only by the smoothing of an edge. Always 0 with an exact metric.
    pub antialiased: u64,
    /// Compared and found again a few rows away. Always 0 with an exact metric.
    pub shifted: u64,
    /// Painted over when the pictures were taken.
    pub masked: u64,
    /// In the pictures, and not compared because the rules say so.
    pub ignored: u64,
    /// In one of the pictures only, or, where one is wider and the other taller, in neither. Any such pixel makes the
    /// verdict `changed`, and no rule can take it out.
    pub outside_common_area: u64,
    /// Compared and different.
    pub changed: u64,
}

impl Account {
    /// The sum of all classes, which is the area of the canvas.
    pub const fn total(&self) -> u64 {
        self.compared() + self.masked + self.ignored + self.outside_common_area
    }

    /// Pixels that were compared: all of the common area but masked and ignored ones. A comparison of none is no
    /// evidence of anything, though its verdict is `matched`.
    pub const fn compared(&self) -> u64 {
        self.equal + self.below_threshold + self.antialiased + self.shifted + self.changed
    }
}
