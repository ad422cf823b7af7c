//! `cargo xtask bench`: what Pinhole achieves beside what the machine could, measured in one run.
//!
//! Limits and rivals come from a measuring harness outside of the repository, which Pinhole joins as one more program.
//! Nothing of that harness may be copied into the repository.

mod admission;
pub(crate) mod api;
mod capture;
mod download;
mod driver;
mod harness;
mod load;
mod nginx;
mod phases;
mod queued;
mod report;
pub(crate) mod server;
mod serving;
mod setup;

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::Outcome;

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Captures per second, from the admission of a run to its registered result, beside the isolated limit.
    Capture(capture::Capture),
    /// Admissions per second over HTTP beside the bare limit of the database, and downloads beside nginx.
    Admission(admission::Admission),
    /// Takes captures for the harness, over its standard input and output.
    #[command(hide = true)]
    Driver(driver::Driver),
}

impl Bench {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Capture(capture) => capture.run(),
            Self::Admission(admission) => admission.run(),
            Self::Driver(driver) => driver.run(),
        }
    }
}

/// What a run is compared with, which decides how often its page is pictured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// No baseline: a second picture proves that the first was still.
    First,
    /// The receipt of an equal earlier picture: one picture proves itself.
    Unchanged,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Unchanged => "unchanged",
        }
    }
}

/// What the driver, a process that the harness starts once a round, has to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plan {
    /// The program under test.
    pinhole: PathBuf,
    /// Data directory, logs and phases.
    work: PathBuf,
    /// The bearer token that starts runs.
    token: String,
    mode: Mode,
}

/// An empty directory for data, logs and figures; those of an earlier time are removed.
fn clear(work: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", work.display());
    match std::fs::remove_dir_all(work) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    std::fs::create_dir_all(work).map_err(failed)
}
