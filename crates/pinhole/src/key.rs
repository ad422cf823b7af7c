//! `pinhole key`: the keys of an installation, on the server's own machine.

use std::sync::Arc;

use clap::{Args, Subcommand};
use pinhole_app::{Resealed, SignedStatements};
use pinhole_core::{RandomIds, Reason, Result};
use pinhole_receipt::KeyUse;
use pinhole_runtime::{DataDir, KeyRing, Rotated};
use serde_json::{Value, json};

use crate::{
    Location,
    admin::{open, parse},
    exit::{Exit, say},
};

/// Keep the keys of an installation.
#[derive(Subcommand)]
pub(crate) enum Key {
    /// Make a new master key and seal every secret under it. Interrupted, it goes on when it is run again.
    RotateMaster(RotateMaster),
    /// Make a new key that signs statements or commits; the one before stays in the key set as retired.
    RotateSigning(RotateSigning),
    /// Revoke a signing key that was rotated out: nothing that it signed is accepted any more.
    Revoke(Revoke),
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

/// Make a new signing key.
///
/// A server that runs meanwhile signs with it at once and needs no restart. What the key before signed stays valid, and
/// whoever verifies needs a key file with both: hand out the new one. The private half of the key before is gone. With no
/// choice of a key, the statement key is rotated.
#[derive(Args)]
pub(crate) struct RotateSigning {
    #[command(flatten)]
    location: Location,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
#[group(multiple = false)]
struct Which {
    /// The key of receipts, reviews, decisions, revisions and publication receipts.
    #[arg(long)]
    statement: bool,
    /// The key of Git commits.
    #[arg(long)]
    commit: bool,
    /// The key of the transparency log, which cannot be rotated: the command says why.
    #[arg(long)]
    log: bool,
}

/// Revoke a signing key.
///
/// For a key that others may have. It must not sign any more: rotate first. Nothing that it signed is accepted by whoever
/// has the new key set, and nothing of it is signed anew by this command; it tells what that means.
#[derive(Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    location: Location,
    /// The key's id, as the key set has it.
    // A thumbprint may begin with a hyphen.
    #[arg(allow_hyphen_values = true)]
    key_id: String,
    /// Why, in at most 700 bytes; it is published with the key.
    #[arg(long, value_parser = parse::<Reason>)]
    reason: Reason,
}

impl Key {
    pub(crate) async fn run(self) -> Result<Exit> {
        match self {
            Self::RotateMaster(rotate) => rotate.run().await,
            Self::RotateSigning(rotate) => rotate.run().await,
            Self::Revoke(revoke) => revoke.run().await,
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
             sealed anew under this master key, which opens everything in the database: earlier keys, the later lines of \
             the file, are needed for backups from before alone"
        );
        Ok(Exit::Success)
    }
}

impl RotateSigning {
    async fn run(self) -> Result<Exit> {
        let (purpose, name) = match self.which {
            Which { log: true, .. } => (KeyUse::Log, "log"),
            Which { commit: true, .. } => (KeyUse::Commit, "commit"),
            Which { .. } => (KeyUse::Statement, "statement"),
        };
        let Rotated { key_id, previous } = keyring(&self.location)?.rotate(purpose)?;
        say!("{key_id}");
        eprintln!(
            "this {name} key signs from now on; {previous} is retired: what it signed stays valid. Whoever verifies needs \
             the key set as it is now: hand out /.well-known/pinhole/receipt-keys.json anew"
        );
        let detail = json!({ "use": name, "key": key_id, "previous": previous });
        audit(&self.location, "rotate_signing_key", &detail).await;
        Ok(Exit::Success)
    }
}

impl Revoke {
    async fn run(self) -> Result<Exit> {
        let purpose = keyring(&self.location)?.revoke(&self.key_id, self.reason.as_str())?;
        say!("{}", self.key_id);
        let meaning = match purpose {
            KeyUse::Commit => {
                "a branch that has a commit signed with it is not valid any more as a clone, and that cannot be mended on \
                 the same branch: publish the line to a new branch. Checkouts of the files alone stay valid"
            }
            KeyUse::Statement | KeyUse::Log => {
                "a catalog that has a receipt, review, decision or revision signed with it is not valid any more: `pinhole \
                 verify catalog` with the new key set names every such statement. None is signed anew by Pinhole: what \
                 is still wanted has to be captured, reviewed, approved and published again on a new line"
            }
        };
        eprintln!(
            "it is revoked: nothing that it signed is accepted by whoever has the key set as it is now; hand out \
             /.well-known/pinhole/receipt-keys.json anew; {meaning}"
        );
        if purpose == KeyUse::Statement {
            eprintln!("{}", signed(&self.location, &self.key_id).await);
        }
        let detail = json!({ "key": self.key_id, "reason": self.reason });
        audit(&self.location, "revoke_signing_key", &detail).await;
        Ok(Exit::Success)
    }
}

/// The signing keys, without the database, and whatever else of the configuration is wrong: a key that others have is
/// replaced even then.
fn keyring(location: &Location) -> Result<KeyRing> {
    let data = DataDir::open(&location.load()?.data_dir)?;
    Ok(KeyRing::new(data, Arc::new(RandomIds)))
}

/// Says how much a key has signed, as far as the database can be reached.
async fn signed(location: &Location, key_id: &str) -> String {
    let counted: Result<_> = async { open(location).await?.app.signed_statements(key_id).await }.await;
    match counted {
        Ok(found) => {
            let SignedStatements { receipts, run_results, reviews, decisions, revisions, publications } = found;
            format!(
                "it has signed {receipts} receipts, {run_results} results of runs, {reviews} reviews, {decisions} decisions, \
                 {revisions} catalog revisions and {publications} publication receipts"
            )
        }
        Err(error) => format!("what it has signed cannot be counted: {}", error.message()),
    }
}

/// Writes the change down; that the database cannot be reached undoes nothing and is said.
async fn audit(location: &Location, operation: &'static str, detail: &Value) {
    let written: Result<()> = async { open(location).await?.app.audit_key_change(operation, detail).await }.await;
    if let Err(error) = written {
        eprintln!("the change is made and is NOT in the audit, which cannot be written: {}", error.message());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_rotated_although_the_token_of_a_remote_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("pinhole.toml");
        let remote = "[[remotes]]\nslug = 'mirror'\nurl = 'https://git.example/a'\nbranches = ['main']\n\
                      user = 'ci'\npassword_file = '/nonexistent/token'\n";
        std::fs::write(&config, remote).unwrap();
        let location =
            Location { config: Some(config), data_dir: Some(folder.path().join("data")), database_url: None };
        assert!(location.load().unwrap().check().is_err());
        let ring = keyring(&location).unwrap();
        ring.prepare().unwrap();
        ring.rotate(KeyUse::Commit).unwrap();
    }
}
