//! The master key and what it seals: secrets of environments, webhooks and Git remotes, at rest in the database.
//!
//! A sealed text is bound to its owner, name and version and opens nowhere else. The key itself is never in the
//! database. It must not know of rows or of whoever asks.

mod key;
mod keys;

pub use keys::MasterKeys;
