//! Investigations: a case for each way in which runs fail. Case, queue and episode change in one transaction, by people
//! and agents that pull; nothing here changes a run, an evaluation or a baseline.

mod open;
mod read;
mod signature;
mod work;

pub(crate) use open::open;
pub(crate) use read::{get, list};
pub(crate) use work::{add_finding, claim, dispose};
