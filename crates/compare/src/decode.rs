//! Reading PNG files that may be hostile: every refusal is typed, and memory stays within the limits.
//!
//! Gamma, chromaticities and colour profiles are not applied: the stored samples are what is compared.

use std::io::Cursor;

use png::{DecodeOptions, Decoder, DecodingError, Reader, Transformations};

use crate::{
    Picture,
    chunks::{self, Header},
    picture::PIXEL_BYTES,
    samples::Samples,
};

/// Bounds on a file that is decoded. Decoding takes at most four bytes for each pixel of `max_pixels` beside the file
/// itself, and less than 70 MiB of working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Bytes of the file.
    pub max_bytes: u64,
    /// Pixels, that is width × height.
    pub max_pixels: u64,
    /// Pixels along either side.
    pub max_side: u32,
}

impl Default for DecodeLimits {
    /// A file of 256 MiB, 128 million pixels, 100,000 pixels along a side.
    fn default() -> Self {
        Self { max_bytes: 256 * 1024 * 1024, max_pixels: 128_000_000, max_side: 100_000 }
    }
}

/// Why a file was not decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It does not begin as a PNG file does.
    #[error("the file is not a PNG picture: it does not begin with the PNG signature")]
    NotPng,
    /// It goes beyond a limit.
    #[error("the picture is too large: {what}: {actual}, and at most {limit} are accepted")]
    TooLarge {
        /// What is bounded, with its unit.
        what: &'static str,
        /// As the file has it.
        actual: u64,
        /// As [`DecodeLimits`] allows.
        limit: u64,
    },
    /// It holds an animation, of which no frame stands for the whole.
    #[error("the file is an animated PNG; a still picture is needed")]
    Animated,
    /// It ends too early.
    #[error("the PNG file ends before its end mark IEND; it was cut off")]
    Truncated,
    /// It breaks a rule of the format, such as a checksum that does not fit.
    #[error("the PNG file is damaged: {reason}")]
    Corrupt {
        /// What is wrong, for a person.
        reason: String,
    },
    /// Something follows the end mark.
    #[error("{bytes} bytes follow the end mark IEND of the PNG file; a picture must end there")]
    TrailingData {
        /// How many bytes.
        bytes: u64,
    },
}

impl DecodeError {
    pub(crate) fn corrupt(reason: impl Into<String>) -> Self {
        Self::Corrupt { reason: reason.into() }
    }

    /// Refuses what is above its limit.
    pub(crate) fn bound(what: &'static str, actual: u64, limit: u64) -> Result<(), Self> {
        if actual > limit { Err(Self::TooLarge { what, actual, limit }) } else { Ok(()) }
    }
}

/// Decodes a PNG file of any colour type, bit depth and interlacing into eight-bit RGBA. Sixteen-bit samples are
/// rounded to the nearest eight-bit value; a transparent colour (`tRNS`) becomes alpha.
///
/// # Errors
///
/// See [`DecodeError`]. The header is checked against `limits`, and against the amount of image data, before memory is
/// taken for the pixels.
pub fn decode_png(bytes: &[u8], limits: &DecodeLimits) -> Result<Picture, DecodeError> {
    let header = chunks::inspect(bytes, limits)?;
    let mut reader = decoder(bytes).read_info().map_err(refusal)?;
    let (colour, depth) = reader.output_color_type();
    let samples = Samples { colour, depth };
    let len = pixel_bytes(&header, limits)?;
    let mut pixels = Vec::new();
    pixels.try_reserve_exact(len).map_err(|_| too_large(&header, limits))?;
    if header.interlaced {
        pixels.resize(len, 0);
        read_interlaced(&mut reader, &header, samples, &mut pixels)?;
    } else {
        read_rows(&mut reader, &header, samples, &mut pixels)?;
    }
    // The checksums of what follows the samples are checked on the way to the end.
    reader.finish().map_err(refusal)?;
    Picture::new(header.width, header.height, pixels).map_err(|error| DecodeError::corrupt(error.to_string()))
}

