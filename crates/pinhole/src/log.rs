//! `pinhole log`: the transparency log, on the server's own machine.

use clap::{Args, Subcommand};
use pinhole_core::{Reason, Result};

use crate::{
    Location,
    admin::{open, parse},
    exit::{Exit, say},
};

/// Keep the transparency log.
#[derive(Subcommand)]
pub(crate) enum Log {
    /// Begin another log because the database of the present one is lost for good.
    BeginAnew(BeginAnew),
}

/// Begin another log because the database of the present one is lost for good.
///
/// For an installation that signs and publishes nothing because its database is older than what was signed, when no
/// newer one can be restored. The new log has every record that the database has. Whoever keeps a checkpoint of the old
/// one sees that it does not continue: tell them. Refused while the log continues what was signed before.
#[derive(Args)]
pub(crate) struct BeginAnew {
    #[command(flatten)]
    location: Location,
    /// What happened; auditors read it.
    #[arg(long, value_parser = parse::<Reason>)]
    reason: Reason,
}

impl Log {
    pub(crate) async fn run(self) -> Result<Exit> {
        match self {
            Self::BeginAnew(begin) => begin.run().await,
        }
    }
}

impl BeginAnew {
    async fn run(self) -> Result<Exit> {
        let origin = open(&self.location).await?.app.begin_log_anew(&self.reason).await?;
        say!("{origin}");
        eprintln!("this is the log from now on: checkpoints of the earlier one do not continue in it");
        Ok(Exit::Success)
    }
}
