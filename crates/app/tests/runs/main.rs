//! Runs from admission to the signed result, with workers that are honest, lost or lying, and without a browser.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod admission;
mod attempts;
mod cancel;
mod cursors;
mod extracts;
mod idempotency;
mod intake;
mod leases;
#[expect(dead_code, reason = "the tests of the path itself use the rest")]
#[path = "../baselines/path.rs"]
mod path;
mod pictures;
mod refusals;
mod registrar;
mod rows;
mod statements;
#[expect(dead_code, reason = "other suites use the rest")]
#[path = "../support/mod.rs"]
mod support;
mod verdicts;
mod worker;
