//! Tests against real bare repositories: by path, and through `git daemon` for what servers answer.

mod publication;
mod server;
mod site;
