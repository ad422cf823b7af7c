//! `pinhole worker`: a worker process of an installation.

use clap::{Args, ValueEnum};
use pinhole_core::Result;

use crate::exit::Exit;

/// Run a worker process. Its configuration comes on standard input, and it ends when that ends.
#[derive(Args)]
pub(crate) struct Worker {
    /// What it works on.
    kind: Kind,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Drives browsers.
    Capture,
}

impl Worker {
    pub(crate) async fn run(self) -> Result<Exit> {
        match self.kind {
            Kind::Capture => pinhole_worker_capture::run_process().await?,
        }
        Ok(Exit::Success)
    }
}
