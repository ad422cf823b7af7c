//! The queue on both database engines, through the public surface of the crate.

mod delivery;
mod failures;
mod support;
