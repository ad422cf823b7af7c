//! Configuration, telemetry, shutdown, and the assembly of an `App` from its ports.
//!
//! The command line and the worker processes start here. It must not know of browsers or Git: the worker libraries
//! bring those.

mod background;
mod child;
mod config;
mod data;
mod keyring;
mod remotes;
mod shutdown;
mod telemetry;
mod witness;
mod worker;

pub use background::{registrar, scheduler, sequencer, storage_prober, sweeper};
pub use child::{Children, WorkerProgram};
pub use config::{BrowserSettings, CaptureSettings, Config, LimitSettings, OidcConfig};
pub use data::{DataDir, Installation, write_private};
pub use keyring::{KeyRing, Rotated};
pub use remotes::RemoteConfig;
pub use shutdown::stop_on_signal;
pub use telemetry::{LogFormat, init as init_telemetry};
pub use witness::CheckpointFile;
pub use worker::{WorkerConfig, WorkerLink};
