//! The transparency log: what becomes a leaf and when, what its checkpoints say, and what makes it refuse.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod ledger;
mod outside;
#[expect(dead_code, reason = "the tests of the path itself use the rest")]
#[path = "../baselines/path.rs"]
mod path;
mod proofs;
#[expect(dead_code, reason = "the tests of runs use the rest")]
#[path = "../runs/rows.rs"]
mod rows;
mod sequencing;
#[expect(dead_code, reason = "the tests of baselines use the rest")]
#[path = "../support/mod.rs"]
mod support;
