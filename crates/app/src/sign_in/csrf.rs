//! The synchroniser token of a session: what its own pages know and other sites cannot.
//!
//! It is derived from the session's secret, so that nothing is stored for it and it changes whenever the secret does.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What the token is derived for; another purpose would have another text.
const PURPOSE: &[u8] = b"pinhole csrf token v1";

/// The token of the session with this secret, in hexadecimal. It opens nothing by itself.
pub fn csrf_token(session_secret: &str) -> String {
    mac(session_secret).map_or_else(String::new, |mac| hex::encode(mac.finalize().into_bytes()))
}

/// Whether `given` is the token of the session with this secret; takes as long for any wrong one.
pub fn csrf_token_matches(session_secret: &str, given: &str) -> bool {
    let given = hex::decode(given).unwrap_or_default();
    mac(session_secret).is_some_and(|mac| mac.verify_slice(&given).is_ok())
}

fn mac(session_secret: &str) -> Option<Hmac<Sha256>> {
    // HMAC takes keys of any length, so that there always is one.
    let mut mac = Hmac::<Sha256>::new_from_slice(session_secret.as_bytes()).ok()?;
    mac.update(PURPOSE);
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_its_own() {
        let token = csrf_token("phn_a");
        assert_eq!(token.len(), 64);
        assert!(csrf_token_matches("phn_a", &token));
        assert!(!csrf_token_matches("phn_b", &token));
        for wrong in ["", "0", &token[..62], &token.replace(|_: char| true, "0"), &format!("{token}00")] {
            assert!(!csrf_token_matches("phn_a", wrong), "{wrong}");
        }
    }
}
