//! Credentials, groups, roles and human authority: who gets through to what, and from which moment on no more.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod administration;
mod cases;
mod groups;
mod human;
#[expect(dead_code, reason = "the tests of the path itself use the rest")]
#[path = "../baselines/path.rs"]
mod path;
mod people;
mod roles;
mod sessions;
#[expect(dead_code, reason = "other suites use the rest")]
#[path = "../support/mod.rs"]
mod support;
mod tokens;
