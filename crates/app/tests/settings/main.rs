//! Settings: environments with their secrets and host patterns, baseline policies, remotes, readiness.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod environments;
mod host_patterns;
#[expect(dead_code, reason = "the tests of the path itself use the rest")]
#[path = "../baselines/path.rs"]
mod path;
mod policy;
mod readiness;
mod remote_credentials;
mod remote_publications;
mod remotes;
#[expect(dead_code, reason = "the tests of runs use the rest")]
#[path = "../runs/rows.rs"]
mod rows;
mod secrets;
#[expect(dead_code, reason = "the tests of baselines use the rest")]
#[path = "../support/mod.rs"]
mod support;
mod world;
