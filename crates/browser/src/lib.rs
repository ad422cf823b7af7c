//! Headless Chromium for capture workers: launch, contexts, actions, settling and capture.
//!
//! A [`Browser`] is launched under an unprivileged user with its sandbox on and runs one cell after another with
//! [`run_cell`], each in a context of its own. This is the only crate of the product that names `chromiumoxide`. It
//! must not know of runs, leases, storage or baselines: it is given a scenario and a profile, and returns bytes and what
//! it saw.

mod abandoned;
mod act;
mod browser;
mod capture;
mod cell;
mod check;
mod client;
mod console;
mod error;
mod extract;
mod facts;
mod hosts;
mod keys;
mod navigate;
mod picture;
mod popups;
mod process;
mod requests;
mod settle;
mod tab;
mod watch;

pub use abandoned::clear_abandoned;
pub use browser::{Browser, BrowserConfig, DEFAULT_UID};
pub use capture::CapturedCheckpoint;
pub use cell::{CellOutcome, CellPlan, run_cell};
pub use error::BrowserError;
pub use extract::ExtractedValues;
pub use facts::BrowserFacts;
pub use hosts::HostPort;