fn decoder(bytes: &[u8]) -> Decoder<Cursor<&[u8]>> {
    let mut options = DecodeOptions::default();
    options.set_ignore_checksums(false);
    options.set_skip_ancillary_crc_failures(false);
    // Compressed text and profiles could expand without bound, and neither is used.
    options.set_ignore_text_chunk(true);
    options.set_ignore_iccp_chunk(true);
    let mut decoder = Decoder::new_with_options(Cursor::new(bytes), options);
    decoder.set_transformations(Transformations::EXPAND);
    decoder
}

fn pixel_bytes(header: &Header, limits: &DecodeLimits) -> Result<usize, DecodeError> {
    let bytes = u128::from(header.width) * u128::from(header.height) * PIXEL_BYTES as u128;
    usize::try_from(bytes).map_err(|_| too_large(header, limits))
}

fn too_large(header: &Header, limits: &DecodeLimits) -> DecodeError {
    let actual = u64::from(header.width) * u64::from(header.height);
    DecodeError::TooLarge { what: "pixels that fit in memory", actual, limit: limits.max_pixels }
}

/// Rows from top to bottom. `pixels` grows with the rows, so that memory is touched only as data comes.
fn read_rows(
    reader: &mut Reader<Cursor<&[u8]>>,
    header: &Header,
    samples: Samples,
    pixels: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let stride = header.width as usize * PIXEL_BYTES;
    for _ in 0..header.height {
        if samples.are_rgba8() {
            let start = pixels.len();
            pixels.resize(start + stride, 0);
            reader.read_row(&mut pixels[start..]).map_err(refusal)?.ok_or_else(missing_row)?;
        } else {
            let row = reader.next_row().map_err(refusal)?.ok_or_else(missing_row)?;
            samples.append_rgba(row.data(), pixels)?;
        }
    }
    Ok(())
}

/// The seven passes of Adam7 as first column, first row, columns between and rows between (PNG, section 8.1).
const ADAM7: [(u32, u32, usize, usize); 7] =
    [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)];

/// Rows of seven reduced pictures, each pixel put where it belongs. `pixels` has its full size.
fn read_interlaced(
    reader: &mut Reader<Cursor<&[u8]>>,
    header: &Header,
    samples: Samples,
    pixels: &mut [u8],
) -> Result<(), DecodeError> {
    let width = header.width as usize;
    let places = pixels.as_chunks_mut::<PIXEL_BYTES>().0;
    let mut line = Vec::new();
    for (left, top, column_step, row_step) in ADAM7 {
        // A pass without columns has no rows in the file either.
        let rows = if left < header.width { top..header.height } else { 0..0 };
        for y in rows.step_by(row_step) {
            let row = reader.next_interlaced_row().map_err(refusal)?.ok_or_else(missing_row)?;
            line.clear();
            samples.append_rgba(row.data(), &mut line)?;
            let target = &mut places[y as usize * width..][..width];
            let columns = target.iter_mut().skip(left as usize).step_by(column_step);
            columns.zip(line.as_chunks().0).for_each(|(place, pixel)| *place = *pixel);
        }
    }
    Ok(())
}

fn missing_row() -> DecodeError {
    DecodeError::corrupt("its image data ends before the last row")
}

/// The decoder's own refusals in our terms.
fn refusal(error: DecodingError) -> DecodeError {
    match error {
        DecodingError::IoError(_) => DecodeError::Truncated,
        DecodingError::LimitsExceeded => {
            DecodeError::corrupt("one of its chunks or rows needs more than 64 MiB of working memory")
        }
        DecodingError::Format(reason) => DecodeError::corrupt(reason.to_string()),
        DecodingError::Parameter(reason) => DecodeError::corrupt(reason.to_string()),
    }
}
