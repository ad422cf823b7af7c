//! The command line. Each command is a file; the exit statuses of all of them stand in [`exit::Exit`].

mod admin;
mod audit;
mod contract;
mod demo;
mod exit;
mod file;
mod key;
mod log;
mod node;
mod serve;
mod sign_in;
mod try_page;
mod verify;
mod worker;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use pinhole_core::Result;
use pinhole_runtime::{Config, LogFormat, init_telemetry};

use crate::exit::Exit;

/// Captures what a web application looks like, and can prove it.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server with everything it needs on one machine.
    Serve(serve::Serve),
    /// Capture one page or scenario without a server, and compare it with the last time.
    #[command(after_help = exit::TABLE)]
    Try(try_page::Try),
    /// Play the whole story on a demo shop and leave the server running.
    Demo(demo::Demo),
    /// Check receipts, approvals, published catalogs and exported audits offline.
    #[command(after_help = exit::TABLE)]
    Verify(verify::Verify),
    /// Make principals, grants, tokens and decision tickets, on the server's own machine.
    #[command(subcommand)]
    Token(admin::Token),
    /// Hand the audit to somebody outside, on the server's own machine.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Write OpenAPI, JSON Schemas and the tool catalog of this version as files.
    Contract(contract::Contract),
    /// Let people sign in: one-time links and identities, on the server's own machine.
    #[command(subcommand)]
    Admin(sign_in::Admin),
    /// Keep the keys of an installation, on the server's own machine.
    #[command(subcommand)]
    Key(key::Key),
    /// Keep the transparency log, on the server's own machine.
    #[command(subcommand)]
    Log(log::Log),
    /// Run a worker process; `serve` starts these itself.
    Worker(worker::Worker),
    /// Run one Git step for the publication worker, which starts this itself.
    #[command(hide = true)]
    GitHelper,
}

/// Where an installation is.
#[derive(clap::Args)]
struct Location {
    /// The configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of database, objects and keys.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Another database than the data directory's own. It may hold a password: prefer PINHOLE_DATABASE_URL.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

impl Location {
    fn load(&self) -> Result<Config> {
        let mut config = Config::load(self.config.as_deref())?;
        if let Some(directory) = &self.data_dir {
            config.data_dir.clone_from(directory);
        }
        if let Some(url) = &self.database_url {
            config.database_url = Some(url.clone());
        }
        Ok(config)
    }
}

fn main() -> ExitCode {
    // Fails only when it was done before. TLS of HTTP clients needs it.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let cli = Cli::parse();
    let service = matches!(cli.command, Command::Serve(_) | Command::Worker(_));
    let level = if service { "info,apalis_core=warn,rmcp=warn" } else { "warn" };
    init_telemetry(if service { LogFormat::Json } else { LogFormat::Text }, level);
    if matches!(cli.command, Command::GitHelper) {
        return pinhole_worker_publication::git_helper();
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return exit::failed(&pinhole_core::Error::internal(error)),
    };
    match runtime.block_on(run(cli.command)) {
        Ok(exit) => exit.into(),
        Err(error) => exit::failed(&error),
    }
}

async fn run(command: Command) -> Result<Exit> {
    match command {
        Command::Serve(serve) => serve.run().await,
        Command::Try(page) => page.run().await,
        Command::Demo(demo) => demo.run().await,
        Command::Verify(verify) => verify.run(),
        Command::Token(token) => token.run().await,
        Command::Audit(audit) => audit.run().await,
        Command::Contract(contract) => contract.run(),
        Command::Admin(admin) => admin.run().await,
        Command::Key(key) => key.run().await,
        Command::Log(log) => log.run().await,
        Command::Worker(worker) => worker.run().await,
        Command::GitHelper => Ok(Exit::Success),
    }
}
