//! Logs on standard error; JSON lines for services, short lines for people.

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Starts logging at `level` unless `PINHOLE_LOG` says otherwise. A second call does nothing.
pub fn init(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_from_env("PINHOLE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _already = match format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_target(false).compact().try_init(),
    };
}
