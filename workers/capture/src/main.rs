//! The capture worker as a program of its own, for the set-up with many workers.

use std::process::ExitCode;

use pinhole_runtime::{LogFormat, init_telemetry};

fn main() -> ExitCode {
    init_telemetry(LogFormat::Json, "info,apalis_core=warn");
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "the runtime cannot be started");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(pinhole_worker_capture::run_process()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(?error, "the worker ended");
            ExitCode::FAILURE
        }
    }
}
