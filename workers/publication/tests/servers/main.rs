//! The Git child against real servers: smart HTTP behind Apache with TLS, and SSH with OpenSSH.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

mod https;
mod shallow;
mod site;
mod ssh;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;
