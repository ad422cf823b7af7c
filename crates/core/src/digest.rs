//! Digests in their written form: `sha256:…` for everything signed or published, `blake3:…` for storage keys, tiles
//! and scenario revisions.

use std::{fmt, str::FromStr};

use sha2::Digest as _;

use crate::{Error, text_form};

macro_rules! digests {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The algorithm's name as written before the colon.
            pub const ALGORITHM: &'static str = $prefix;

            /// Wraps raw digest bytes.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The raw digest bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// 64 lower-case hexadecimal digits, without the algorithm.
            pub fn hex(&self) -> String {
                hex::encode(self.0)
            }

            /// Reads 64 lower-case hexadecimal digits, without the algorithm.
            pub fn from_hex(text: &str) -> Result<Self, Error> {
                let wrong = || Error::invalid("", "expected 64 lower-case hexadecimal digits");
                if text.bytes().any(|b| b.is_ascii_uppercase()) {
                    return Err(wrong());
                }
                let mut bytes = [0; 32];
                hex::decode_to_slice(text, &mut bytes).map_err(|_| wrong())?;
                Ok(Self(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}:{}", Self::ALGORITHM, self.hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let hex = text
                    .strip_prefix(concat!($prefix, ":"))
                    .ok_or_else(|| Error::invalid("", concat!("expected ", $prefix, ": and 64 hexadecimal digits")))?;
                Self::from_hex(hex)
            }
        }

        text_form!($name, { "type": "string", "pattern": concat!("^", $prefix, ":[0-9a-f]{64}$") });
    )*};
}

digests! {
    /// SHA-256, written `sha256:…`.
    Sha256Digest = "sha256";
    /// BLAKE3, written `blake3:…`.
    Blake3Digest = "blake3";
}

impl Sha256Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest of `parts` one after another, without joining them in memory.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = sha2::Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

impl Blake3Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_form_round_trips_and_names_its_algorithm() {
        let digest = Sha256Digest::of(b"");
        assert_eq!(digest.to_string(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(digest.to_string().parse::<Sha256Digest>().unwrap(), digest);
        assert!(digest.to_string().parse::<Blake3Digest>().is_err());
        assert!(digest.to_string().to_uppercase().parse::<Sha256Digest>().is_err());
    }
}
