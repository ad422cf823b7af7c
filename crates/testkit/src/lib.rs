//! What tests stand on: fixture sites, private databases, a clock and ids that the test controls, and what a capture
//! worker says.
//!
//! Tests only: everything here panics when the machine cannot give what was asked, since a test has no better answer.
//! It depends on `pinhole-core` alone, so that every other crate may use it. It must not know the schema: a
//! [`Database`] is an address of an empty database and nothing more.

#![expect(clippy::panic, reason = "a test that cannot be set up has to fail, and loudly")]

mod content_type;
mod database;
mod fakes;
mod keys;
mod postgres;
mod site;
mod wait;
pub mod worker;

pub use content_type::content_type;
pub use database::{Database, Engine};
pub use fakes::{FakeClock, FakeWitness, SeededIds};
pub use keys::{SshKey, certificate};
pub use site::{Behaviour, Site};
pub use wait::{free_port, wait_for, wait_until};
