//! The contract, held for every operation of the table by tests that walk it: who may call it, that both transports say
//! the same, that what is hidden looks missing, that grants are read live, and what repeats do.
//!
//! Each operation has one case, which names a fresh valid target and input; a test fails for an operation without one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod callers;
mod cases;
mod coverage;
mod doors;
mod ground;
mod hidden;
mod live;
mod parity;
#[expect(dead_code, reason = "the application's own tests use the rest")]
#[path = "../../../app/tests/baselines/path.rs"]
mod path;
mod repeats;
#[expect(dead_code, reason = "the application's own tests use the rest")]
#[path = "../../../app/tests/runs/rows.rs"]
mod rows;
mod sessions;
mod statements;
#[expect(dead_code, reason = "the application's own tests use the rest")]
#[path = "../../../app/tests/support/mod.rs"]
mod support;
