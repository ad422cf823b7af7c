//! Secrets that Pinhole makes: of tokens, sessions, tickets, links and webhooks. Each is shown once; only its hash is stored,
//! or the secret itself sealed.

use pinhole_core::{Result, Sha256Digest};

use crate::App;

impl App {
    /// A fresh secret of the kind that `prefix` names.
    pub(crate) fn new_secret(&self, prefix: &str) -> Result<String> {
        Ok(with_checksum(prefix, &self.secret_bytes()?))
    }

    /// 256 random bits.
    pub(crate) fn secret_bytes(&self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        self.ids().fill(&mut bytes)?;
        Ok(bytes)
    }
}

/// `prefix_`, the secret in hexadecimal, and eight digits by which scanners and people tell a mistyped one.
pub(crate) fn with_checksum(prefix: &str, secret: &[u8; 32]) -> String {
    let body = format!("{prefix}_{}", hex::encode(secret));
    let checksum = Sha256Digest::of(body.as_bytes()).hex();
    format!("{body}{}", &checksum[..8])
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::Index};

    use super::*;

    /// As a scanner looks at it: without knowing any secret.
    fn is_whole(text: &str) -> bool {
        let (body, checksum) = text.split_at(text.len() - 8);
        Sha256Digest::of(body.as_bytes()).hex().starts_with(checksum)
    }

    proptest! {
        #[test]
        fn a_mistyped_secret_is_told(secret in any::<[u8; 32]>(), place in any::<Index>(), other in "[0-9a-f]") {
            let written = with_checksum("phu", &secret);
            prop_assert!(is_whole(&written) && written.len() == 4 + 64 + 8);
            let place = 4 + place.index(72);
            let mistyped = format!("{}{other}{}", &written[..place], &written[place + 1..]);
            prop_assert_eq!(is_whole(&mistyped), mistyped == written);
        }
    }
}
