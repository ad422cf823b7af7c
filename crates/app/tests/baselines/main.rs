//! The baseline path from a registered capture to a signed catalog revision, and every refusal on it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod candidates;
mod consumption;
mod decisions;
mod lifecycle;
mod lists;
mod path;
mod requests;
mod reviews;
mod story;
#[path = "../support/mod.rs"]
mod support;
