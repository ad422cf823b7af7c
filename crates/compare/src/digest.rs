//! The digest that stands for a picture's pixels, whatever file they came from.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// First bytes of what is hashed, so that the digest is never that of other bytes by accident.
const DOMAIN: &[u8] = b"pinhole pixels 1\0";

/// BLAKE3 over the pixels of a picture, written `blake3:` and 64 lower-case hexadecimal digits.
///
/// What is hashed, in this order: the 17 bytes `pinhole pixels 1` and a zero byte; the width and then the height as
/// 32-bit big-endian numbers; every sample as [`crate::Picture::pixels`] holds it. Two pictures with one digest
/// compare as equal. The reverse does not hold: pictures that differ only in the colour of fully transparent pixels
/// compare as equal and have different digests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PixelDigest([u8; 32]);

/// The text is not a pixel digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected blake3: and 64 lower-case hexadecimal digits")]
pub struct ParseDigestError;

impl PixelDigest {
    pub(crate) fn of(width: u32, height: u32, pixels: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(DOMAIN);
        hasher.update(&width.to_be_bytes());
        hasher.update(&height.to_be_bytes());
        hasher.update(pixels);
        Self(*hasher.finalize().as_bytes())
    }

    /// The raw digest bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for PixelDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}", hex::encode(self.0))
    }
}

impl fmt::Debug for PixelDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PixelDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let digits = text.strip_prefix("blake3:").ok_or(ParseDigestError)?;
        if digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(ParseDigestError);
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| ParseDigestError)?;
        Ok(Self(bytes))
    }
}

impl Serialize for PixelDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PixelDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_part_of_the_digest() {
        assert_ne!(PixelDigest::of(2, 1, &[7; 8]), PixelDigest::of(1, 2, &[7; 8]));
        assert_ne!(PixelDigest::of(2, 1, &[7; 8]), PixelDigest::of(2, 1, &[7, 7, 7, 7, 7, 7, 7, 8]));
    }

    #[test]
    fn the_recipe_in_the_documentation_is_the_one_in_use() {
        let mut bytes = b"pinhole pixels 1\0".to_vec();
        bytes.extend([0, 0, 0, 2, 0, 0, 0, 1]);
        bytes.extend([7; 8]);
        assert_eq!(PixelDigest::of(2, 1, &[7; 8]).as_bytes(), blake3::hash(&bytes).as_bytes());
    }

    #[test]
    fn written_form_round_trips() {
        let digest = PixelDigest::of(1, 1, &[1, 2, 3, 4]);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string().to_uppercase().parse::<PixelDigest>(), Err(ParseDigestError));
        assert_eq!("blake3:00".parse::<PixelDigest>(), Err(ParseDigestError));
    }
}
