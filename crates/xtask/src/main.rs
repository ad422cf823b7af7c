//! `cargo xtask`: the project's own commands, the same by hand and in continuous integration.
//!
//! One module per command. It depends on no other crate of ours, so that it builds in seconds and still works when they
//! do not.

#![expect(clippy::print_stdout, reason = "a command for people: its output is its purpose")]

mod bench;
mod codegen;
mod conformance;
mod demo;
mod fuzz;
mod packages;
mod step;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a command ends with: nothing, or a message for the person at the terminal.
type Outcome<T = ()> = Result<T, String>;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The project's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures Pinhole beside the limits of the machine.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Writes OpenAPI, JSON Schemas and the tool catalog to docs/contract.
    Codegen(codegen::Codegen),
    /// Tries clients of MCP that are not ours on the real server.
    Conformance(conformance::Conformance),
    /// Inputs that nobody thought of, by a program that knows the OpenAPI document alone.
    Fuzz(fuzz::Fuzz),
    /// Builds Pinhole and plays its whole story on this machine.
    Demo(demo::Demo),
    /// Everything that continuous integration checks: format, rules, lints and tests.
    Test(test::Test),
    /// The rules of the source tree: arrows between crates, libraries, headers, sizes, migrations.
    Tidy,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bench(bench) => bench.run(),
        Command::Codegen(codegen) => codegen.run(),
        Command::Conformance(conformance) => conformance.run(),
        Command::Fuzz(fuzz) => fuzz.run(),
        Command::Demo(demo) => demo.run(),
        Command::Test(test) => test.run(),
        Command::Tidy => tidy::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
