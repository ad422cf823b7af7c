//! `cargo xtask bench admission`: how fast runs are admitted over HTTP, beside the same rows written by the driver alone
//! and beside an answer that needs no database; and how fast artifacts are sent, beside nginx. In turn, round by round.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use serde_json::json;

use super::{
    api::Api,
    clear, download,
    load::{Load, drive},
    report::median,
    server::{Server, free_port},
    setup::{self, ENVIRONMENT, PROJECT},
};
use crate::{Outcome, packages, step, workspace};

/// Clients of the server, and requests that are under way at the same time.
const CONNECTIONS: usize = 32;
/// The page whose scenario is run; nobody captures it.
const PAGE: &str = "index";

#[derive(Args)]
pub(crate) struct Admission {
    /// Admissions in a round.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(32..=100_000))]
    runs: u32,
    /// Downloads in a round.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(8..=10_000))]
    downloads: u32,
    /// Rounds of everything.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// The nginx program.
    #[arg(long, value_name = "FILE", default_value = "/usr/sbin/nginx")]
    nginx: PathBuf,
    /// Measure the unoptimised build.
    #[arg(long)]
    debug: bool,
    /// Measure this program instead of building one.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Install missing system packages (as root).
    #[arg(long)]
    install: bool,
}

/// What is measured, and what writes the rows alone.
struct Programs {
    pinhole: PathBuf,
    rows: PathBuf,
}

/// One round of admissions.
struct Round {
    /// The whole load.
    admissions: Load,
    /// An answer without a database.
    alive: Load,
    /// The rows alone, in admissions a second.
    limit: f64,
}

impl Admission {
    pub(crate) fn run(self) -> Outcome {
        let needs = if self.nginx.is_file() { packages::ADMISSION } else { packages::NGINX };
        packages::ensure(&needs.iter().collect::<Vec<_>>(), self.install)?;
        let target = workspace::metadata()?.target_directory;
        let Programs { pinhole, rows } = &self.build(&target)?;
        let work = target.join("bench/admission");
        clear(&work)?;
        let server = Server::start(pinhole, &work, 0)?;
        let token = setup::project(pinhole, &work, &server, free_port()?)?;
        setup::page(&Api::new(server.base(), &token), PAGE)?;
        drop(server);
        let (mut rounds, mut downloads) = (Vec::new(), Vec::new());
        for number in 0..self.rounds {
            let title = format!("round {} of {}: admissions", number + 1, self.rounds);
            rounds.push(step::step(&title, || self.round(pinhole, rows, &work, &token, number))?);
        }
        let picture = download::prepare(&work)?;
        for number in 0..self.rounds {
            let title = format!("round {} of {}: downloads", number + 1, self.rounds);
            let count = self.downloads as usize;
            let round = || download::round(pinhole, &self.nginx, &work, &token, &picture, count);
            downloads.push(step::step(&title, round)?);
        }
        println!("\nLoad average: {}\n", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
        println!("{}", report(&rounds));
        println!("\n{}", download::report(&downloads));
        Ok(())
    }

    /// Builds both programs in one go, so that they share one set of features.
    fn build(&self, target: &Path) -> Outcome<Programs> {
        let mut build = workspace::cargo();
        build.args(["build", "--package", "pinhole-jobs", "--example", "admission_rows"]);
        if self.program.is_none() {
            build.args(["--package", "pinhole", "--bin", "pinhole"]);
        }
        step::run("build", build.args((!self.debug).then_some("--release")))?;
        let built = target.join(if self.debug { "debug" } else { "release" });
        let pinhole = match &self.program {
            Some(program) => std::path::absolute(program).map_err(|e| format!("{}: {e}", program.display()))?,
            None => built.join("pinhole"),
        };
        Ok(Programs { pinhole, rows: built.join("examples/admission_rows") })
    }

    fn round(&self, pinhole: &Path, rows: &Path, work: &Path, token: &str, number: u32) -> Outcome<Round> {
        let server = Server::start(pinhole, work, 0)?;
        let (address, count) = (server.address()?, self.runs as usize);
        let alive = drive(address, CONNECTIONS, count, 200, &|_| get(address, "/livez", ""))?;
        let admissions = drive(address, CONNECTIONS, count, 201, &|run| admission(address, token, number, run))?;
        drop(server);
        let mut limit = Command::new(rows);
        let text = step::output(limit.arg(work.join("data/pinhole.db")).arg(self.runs.to_string()))?;
        let limit = text.trim().parse().map_err(|_| format!("not a figure: {text}"))?;
        Ok(Round { admissions, alive, limit })
    }
}

/// A request without a body.
pub(super) fn get(address: SocketAddr, path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n")
}

fn admission(address: SocketAddr, token: &str, round: u32, run: usize) -> String {
    let body = json!({
        "project": PROJECT, "scenario": PAGE, "revision": { "head": true },
        "environment": ENVIRONMENT, "environment_revision": { "latest": true }, "baseline": { "none": true },
        "idempotency_key": format!("admission-{round:04}-{run:012}"),
    })
    .to_string();
    format!(
        "POST /api/v1/runs HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len(),
    )
}

/// The medians of the rounds as a table, ratios taken round by round.
fn report(rounds: &[Round]) -> String {
    let of = |figure: fn(&Round) -> f64| median(&rounds.iter().map(figure).collect::<Vec<_>>()).unwrap_or_default();
    format!(
        "| admissions/s | bare rows/s | x bare | p50 ms | p99 ms | p99 / p50 | GET /livez/s |\n\
         |--:|--:|--:|--:|--:|--:|--:|\n| {:.0} | {:.0} | {:.2} | {:.1} | {:.1} | {:.1} | {:.0} |",
        of(|round| round.admissions.rate),
        of(|round| round.limit),
        of(|round| round.admissions.rate / round.limit),
        of(|round| round.admissions.quantile(0.5)),
        of(|round| round.admissions.quantile(0.99)),
        of(|round| round.admissions.quantile(0.99) / round.admissions.quantile(0.5)),
        of(|round| round.alive.rate),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_round_by_round() {
        let load = |rate: f64, ms: &[f64]| Load { rate, ms: ms.to_vec() };
        let round = |rate: f64, limit: f64| Round {
            admissions: load(rate, &[1.0, 2.0, 4.0]),
            alive: load(9000.0, &[1.0]),
            limit,
        };
        // The medians alone would give 200 / 400.
        let table = report(&[round(100.0, 400.0), round(200.0, 250.0), round(600.0, 800.0)]);
        assert!(table.ends_with("| 200 | 400 | 0.75 | 2.0 | 4.0 | 2.0 | 9000 |"), "{table}");
    }
}
