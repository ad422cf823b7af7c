//! Jobs: what is to be done next, said in the transaction that makes it so, and the loop that does it.
//!
//! A job is a wake-up and nothing more. Its row holds an id, never state; the attempts, the lease and the result are
//! in the rows of `pinhole-store`, and a handler begins by claiming those with a compare-and-swap. So a job may come
//! twice or not at all (a sweep over the domain rows makes up for that), and deleting any job row at any time is
//! harmless. This crate must not read or write a domain row. It is the only one that names apalis.

mod enqueue;
mod job;
mod migrate;
mod payload;
mod runner;
mod service;
mod sweep;
mod wake;

pub use enqueue::enqueue;
pub use job::{CaptureJob, Job, PublishJob, Queue, RegisterJob};
pub use migrate::migrate;
pub use runner::{RunnerSettings, run};
pub use sweep::sweep_finished;
pub use wake::{WakeReceiver, WakeSender, listen};
