//! Pictures as the tests see them, by their own decoder and without the product's comparison.

use std::{collections::BTreeSet, path::Path};

use image::RgbaImage;

/// A changed region as the command line tells it, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Region {
    /// Whether this pixel is in it.
    pub(crate) fn holds(&self, (x, y): (u32, u32)) -> bool {
        (self.x..self.x + self.width).contains(&x) && (self.y..self.y + self.height).contains(&y)
    }

    /// The smallest one that holds all of these pixels; none when there is no pixel.
    pub(crate) fn around(pixels: impl IntoIterator<Item = (u32, u32)>) -> Option<Self> {
        let (mut left, mut top, mut right, mut bottom) = (u32::MAX, u32::MAX, 0, 0);
        for (x, y) in pixels {
            (left, top, right, bottom) = (left.min(x), top.min(y), right.max(x), bottom.max(y));
        }
        (left <= right).then(|| Self { x: left, y: top, width: right - left + 1, height: bottom - top + 1 })
    }
}

/// The regions in what `pinhole` printed.
pub(crate) fn regions(text: &str) -> Vec<Region> {
    let lines = text.lines().filter(|line| line.trim_start().starts_with("region "));
    lines.map(|line| region(line).unwrap_or_else(|| panic!("not a region: {line}"))).collect()
}

/// `region KIND at x X y Y, W wide, H high`
fn region(line: &str) -> Option<Region> {
    let (_, place) = line.split_once(" at x ")?;
    let numbers: Vec<u32> =
        place.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    let [x, y, width, height] = numbers.try_into().ok()?;
    Some(Region { x, y, width, height })
}

/// Decodes a picture.
pub(crate) fn open(path: &Path) -> RgbaImage {
    image::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).into_rgba8()
}

/// The pixels in which two pictures of one size differ.
pub(crate) fn differing(one: &Path, other: &Path) -> BTreeSet<(u32, u32)> {
    let (one, other) = (open(one), open(other));
    assert_eq!(one.dimensions(), other.dimensions());
    one.enumerate_pixels().filter(|(x, y, pixel)| other.get_pixel(*x, *y) != *pixel).map(|(x, y, _)| (x, y)).collect()
}

/// The pixels that have exactly this colour.
pub(crate) fn coloured(path: &Path, [red, green, blue]: [u8; 3]) -> Vec<(u32, u32)> {
    let picture = open(path);
    let wanted = image::Rgba([red, green, blue, 255]);
    picture.enumerate_pixels().filter(|(_, _, pixel)| **pixel == wanted).map(|(x, y, _)| (x, y)).collect()
}
