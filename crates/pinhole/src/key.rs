//! `pinhole key`: the keys of an installation, on the server's own machine.

use clap::{Args, Subcommand};
use pinhole_core::Result;

use crate::{
    Location,
    admin::open,
    exit::{Exit, say},
};

/// Keep the keys of an installation.
#[derive(Subcommand)]
pub(crate) enum Key {
    /// Make a new master key and seal every secret of environments under it. Interrupted, it goes on when it is run
    /// again.
    RotateMaster(RotateMaster),
}

/// Make a new master key and seal every secret of environments under it.
///
/// A server that runs meanwhile needs no restart. The earlier keys stay behind the new one in the file, because what is
/// sealed besides the secrets of environments, such as those of webhooks, still opens with them alone.
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
        if installation.app.secrets_to_reseal().await? == 0 {
            installation.master_keys.rotate()?;
        }
        let sealed = installation.app.reseal_secrets().await?;
        say!("{}", installation.master_keys.present_id()?);
        eprintln!(
            "{sealed} secrets of environments are sealed anew under this master key; those of webhooks still need the \
             earlier keys: leave them in the file"
        );
        Ok(Exit::Success)
    }
}
