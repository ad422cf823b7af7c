//! The browser crate against real Chromium and pages that a test writes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod actions;
mod captures;
mod containment;
mod extracts;
mod faults;
mod hostile;
mod support;
