//! A decoded picture in memory: rows of RGBA samples, eight bits each, alpha not premultiplied.
//!
//! It knows nothing of files; see `decode` and `encode`.

/// Bytes of one pixel.
pub(crate) const PIXEL_BYTES: usize = 4;

/// One pixel: red, green, blue and alpha.
pub(crate) type Pixel = [u8; PIXEL_BYTES];

/// A picture of at least one pixel: rows from the top, pixels from the left, four bytes each (red, green, blue and
/// alpha, not premultiplied).
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

/// Why bytes are not the pixels of a picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// A picture has at least one pixel.
    #[error("a picture of {width} by {height} pixels has no pixel; both sides must be at least 1")]
    Empty {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// The number of bytes does not fit the size.
    #[error("a picture of {width} by {height} pixels takes 4 bytes for each pixel, but {actual} bytes were given")]
    Length {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// Bytes given.
        actual: usize,
    },
}

impl Picture {
    /// Takes over `pixels`, which must hold `width` × `height` × 4 bytes.
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Result<Self, PictureError> {
        if width == 0 || height == 0 {
            return Err(PictureError::Empty { width, height });
        }
        let expected = u128::from(width) * u128::from(height) * PIXEL_BYTES as u128;
        if pixels.len() as u128 != expected {
            return Err(PictureError::Length { width, height, actual: pixels.len() });
        }
        Ok(Self { width, height, pixels })
    }

    /// Pixels in a row.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// All samples, `width` × `height` × 4 bytes.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Number of pixels.
    pub const fn area(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// The pixel at column `x` and row `y`, both from 0; `None` outside the picture.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        let inside = x < self.width && y < self.height;
        inside.then(|| self.row(y).as_chunks::<PIXEL_BYTES>().0[x as usize])
    }

    /// Whether no two pixels differ, as [`crate::compare`] understands it. A page that rendered nothing looks so.
    pub fn is_one_colour(&self) -> bool {
        let (pixels, _) = self.pixels.as_chunks::<PIXEL_BYTES>();
        pixels.first().is_none_or(|first| pixels.iter().all(|pixel| !crate::scan::differs(*first, *pixel)))
    }

    /// The samples of row `y`, which must be inside the picture.
    pub(crate) fn row(&self, y: u32) -> &[u8] {
        let stride = self.width as usize * PIXEL_BYTES;
        let start = y as usize * stride;
        &self.pixels[start..start + stride]
    }

    /// The samples of row `y` to paint on, which must be inside the picture.
    pub(crate) fn row_mut(&mut self, y: u32) -> &mut [Pixel] {
        let stride = self.width as usize * PIXEL_BYTES;
        let start = y as usize * stride;
        self.pixels[start..start + stride].as_chunks_mut().0
    }

    /// A picture with every pixel `colour`. Both sides must be at least 1.
    pub(crate) fn filled(width: u32, height: u32, colour: Pixel) -> Self {
        Self { width, height, pixels: colour.repeat(width as usize * height as usize) }
    }
}

impl std::fmt::Debug for Picture {
    /// The size alone: a picture's samples fill a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Picture").field("width", &self.width).field("height", &self.height).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_must_fit_the_size() {
        assert!(Picture::new(2, 1, vec![0; 8]).is_ok());
        assert_eq!(
            Picture::new(2, 1, vec![0; 7]),
            Err(PictureError::Length { width: 2, height: 1, actual: 7 }),
            "one byte short"
        );
        assert_eq!(Picture::new(0, 1, vec![]), Err(PictureError::Empty { width: 0, height: 1 }));
        assert!(Picture::new(u32::MAX, u32::MAX, vec![0; 4]).is_err(), "the product must not wrap round");
    }

    #[test]
    fn a_pixel_is_found_by_column_and_row() {
        let picture = Picture::new(2, 2, (0..16).collect()).unwrap();
        assert_eq!(picture.pixel(1, 0), Some([4, 5, 6, 7]));
        assert_eq!(picture.pixel(0, 1), Some([8, 9, 10, 11]));
        assert_eq!(picture.pixel(2, 0), None);
        assert_eq!(picture.pixel(0, 2), None);
    }

    #[test]
    fn one_colour_means_no_pixel_stands_out() {
        let mut picture = Picture::filled(40, 30, [9, 9, 9, 255]);
        assert!(picture.is_one_colour());
        picture.row_mut(29)[39] = [9, 9, 10, 255];
        assert!(!picture.is_one_colour());
        let clear = Picture::new(2, 1, vec![1, 2, 3, 0, 4, 5, 6, 0]).unwrap();
        assert!(clear.is_one_colour(), "transparent pixels look alike whatever colour is stored");
    }
}
