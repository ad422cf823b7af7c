//! The publication worker: takes publication jobs and drives Git, one step after the other, each in a child process.
//!
//! It looks at the remote first, stores its commit before it pushes, never forces, and reads back before anything is
//! called published. It has no key: the child reads the commit key's file, and the receipt is signed by the server
//! behind [`App::confirm_publication`]. It must not decide what may be published; the rows that it works on say so.

mod child;
mod git;
mod helper;
mod publish;
mod scratch;

// Repositories on this machine, for the embedded set-up and for verification.
pub use pinhole_gitcat::{CommitId, LocalClone, checkout, create as create_local_repository};

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use pinhole_app::App;
use pinhole_core::Result;
use pinhole_jobs::{PublishJob, RunnerSettings};
use tokio_util::sync::CancellationToken;

pub use helper::git_helper;
pub use publish::publish;

/// Publications that one process works on at the same time.
const CONCURRENCY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// What the worker needs beside the application.
#[derive(Clone, Debug)]
pub struct PublicationSettings {
    /// The program that is started with the argument `git-helper` and calls [`git_helper`]: an absolute path.
    pub helper: PathBuf,
    /// File of the commit key, an Ed25519 private key as PKCS#8 in PEM. Only the child reads it.
    pub commit_key: PathBuf,
    /// Folder for repositories on their way; what is in it may be deleted whenever no worker runs.
    pub scratch: PathBuf,
    /// How long one Git operation may take, from the start of its process to its end.
    pub deadline: Duration,
}

/// Publishes what is queued until `stop`.
///
/// # Errors
/// `provider_unavailable` when the scratch folder cannot be made.
pub async fn run(app: App, settings: PublicationSettings, stop: CancellationToken) -> Result<()> {
    scratch::clear_old(&settings.scratch).await?;
    let runner =
        RunnerSettings { concurrency: CONCURRENCY, wake: Some(app.wake().receiver()), ..RunnerSettings::default() };
    let store = app.store().clone();
    let handler = move |job: PublishJob| {
        let (app, settings) = (app.clone(), settings.clone());
        async move { publish(&app, &settings, job.publication).await }
    };
    pinhole_jobs::run(&store, runner, stop, handler).await;
    Ok(())
}
