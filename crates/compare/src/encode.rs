//! Writing pictures as PNG files.

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};

use crate::Picture;

/// A picture could not be written as a PNG file.
#[derive(Debug, thiserror::Error)]
#[error("a picture of {width} by {height} pixels could not be written as PNG")]
pub struct EncodeError {
    width: u32,
    height: u32,
    #[source]
    source: EncodingError,
}

/// Writes a picture as a PNG file, RGBA with eight bits for each sample, not interlaced and without metadata.
/// Decoding it gives the same picture. The bytes may differ between versions of this library, so their digest
/// identifies a file and not a picture.
///
/// # Errors
///
/// When a side is above 2,147,483,647 pixels, which PNG does not allow.
pub fn encode_png(picture: &Picture) -> Result<Vec<u8>, EncodeError> {
    let (width, height) = (picture.width(), picture.height());
    write(picture).map_err(|source| EncodeError { width, height, source })
}

fn write(picture: &Picture) -> Result<Vec<u8>, EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, picture.width(), picture.height());
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(picture.pixels())?;
    writer.finish()?;
    Ok(bytes)
}
