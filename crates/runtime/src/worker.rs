//! The link between a worker process and the server that started it: the worker's standard input.
//!
//! The first line is the worker's configuration, every further line says that there may be work, and the end of input
//! says that the server is gone and the worker must stop. So nothing about the database is in an argument or in the
//! environment, and no worker outlives its server.

use std::{path::PathBuf, sync::Arc, time::Duration};

use pinhole_app::{App, Settings};
use pinhole_core::{Error, RandomIds, Result};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Stdin};
use tokio_util::sync::CancellationToken;

use crate::BrowserSettings;

/// Greatest length of the configuration line in bytes.
const MAX_LINE: u64 = 1 << 20;

/// Everything that a worker process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// The database; may hold a password.
    pub database_url: String,
    /// Where objects are.
    pub objects: PathBuf,
    /// Browsers in this process.
    pub lanes: u32,
    /// How long a lease lasts, in milliseconds.
    pub lease_ms: u64,
    /// The browser.
    pub browser: BrowserSettings,
    /// Fault injection for tests: the point at which a first attempt kills its own process.
    pub crash_at: Option<String>,
}

/// A worker process's side of the link.
pub struct WorkerLink {
    /// What the worker was told.
    pub config: WorkerConfig,
    /// An application without any key.
    pub app: App,
    input: BufReader<Stdin>,
}

impl WorkerLink {
    /// Reads the configuration from standard input and assembles the application.
    ///
    /// # Errors
    /// `invalid_arguments` when the line is not a configuration, `provider_unavailable` when the database is away.
    pub async fn open() -> Result<Self> {
        let mut input = BufReader::new(tokio::io::stdin());
        let mut line = String::new();
        let read = (&mut input).take(MAX_LINE).read_line(&mut line).await;
        read.map_err(|e| Error::invalid("standard input", e.to_string()))?;
        let config: WorkerConfig = serde_json::from_str(&line).map_err(|_| {
            Error::invalid("standard input", "expected a worker configuration: workers are started by `pinhole serve`")
        })?;
        let settings = Settings { lease: Duration::from_millis(config.lease_ms), ..Settings::default() };
        let app = crate::data::assemble(&config, None, Arc::new(RandomIds), settings).await?;
        Ok(Self { config, app, input })
    }

    /// Wakes this process's runners when the server says so, tells the server when this process enqueued something,
    /// and cancels `stop` when the server is gone.
    pub async fn attend(self, stop: CancellationToken) {
        let Self { app, input, .. } = self;
        let told = async {
            let mut lines = input.lines();
            while let Ok(Some(_)) = lines.next_line().await {
                app.wake().wake();
            }
        };
        let tell = async {
            let mut enqueued = app.outgoing().subscribe();
            let mut output = tokio::io::stdout();
            while enqueued.changed().await.is_ok() {
                if output.write_all(b"\n").await.is_err() || output.flush().await.is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            () = told => {}
            () = tell => {}
            () = stop.cancelled() => {}
        }
        stop.cancel();
    }
}
