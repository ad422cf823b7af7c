//! `pinhole audit`: the audit for somebody outside, on the server's own machine.

use std::{
    fs::OpenOptions,
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use clap::{Args, Subcommand};
use pinhole_core::{Error, Result};

use crate::{Location, admin::open, exit::Exit};

/// Hand the audit to somebody outside.
#[derive(Subcommand)]
pub(crate) enum Audit {
    /// Write every audit row with its place in the transparency log, one JSON line each; `pinhole verify audit` checks it.
    Export(Export),
}

/// Write every audit row with its place in the transparency log.
///
/// Between the rows stand the digests of all other records, so that nobody can leave out a row unseen. The rows say who
/// did what: they are not for everybody.
#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    location: Location,
    /// Where to; the standard output when left out. The file must not exist yet.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Audit {
    pub(crate) async fn run(self) -> Result<Exit> {
        match self {
            Self::Export(export) => export.run().await,
        }
    }
}

impl Export {
    async fn run(self) -> Result<Exit> {
        let app = open(&self.location).await?.app;
        let output: Box<dyn Write + Send> = match &self.output {
            None => Box::new(io::stdout()),
            Some(path) => {
                // Not for everybody on this machine.
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
                Box::new(file.map_err(unwritten)?)
            }
        };
        let mut output = BufWriter::new(output);
        app.sequence_log().await?;
        let leaves = app.export_audit(|line| output.write_all(line).map_err(unwritten)).await?;
        output.flush().map_err(unwritten)?;
        eprintln!("the audit up to leaf {leaves} of the transparency log");
        Ok(Exit::Success)
    }
}

fn unwritten(error: io::Error) -> Error {
    Error::unavailable("file", "the export cannot be written: check its folder and the free space").with_source(error)
}
