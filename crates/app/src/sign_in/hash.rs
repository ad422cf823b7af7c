//! Hashing passwords: slow on purpose, off the async threads, and a bounded number at a time.

use std::{sync::Arc, time::Duration};

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version, password_hash::phc::PasswordHash,
};
use pinhole_core::{Error, Result};
use tokio::sync::Semaphore;

/// Memory in KiB, passes and lanes: the second profile of the OWASP recommendation for Argon2id. One hash takes some
/// 20 ms and 19 MiB.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Passwords hashed at a time; bounds memory and processor time that strangers can cause.
const AT_A_TIME: usize = 2;
/// How long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);
/// Characters of a new password, at least.
const MIN_CHARACTERS: usize = 12;
/// Bytes of a password, at most.
const MAX_BYTES: usize = 1000;

/// Takes turns at hashing. Clones share them.
#[derive(Clone)]
pub(crate) struct Hashing(Arc<Semaphore>);

impl Hashing {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }

    /// The hash of a new password, as a PHC string.
    ///
    /// # Errors
    /// `provider_unavailable` when there are too many others.
    pub(super) async fn hash(&self, password: &str, salt: [u8; 16]) -> Result<String> {
        let password = password.to_owned();
        self.turn(move || {
            let hash: PasswordHash = argon2()?.hash_password_with_salt(password.as_bytes(), &salt).map_err(failed)?;
            Ok(hash.to_string())
        })
        .await
    }

    /// Whether `password` is the one of `hash`. Without a hash the answer is no and takes as long.
    ///
    /// # Errors
    /// As [`Hashing::hash`]; `internal` for a text that is no hash.
    pub(super) async fn verify(&self, password: &str, hash: Option<String>) -> Result<bool> {
        if password.len() > MAX_BYTES {
            return Ok(false);
        }
        let Some(hash) = hash else {
            self.hash(password, [0; 16]).await?;
            return Ok(false);
        };
        let password = password.to_owned();
        self.turn(move || {
            let hash = PasswordHash::new(&hash).map_err(failed)?;
            Ok(argon2()?.verify_password(password.as_bytes(), &hash).is_ok())
        })
        .await
    }

    async fn turn<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let busy = || Error::unavailable("sign_in_busy", "too many people are signing in: try again");
        let turn = Arc::clone(&self.0).acquire_owned();
        let turn = tokio::time::timeout(PATIENCE, turn).await.map_err(|_| busy())?.map_err(Error::internal)?;
        let worked = tokio::task::spawn_blocking(move || {
            // Given back when the work is done, also when the caller has gone.
            let _turn = turn;
            work()
        });
        worked.await.map_err(Error::internal)?
    }
}

/// Refuses a new password that is too short or too long.
///
/// # Errors
/// `invalid_arguments` that names the field and says nothing of the password.
pub(super) fn check_new(field: &str, password: &str) -> Result<()> {
    if password.chars().count() < MIN_CHARACTERS || password.len() > MAX_BYTES {
        return Err(Error::invalid(field, "expected at least 12 characters and at most 1000 bytes"));
    }
    Ok(())
}

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|e| Error::internal(e.to_string()))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_the_one_that_was_hashed() {
        let hashing = Hashing::new();
        let hash = hashing.hash("correct horse battery", [7; 16]).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(hashing.verify("correct horse battery", Some(hash.clone())).await.unwrap());
        assert!(!hashing.verify("correct horse batterx", Some(hash.clone())).await.unwrap());
        assert!(!hashing.verify(&"x".repeat(MAX_BYTES + 1), Some(hash)).await.unwrap());
        assert!(!hashing.verify("correct horse battery", None).await.unwrap());
        assert!(hashing.verify("x", Some("no hash".into())).await.is_err());
    }

    #[test]
    fn new_passwords_have_a_length() {
        for good in ["twelve chars", "éééééééééééé", &"x".repeat(MAX_BYTES)] {
            check_new("password", good).unwrap();
        }
        for bad in ["", "eleven char", &"x".repeat(MAX_BYTES + 1)] {
            let error = check_new("password", bad).unwrap_err();
            assert!(bad.is_empty() || !error.message().contains(bad));
        }
    }
}
