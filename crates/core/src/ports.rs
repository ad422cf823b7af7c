//! What the domain needs from outside: time, ids and signatures, passed in so that tests can choose them.

use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::{Result, Timestamp};

/// The time source. Inside a transaction use `tx.now()` instead.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The source of ids and secrets.
pub trait Ids: Send + Sync {
    /// A fresh UUID, time-ordered where the source can.
    fn uuid(&self) -> Uuid;
    /// Fills `bytes` from a cryptographic random source.
    fn fill(&self, bytes: &mut [u8]) -> Result<()>;
}

/// UUIDv7 and the operating system's random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        getrandom::fill(bytes).map_err(crate::Error::internal)
    }
}

/// Signs with a key that it holds; the key itself never leaves it.
pub trait Signer: Send + Sync {
    /// The key's id: its RFC 7638 thumbprint.
    fn key_id(&self) -> &str;
    /// The public half: the 32 bytes of RFC 8032.
    fn public_key(&self) -> [u8; 32];
    /// The Ed25519 signature over `message`.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>>;
}

/// Seals secrets for storage under a master key that it holds; the key itself never leaves it.
pub trait Sealer: Send + Sync {
    /// The sealed form of `secret`. It opens only with the same `context`: what it belongs to, such as owner, name and
    /// version.
    fn seal(&self, secret: &[u8], context: &str) -> Result<String>;
    /// How every text begins that is sealed under the present key; what begins otherwise is due to be sealed anew. It
    /// holds letters, digits and dots only.
    fn prefix(&self) -> Result<String>;
    /// The secret; an internal error when it was sealed under another key or for another context.
    fn open(&self, sealed: &str, context: &str) -> Result<Vec<u8>>;
}

/// Remembers, outside of the database, the newest checkpoint of the transparency log that was signed. By it a server sees
/// that its database is older than what it has said before.
pub trait Witness: Send + Sync {
    /// The newest checkpoint, a signed note; `None` when none was ever remembered. May block.
    fn newest(&self) -> Result<Option<String>>;
    /// Remembers `checkpoint` durably, unless it already knows the same or one of the same log over more than `size`
    /// leaves. May block.
    ///
    /// # Errors
    /// `conflict` with reason `log_forked` when it knows another one of the same log over `size` leaves.
    fn remember(&self, checkpoint: &str, size: u64) -> Result<()>;
}
