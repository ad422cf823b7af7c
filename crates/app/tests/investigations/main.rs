//! Cases about failures of runs: one for each way to fail, worked on by whoever pulls them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod cases;
mod opening;
#[expect(dead_code, reason = "the tests of runs use the rest")]
#[path = "../runs/rows.rs"]
mod rows;
#[expect(dead_code, reason = "the tests of baselines use the rest")]
#[path = "../support/mod.rs"]
mod support;
