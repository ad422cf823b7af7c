//! Turning a decoded row of any PNG colour type into eight-bit RGBA.

use png::{BitDepth, ColorType};

use crate::{DecodeError, picture::Pixel};

/// How the samples of a row are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples {
    pub(crate) colour: ColorType,
    pub(crate) depth: BitDepth,
}

impl Samples {
    /// Whether a row is RGBA with eight bits already.
    pub(crate) fn are_rgba8(self) -> bool {
        self.colour == ColorType::Rgba && self.depth == BitDepth::Eight
    }

    /// Appends the row to `out` as RGBA.
    pub(crate) fn append_rgba(self, row: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        match self.depth {
            BitDepth::Eight => self.append(row, out),
            BitDepth::Sixteen => {
                let narrow: Vec<u8> = row.as_chunks().0.iter().map(|sample| narrow(*sample)).collect();
                self.append(&narrow, out)
            }
            _ => Err(DecodeError::corrupt("its samples were not widened to eight bits")),
        }
    }

    fn append(self, row: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        match self.colour {
            ColorType::Grayscale => each(row, out, |[grey]| [grey, grey, grey, u8::MAX]),
            ColorType::GrayscaleAlpha => each(row, out, |[grey, alpha]| [grey, grey, grey, alpha]),
            ColorType::Rgb => each(row, out, |[red, green, blue]| [red, green, blue, u8::MAX]),
            ColorType::Rgba => out.extend_from_slice(row),
            ColorType::Indexed => return Err(DecodeError::corrupt("its palette was not applied")),
        }
        Ok(())
    }
}

fn each<const N: usize>(row: &[u8], out: &mut Vec<u8>, pixel: impl Fn([u8; N]) -> Pixel) {
    out.extend(row.as_chunks().0.iter().flat_map(|samples| pixel(*samples)));
}

/// The nearest eight-bit value of a sixteen-bit sample: `round(sample × 255 / 65535)` (PNG, section 13.12).
fn narrow(sample: [u8; 2]) -> u8 {
    // 65535 = 255 × 257, and 257 is odd, so there is no tie; the largest result is 255.
    ((u32::from(u16::from_be_bytes(sample)) + 128) / 257) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_is_to_the_nearest_value() {
        for sample in 0..=u16::MAX {
            let exact = (f64::from(sample) * 255.0 / 65535.0).round();
            assert_eq!(f64::from(narrow(sample.to_be_bytes())), exact, "{sample}");
        }
    }
}
