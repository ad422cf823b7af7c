//! The doors over a real application on a database of its own, request by request, without a socket.

mod content;
mod doors;
mod mcp;
mod pages;
mod parity;
mod rest;
mod runs;
mod serve;
mod world;
