//! Worker processes of an embedded installation: started with a cleared environment, woken through their standard
//! input, replaced when they end, and ended with the server.

use std::{path::PathBuf, process::Stdio, time::Duration};

use pinhole_app::App;
use pinhole_core::{Error, Result};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::WorkerConfig;

/// How long a worker may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(15);
/// Wait before a worker that ended is replaced; a worker that lasted is replaced at once.
const PAUSE: Duration = Duration::from_secs(1);
/// A worker that lasted this long did not fail at its start.
const LASTING: Duration = Duration::from_secs(10);

/// The program of a worker process.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// The executable.
    pub executable: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The running worker processes.
pub struct Children {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Children {
    /// Starts `count` workers and keeps them running until [`Children::stop`].
    ///
    /// # Errors
    /// `internal` when the configuration cannot be written as JSON.
    pub fn start(app: &App, program: &WorkerProgram, config: &WorkerConfig, count: u32) -> Result<Self> {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let mut line = serde_json::to_vec(config).map_err(Error::internal)?;
        line.push(b'\n');
        for _ in 0..count {
            tasks.spawn(supervise(app.clone(), program.clone(), line.clone(), stop.clone()));
        }
        Ok(Self { tasks, stop })
    }

    /// Ends every worker and waits for it.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn supervise(app: App, program: WorkerProgram, configuration: Vec<u8>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let started = Instant::now();
        match spawn(&program) {
            Ok(child) => attend(&app, child, &configuration, &stop).await,
            Err(error) => tracing::error!(%error, program = %program.executable.display(), "worker cannot be started"),
        }
        if !stop.is_cancelled() && started.elapsed() < LASTING {
            stop.run_until_cancelled(sleep(PAUSE)).await;
        }
    }
}

fn spawn(program: &WorkerProgram) -> std::io::Result<Child> {
    Command::new(&program.executable)
        .args(&program.arguments)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .process_group(0)
        .spawn()
}

/// Serves one worker until it ends or is told to.
async fn attend(app: &App, mut child: Child, configuration: &[u8], stop: &CancellationToken) {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { return };
    let mut enqueued = app.outgoing().subscribe();
    let serve = async {
        input.write_all(configuration).await?;
        let mut lines = BufReader::new(output).lines();
        loop {
            tokio::select! {
                changed = enqueued.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    input.write_all(b"\n").await?;
                }
                line = lines.next_line() => match line? {
                    Some(_) => app.wake().wake(),
                    None => return Ok::<_, std::io::Error>(()),
                },
            }
        }
    };
    tokio::select! {
        ended = serve => if let Err(error) = ended { tracing::debug!(%error, "worker link closed") },
        () = stop.cancelled() => {}
    }
    drop(input);
    end(child, stop.is_cancelled()).await;
}

/// Waits for a worker whose input has ended; kills it when it does not end.
async fn end(mut child: Child, asked: bool) {
    match timeout(GRACE, child.wait()).await {
        Ok(Ok(status)) if asked => tracing::debug!(%status, "worker ended"),
        Ok(Ok(status)) => tracing::warn!(%status, "worker ended on its own; it is replaced"),
        Ok(Err(error)) => tracing::warn!(%error, "worker cannot be waited for"),
        Err(_) => {
            tracing::warn!("worker did not end in time and is killed");
            let _killed = child.kill().await;
        }
    }
}
