//! Tests against real bare repositories: by path, and through `git daemon` for what servers answer.

mod clone;
mod publication;
mod server;
mod site;
