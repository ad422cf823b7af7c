//! What the areas stand on: a server of their own, clients of it, a prepared project, and a look at processes.
//!
//! It must not know what any test is about. Everything it waits for has a deadline, and a server that goes away takes
//! everything with it, or its test fails.

mod client;
mod command;
mod node;
mod oidc;
mod person;
mod processes;
mod project;
mod python;
mod sender;
mod server;

pub(crate) use client::{Answer, Client, Era};
pub(crate) use command::{Finished, pinhole};
pub(crate) use oidc::{OIDC_SECRET, OidcProvider};
pub(crate) use person::Person;
pub(crate) use processes::{children, command_line, descendants, environment, has_ended, namespace, status, uid};
pub(crate) use project::Project;
pub(crate) use python::python;
pub(crate) use sender::send_webhook;
pub(crate) use server::{PASSWORD, Server, Setup};
