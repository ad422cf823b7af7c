//! The baseline path from a registered capture to a signed catalog revision, and every refusal on it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod bindings;
mod candidates;
mod consumption;
mod decisions;
mod dump;
mod eligible;
mod faults;
mod lifecycle;
mod lines;
mod lists;
mod path;
mod pins;
mod promotion;
mod races;
mod requests;
mod reviews;
#[expect(dead_code, reason = "the tests of runs use the rest")]
#[path = "../runs/rows.rs"]
mod rows;
mod story;
#[expect(dead_code, reason = "other suites use the rest")]
#[path = "../support/mod.rs"]
mod support;
mod tree;
