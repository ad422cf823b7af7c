//! What starts runs without a person: who may keep it, when it starts what, and what its ledger says.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod bench;
mod ci;
mod firing;
mod keeping;
#[expect(dead_code, reason = "the tests of runs use the rest")]
#[path = "../runs/rows.rs"]
mod rows;
mod sealing;
#[expect(dead_code, reason = "the tests of baselines use the rest")]
#[path = "../support/mod.rs"]
mod support;
mod webhooks;
