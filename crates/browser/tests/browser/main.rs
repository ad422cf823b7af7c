//! The browser crate against real Chromium and pages that a test writes.

mod actions;
mod captures;
mod containment;
mod faults;
mod support;
