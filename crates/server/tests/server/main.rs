//! The doors over a real application on a database of its own, request by request, without a socket.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

mod content;
mod csrf;
mod decisions;
mod doors;
mod download;
mod hooks;
mod hostile;
mod log;
mod mcp;
mod pages;
mod parity;
mod remotes;
mod rest;
mod runs;
mod serve;
mod sign_in;
mod world;
