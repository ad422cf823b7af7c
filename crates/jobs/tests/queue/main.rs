//! The queue on both database engines, through the public surface of the crate.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has to fail")]

mod delivery;
mod failures;
mod support;
