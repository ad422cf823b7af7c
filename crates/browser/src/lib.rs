//! Headless Chromium: launch, contexts, actions, settling and capture.
mod browser; mod client; mod console; mod error; mod facts; mod hosts; mod popups; mod process; mod tab; mod watch;
pub use browser::{Browser, BrowserConfig, DEFAULT_UID};
pub use error::BrowserError;
pub use facts::{BrowserFacts, STABILISER};
pub use hosts::HostPort;
