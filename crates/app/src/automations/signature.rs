//! Signatures of webhook deliveries, as Standard Webhooks write them: HMAC-SHA256 over the id, the time and the raw
//! bytes. Pure: it knows no row.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use pinhole_core::{Error, Result, Timestamp};
use sha2::Sha256;

/// How far the sender's clock may be from ours, in seconds.
const TOLERANCE_S: i64 = 300;
/// What a secret's written form begins with.
const PREFIX: &str = "whsec_";
/// Signatures in one delivery that are looked at; senders that change their secret send two.
const MAX_SIGNATURES: usize = 8;

/// A delivery as it arrived. Everything but the body is text of its headers and path.
#[derive(Clone, Copy)]
pub struct SignedDelivery<'a> {
    /// The webhook that it was sent to.
    pub webhook: &'a str,
    /// The sender's id of it.
    pub id: &'a str,
    /// The sender's time, in seconds since the Unix epoch.
    pub timestamp: &'a str,
    /// Signatures, each with its version, separated by spaces.
    pub signature: &'a str,
    /// The raw bytes.
    pub body: &'a [u8],
}

impl SignedDelivery<'_> {
    /// Whether one of the signatures was made with `key`.
    pub(super) fn is_signed_with(&self, key: &[u8]) -> Result<bool> {
        let mut code = Hmac::<Sha256>::new_from_slice(key).map_err(Error::internal)?;
        for part in [self.id.as_bytes(), b".", self.timestamp.as_bytes(), b".", self.body] {
            code.update(part);
        }
        let signatures = self.signature.split(' ').take(MAX_SIGNATURES).filter_map(|text| text.strip_prefix("v1,"));
        let mut decoded = signatures.filter_map(|text| BASE64_STANDARD.decode(text).ok());
        Ok(decoded.any(|signature| code.clone().verify_slice(&signature).is_ok()))
    }

    /// Whether the sender's time is that of `now`, within the tolerance.
    pub(super) fn is_recent(&self, now: Timestamp) -> bool {
        // As the sender wrote it, so that one time has one form.
        let digits = self.timestamp.len() <= 12 && self.timestamp.bytes().all(|b| b.is_ascii_digit());
        let sent = self.timestamp.parse::<i64>().ok().filter(|_| digits);
        sent.is_some_and(|sent| (now.as_micros() / 1_000_000).abs_diff(sent) <= TOLERANCE_S.unsigned_abs())
    }

    /// Whether the signed text has one reading only: with a dot in the id, what ends it could be moved.
    pub(super) fn is_unambiguous(&self) -> bool {
        !self.id.contains('.')
    }
}

