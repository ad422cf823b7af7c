//! The outer form of a PNG file: signature, chunk lengths, header, end. It is checked over the whole file before any
//! sample is decoded, and nothing is allocated for it.
//!
//! Section numbers are those of the PNG specification, third edition (W3C).

use crate::{DecodeError, DecodeLimits};

/// Section 5.2.
const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A];

/// Length, type and checksum around a chunk's data (section 5.3).
const LENGTH_BYTES: usize = 4;
const TYPE_BYTES: usize = 4;
const CRC_BYTES: usize = 4;

/// The most that a chunk's length and a picture's side may be (sections 5.3 and 11.2.1).
const MAX_U31: u32 = 0x7FFF_FFFF;

/// Deflate writes at most 258 bytes for two bits (RFC 1951, section 3.2.5).
const MAX_EXPANSION: u128 = 1032;

/// Greatest size of a palette: 256 entries of three samples.
const MAX_PALETTE_BYTES: usize = 256 * 3;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) interlaced: bool,
    bits_per_pixel: u8,
}

/// Checks the outer form and returns the header, which is then within `limits` and fits the amount of image data.
pub(crate) fn inspect(bytes: &[u8], limits: &DecodeLimits) -> Result<Header, DecodeError> {
    DecodeError::bound("file bytes", bytes.len() as u64, limits.max_bytes)?;
    let body = match bytes.strip_prefix(&SIGNATURE) {
        Some(body) => body,
        None if !bytes.is_empty() && SIGNATURE.starts_with(bytes) => return Err(DecodeError::Truncated),
        None => return Err(DecodeError::NotPng),
    };
    let (first, mut rest) = next_chunk(body)?;
    if &first.kind != b"IHDR" {
        return Err(DecodeError::corrupt("its first chunk is not the header IHDR"));
    }
    let header = read_header(first.data, limits)?;
    let mut image_bytes: u64 = 0;
    loop {
        let (chunk, after) = next_chunk(rest)?;
        rest = after;
        match &chunk.kind {
            b"IHDR" => return Err(DecodeError::corrupt("it has more than one header IHDR")),
            b"acTL" | b"fcTL" | b"fdAT" => return Err(DecodeError::Animated),
            b"PLTE" => check_palette(chunk.data)?,
            b"IDAT" => image_bytes += chunk.data.len() as u64,
            b"IEND" => break,
            _ => {}
        }
    }
    if !rest.is_empty() {
        return Err(DecodeError::TrailingData { bytes: rest.len() as u64 });
    }
    check_amount(&header, image_bytes)?;
    Ok(header)
}

/// The palette's form (section 11.2.2): the decoder panics over any other.
fn check_palette(data: &[u8]) -> Result<(), DecodeError> {
    if data.is_empty() || data.len() > MAX_PALETTE_BYTES || !data.len().is_multiple_of(3) {
        return Err(DecodeError::corrupt("its palette PLTE is not 1 to 256 entries of 3 bytes"));
    }
    Ok(())
}

struct Chunk<'a> {
    kind: [u8; TYPE_BYTES],
    data: &'a [u8],
}

/// Splits off one chunk. Its checksum is left to the decoder, which reads the data anyway.
fn next_chunk(bytes: &[u8]) -> Result<(Chunk<'_>, &[u8]), DecodeError> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or(DecodeError::Truncated)?;
    let length = u32::from_be_bytes(*length);
    if length > MAX_U31 {
        return Err(DecodeError::corrupt("a chunk's length is above 2147483647"));
    }
    let (kind, rest) = rest.split_first_chunk::<TYPE_BYTES>().ok_or(DecodeError::Truncated)?;
    let (data, rest) = rest.split_at_checked(length as usize).ok_or(DecodeError::Truncated)?;
    let (_, rest) = rest.split_first_chunk::<CRC_BYTES>().ok_or(DecodeError::Truncated)?;
    Ok((Chunk { kind: *kind, data }, rest))
}

/// Reads the header's thirteen bytes (section 11.2.1).
fn read_header(data: &[u8], limits: &DecodeLimits) -> Result<Header, DecodeError> {
    let wrong = || DecodeError::corrupt("its header IHDR is not 13 bytes long");
    let (width, rest) = data.split_first_chunk::<4>().ok_or_else(wrong)?;
    let (height, rest) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
    let &[depth, colour, _compression, _filter, interlace] = rest else { return Err(wrong()) };
    let (width, height) = (u32::from_be_bytes(*width), u32::from_be_bytes(*height));
    if width == 0 || height == 0 || width > MAX_U31 || height > MAX_U31 {
        return Err(DecodeError::corrupt("its header gives a width or height outside 1 to 2147483647"));
    }
    DecodeError::bound("pixels in width", width.into(), limits.max_side.into())?;
    DecodeError::bound("pixels in height", height.into(), limits.max_side.into())?;
    DecodeError::bound("pixels", u64::from(width) * u64::from(height), limits.max_pixels)?;
    let samples = match (colour, depth) {
        (0, 1 | 2 | 4 | 8 | 16) | (3, 1 | 2 | 4 | 8) => 1,
        (2, 8 | 16) => 3,
        (4, 8 | 16) => 2,
        (6, 8 | 16) => 4,
        _ => {
            return Err(DecodeError::corrupt(
                "its header pairs a colour type with a bit depth that do not go together",
            ));
        }
    };
    Ok(Header { width, height, interlaced: interlace != 0, bits_per_pixel: samples * depth })
}

/// Refuses a header that promises more samples than the image data can expand to, before memory is taken for them.
fn check_amount(header: &Header, image_bytes: u64) -> Result<(), DecodeError> {
    if image_bytes == 0 {
        return Err(DecodeError::corrupt("it has no image data"));
    }
    let bits = u128::from(header.width) * u128::from(header.height) * u128::from(header.bits_per_pixel);
    if bits / 8 > u128::from(image_bytes) * MAX_EXPANSION {
        return Err(DecodeError::corrupt("its image data is too short for the size in its header"));
    }
    Ok(())
}
