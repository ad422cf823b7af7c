//! `pinhole key`: the keys of an installation, on the server's own machine.

use clap::{Args, Subcommand};
use pinhole_app::Resealed;
use pinhole_core::Result;

use crate::{
    Location,
    admin::open,
    exit::{Exit, say},
};

/// Keep the keys of an installation.
#[derive(Subcommand)]
pub(crate) enum Key {
    /// Make a new master key and seal every secret under it. Interrupted, it goes on when it is run again.
    RotateMaster(RotateMaster),
}

/// Make a new master key and seal every secret under it: those of environments, webhooks and Git remotes.
///
/// A server that runs meanwhile needs no restart. The earlier keys stay behind the new one in the file; nothing in the
/// database needs them once this has ended, but a backup from before does.
#[derive(Args)]
pub(crate) struct RotateMaster {
    #[command(flatten)]
    location: Location,
}

impl Key {
    pub(crate) async fn run(self) -> Result<Exit> {
        match self {
            Self::RotateMaster(rotate) => rotate.run().await,
        }
    }
}

impl RotateMaster {
    async fn run(self) -> Result<Exit> {
        let installation = open(&self.location).await?;
        // Something left under an earlier key is a rotation that did not end: there is no need for a further key.
        if !installation.app.has_secrets_to_reseal().await? {
            installation.master_keys.rotate()?;
        }
        let Resealed { environment_secrets, webhooks, remotes } = installation.app.reseal_secrets().await?;
        say!("{}", installation.master_keys.present_id()?);
        eprintln!(
            "{environment_secrets} secrets of environments and those of {webhooks} webhooks and {remotes} Git remotes are \
             sealed anew under this master key, which opens everything in the database: earlier keys, the later lines of the file, are needed \
             for backups from before alone"
        );
        Ok(Exit::Success)
    }
}