/// The written form of a secret.
pub(super) fn written(key: &[u8]) -> String {
    format!("{PREFIX}{}", BASE64_STANDARD.encode(key))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::Index};

    use super::*;

    /// Made with `openssl dgst -sha256 -mac HMAC` over the delivery's text and with the key below.
    const SIGNED: &str = "v1,pRkdBeHPPYyLSu1Ed32eCqnmk7hm8W7KnAoDU2Ed5T0=";

    /// 32 bytes: 0 to 31.
    fn key() -> Vec<u8> {
        (0..32).collect()
    }

    const DELIVERY: SignedDelivery<'static> = SignedDelivery {
        webhook: "",
        id: "msg_1",
        timestamp: "1767225600",
        signature: "v1,SIGNATURE",
        body: b"{\"type\":\"deployed\"}",
    };

    #[test]
    fn the_signature_is_over_id_time_and_body() {
        let signed = SignedDelivery { signature: SIGNED, ..DELIVERY };
        assert!(signed.is_signed_with(&key()).unwrap());
        for wrong in [
            SignedDelivery { id: "msg_2", ..signed },
            SignedDelivery { timestamp: "1767225601", ..signed },
            SignedDelivery { body: b"{\"type\":\"deployed\"} ", ..signed },
            SignedDelivery { signature: &SIGNED[..40], ..signed },
            SignedDelivery { signature: &SIGNED.replace("v1,", "v2,"), ..signed },
            SignedDelivery { signature: "", ..signed },
        ] {
            assert!(!wrong.is_signed_with(&key()).unwrap(), "{}", wrong.signature);
        }
        assert!(!signed.is_signed_with(&[0; 32]).unwrap());
    }

    #[test]
    fn one_of_several_signatures_is_enough() {
        let several = format!("v1a,xyz v1,AAAA {SIGNED}");
        assert!(SignedDelivery { signature: &several, ..DELIVERY }.is_signed_with(&key()).unwrap());
        let many = format!("{}{SIGNED}", "v1,AAAA ".repeat(MAX_SIGNATURES));
        assert!(!SignedDelivery { signature: &many, ..DELIVERY }.is_signed_with(&key()).unwrap());
    }

    #[test]
    fn a_time_is_recent_within_five_minutes() {
        let now = Timestamp::from_micros(1_767_225_600_900_000);
        for (timestamp, recent) in [
            ("1767225600", true),
            ("1767225300", true),
            ("1767225900", true),
            ("1767225299", false),
            ("1767225901", false),
            ("", false),
            ("+1767225600", false),
            ("01767225600", true),
            ("1767225600.0", false),
            ("9223372036854775808", false),
        ] {
            assert_eq!(SignedDelivery { timestamp, ..DELIVERY }.is_recent(now), recent, "{timestamp}");
        }
        assert!(!SignedDelivery { id: "msg.1", ..DELIVERY }.is_unambiguous());
    }

    #[test]
    fn a_secret_is_written_as_senders_expect() {
        assert_eq!(written(&key()), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    }

    /// A delivery's headers and body, signed.
    fn signed(id: &str, timestamp: &str, body: &[u8], key: &[u8]) -> String {
        let mut code = Hmac::<Sha256>::new_from_slice(key).unwrap();
        code.update(&[format!("{id}.{timestamp}.").as_bytes(), body].concat());
        format!("v1,{}", BASE64_STANDARD.encode(code.finalize().into_bytes()))
    }

    proptest! {
        #[test]
        fn what_was_signed_is_believed_and_nothing_else(
            id in "[A-Za-z0-9_-]{0,12}", timestamp in "[0-9]{0,12}", body in vec(any::<u8>(), 0..40), key in vec(any::<u8>(), 1..70),
            place in any::<Index>(), bit in 0..8_u8
        ) {
            let signature = signed(&id, &timestamp, &body, &key);
            let given = SignedDelivery { webhook: "", id: &id, timestamp: &timestamp, signature: &signature, body: &body };
            prop_assert!(given.is_signed_with(&key).unwrap());
            // One bit of what was signed, of the key or of the signature.
            let mut other = [body.as_slice(), &[0]].concat();
            let changed = place.index(other.len());
            other[changed] ^= 1 << bit;
            let altered = SignedDelivery { body: &other, ..given };
            prop_assert!(!altered.is_signed_with(&key).unwrap());
            let mut other = key.clone();
            other[place.index(key.len())] ^= 1 << bit;
            prop_assert!(!given.is_signed_with(&other).unwrap());
            let mut code = BASE64_STANDARD.decode(&signature[3..]).unwrap();
            code[place.index(32)] ^= 1 << bit;
            let other = format!("v1,{}", BASE64_STANDARD.encode(code));
            let altered = SignedDelivery { signature: &other, ..given };
            prop_assert!(!altered.is_signed_with(&key).unwrap());
        }

        #[test]
        fn no_header_is_too_odd(
            id in ".{0,20}", timestamp in ".{0,20}", signature in "(v1a?,[A-Za-z0-9+/=]{0,50} ?){0,12}|.{0,60}"
        ) {
            let odd = SignedDelivery { webhook: "", id: &id, timestamp: &timestamp, signature: &signature, body: b"" };
            prop_assert!(!odd.is_signed_with(&key()).unwrap());
            prop_assert_eq!(odd.is_unambiguous(), !id.contains('.'));
            let _asked = (odd.is_recent(Timestamp::from_micros(i64::MIN)), odd.is_recent(Timestamp::from_micros(i64::MAX)));
        }

        #[test]
        fn a_time_is_recent_by_the_difference(now in 0..4_102_444_800_i64, apart in -400..400_i64) {
            let sent = (now + apart).to_string();
            let recent = SignedDelivery { timestamp: &sent, ..DELIVERY }.is_recent(Timestamp::from_micros(now * 1_000_000));
            prop_assert_eq!(recent, apart.abs() <= TOLERANCE_S && now + apart >= 0, "{} at {}", sent, now);
        }
    }
}
