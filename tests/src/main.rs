//! End-to-end tests through the public surfaces: the real program, a real browser, real databases.
//!
//! One module for each area, on top of `harness`. Nothing here calls a crate of the product; what a test wants to know it
//! asks over REST, MCP, the command line, the files of the data directory or `/proc`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

mod agent;
mod baselines;
mod deployment;
mod faults;
mod harness;
mod pages;
mod pictures;
mod rest;
mod sign_in;
mod story;
mod try_pages;
mod webhooks;
