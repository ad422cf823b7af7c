//! A running installation without a listener: worker processes, registrar, sweeper, scheduler, sequencer and
//! publication.
//! `serve`, `try` and `demo` all stand on it, so that the boundary between processes is the same in each.

use std::time::Duration;

use pinhole_app::{App, Settings};
use pinhole_core::{Error, Result};
use pinhole_runtime::{
    Children, Config, Installation, WorkerProgram, registrar, scheduler, sequencer, storage_prober, sweeper,
};
use pinhole_worker_publication::PublicationSettings;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long one Git step may take.
const GIT_DEADLINE: Duration = Duration::from_secs(120);

/// A running installation.
pub(crate) struct Node {
    pub(crate) installation: Installation,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    children: Children,
}

impl Node {
    /// Opens the installation and starts what works in the background.
    pub(crate) async fn start(config: &Config, migrate: bool) -> Result<Self> {
        config.check()?;
        let installation = Installation::open(config, Settings::default(), migrate).await?;
        let executable = std::env::current_exe().map_err(Error::internal)?;
        let program =
            WorkerProgram { executable: executable.clone(), arguments: vec!["worker".into(), "capture".into()] };
        let app = &installation.app;
        let children = Children::start(app, &program, &installation.worker, config.capture.processes)?;
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let publication = PublicationSettings {
            helper: executable,
            commit_key: installation.data.commit_key(),
            scratch: installation.data.git(),
            deadline: GIT_DEADLINE,
        };
        tasks.spawn(registrar(app.clone(), stop.clone()));
        tasks.spawn(sweeper(app.clone(), stop.clone()));
        tasks.spawn(scheduler(app.clone(), stop.clone()));
        tasks.spawn(sequencer(app.clone(), stop.clone()));
        tasks.spawn(storage_prober(app.clone(), stop.clone()));
        tasks.spawn(publisher(app.clone(), publication, stop.clone()));
        Ok(Self { installation, stop, tasks, children })
    }

    /// Ends everything and waits for it; what was under way is taken up by the next start.
    pub(crate) async fn stop(mut self) {
        self.children.stop().await;
        pinhole_worker_capture::end_abandoned_browsers().await;
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.installation.app.store().close().await;
    }
}

async fn publisher(app: App, settings: PublicationSettings, stop: CancellationToken) {
    if let Err(error) = pinhole_worker_publication::run(app, settings, stop).await {
        tracing::error!(?error, "nothing is published until the next start");
    }
}
