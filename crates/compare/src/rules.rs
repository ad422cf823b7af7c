//! What a comparison leaves out and how much difference it lets pass.

use serde::{Deserialize, Serialize};

/// A rectangle of pixels; column and row count from 0 at the top left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rect {
    /// First column.
    pub x: u32,
    /// First row.
    pub y: u32,
    /// Columns; with 0 it covers nothing.
    pub width: u32,
    /// Rows; with 0 it covers nothing.
    pub height: u32,
}

impl Rect {
    /// The first column right of it.
    pub const fn right(&self) -> u32 {
        self.x.saturating_add(self.width)
    }

    /// The first row below it.
    pub const fn bottom(&self) -> u32 {
        self.y.saturating_add(self.height)
    }

    /// Number of pixels.
    pub const fn area(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Whether the pixel at column `x` and row `y` is in it.
    pub const fn contains(&self, x: u32, y: u32) -> bool {
        x >= self.x && x < self.right() && y >= self.y && y < self.bottom()
    }
}

/// The rules of one comparison. The default is exact: no difference passes and nothing is left out.
///
/// Rectangles are in pixels of the pictures and may reach beyond them; the part outside the common area has no
/// effect, so that no rule can hide a difference in size. A pixel in both a masked and an ignored rectangle counts as
/// masked. Work grows with the square of the number of rectangles; keep it below a thousand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// How many pixels may be changed in a match.
    pub max_changed_pixels: u64,
    /// Which share of the compared pixels (all but masked and ignored ones) may be changed in a match, from 0.0 to
    /// 1.0. A number outside that range counts as the nearer end, and what is not a number counts as 0. It holds
    /// beside `max_changed_pixels`, not instead of it; see [`Rules::tolerating`].
    pub max_changed_ratio: Option<f64>,
    /// Rectangles that are in the pictures and are not compared.
    pub ignored: Vec<Rect>,
    /// Rectangles that were painted over when the pictures were taken.
    pub masked: Vec<Rect>,
}

impl Rules {
    /// Rules that let this much change pass: with a ratio alone the number of pixels has no limit of its own, with
    /// both each must hold, with neither no change passes.
    pub fn tolerating(max_changed_pixels: Option<u64>, max_changed_ratio: Option<f64>) -> Self {
        let unstated = if max_changed_ratio.is_some() { u64::MAX } else { 0 };
        Self { max_changed_pixels: max_changed_pixels.unwrap_or(unstated), max_changed_ratio, ..Self::default() }
    }

    /// Whether `changed` of `compared` pixels may be changed in a match.
    pub(crate) fn tolerate(&self, changed: u64, compared: u64) -> bool {
        let ratio = self.max_changed_ratio.map(|ratio| if ratio.is_nan() { 0.0 } else { ratio.clamp(0.0, 1.0) });
        changed <= self.max_changed_pixels && ratio.is_none_or(|ratio| changed as f64 <= ratio * compared as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_tolerates_nothing() {
        assert!(Rules::default().tolerate(0, 100));
        assert!(!Rules::default().tolerate(1, 100));
    }

    #[test]
    fn both_limits_hold_when_both_are_given() {
        let pixels = Rules::tolerating(Some(5), None);
        assert!(pixels.tolerate(5, 100) && !pixels.tolerate(6, 100));
        let ratio = Rules::tolerating(None, Some(0.02));
        assert!(ratio.tolerate(2, 100) && !ratio.tolerate(3, 100));
        let both = Rules::tolerating(Some(5), Some(0.02));
        assert!(both.tolerate(2, 100) && !both.tolerate(3, 100) && !both.tolerate(6, 1000));
    }

    #[test]
    fn a_ratio_out_of_range_is_taken_as_the_nearer_end() {
        assert!(!Rules::tolerating(None, Some(f64::NAN)).tolerate(1, 100));
        assert!(!Rules::tolerating(None, Some(-1.0)).tolerate(1, 100));
        assert!(Rules::tolerating(None, Some(f64::INFINITY)).tolerate(100, 100));
    }

    #[test]
    fn a_rectangle_at_the_end_of_the_range_does_not_wrap_round() {
        let rect = Rect { x: u32::MAX, y: 3, width: 9, height: 1 };
        assert_eq!(rect.right(), u32::MAX);
        assert!(!rect.contains(0, 3));
    }
}
